"""Concrete index notation: the one IR that every target starts from.

    LoopProgram loops in order, target, expression
    Expression  Access(tensor, variables, computed) | Literal(value)
              | Add(terms) | Multiply(factors) | Negate(operand) | Divide(numerator, denominator)
              | Reduce(variables, operand)

A ``LoopProgram`` reads: for all variables of ``loops``, outermost first, assign to the target. A
``Reduce`` sums over its variables, which are not visible outside of it; its loops are those of
``loops`` that its operand uses. A chain of sums, or of products, is one n-ary node, computed from
the left; a bracket inside it stays a node of its own, as numpy may give it another type. A
subtracted term is a ``Negate``, and computed as a subtraction unless it is ``apart``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TypeGuard

from sam.subscripts import Affine, Span


class Expression:
    """A node of the expression tree."""


@dataclass(frozen=True)
class Access(Expression):
    """A tensor at its subscripts; a variable may stand there twice (a diagonal).

    ``variables``  by mode the subscript, or the variable that resolves it
    ``computed``   by mode the form of a computed subscript, None for a plain variable; empty if no
                   subscript is computed
    """

    tensor: str
    variables: tuple[str, ...]
    computed: tuple[Affine | None, ...] = ()

    def form(self, mode: int) -> Affine | None:
        """The form of the subscript of a mode; None where the subscript is a plain variable."""
        return self.computed[mode] if self.computed else None

    def used(self, mode: int) -> tuple[str, ...]:
        """The variables in the subscript of a mode."""
        form = self.form(mode)
        return (self.variables[mode],) if form is None else form.variables

    def subscripts(self) -> tuple[str, ...]:
        """The subscripts as the user writes them."""
        forms = (self.form(mode) for mode in range(len(self.variables)))
        pairs = zip(self.variables, forms, strict=True)
        return tuple(variable if form is None else str(form) for variable, form in pairs)

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.subscripts())})" if self.variables else self.tensor


@dataclass(frozen=True)
class Mask(Access):
    """1 at each point within the extents, where loops over tiles may go beyond them.

    It is the first factor of a product that has no value beyond the extents.
    """


@dataclass(frozen=True)
class Unit(Mask):
    """A vector of one element, 1: it selects the points where its subscript is 0."""

    def __str__(self) -> str:
        return f"[{self.subscripts()[0]}]"


@dataclass(frozen=True)
class Literal(Expression):
    """A number."""

    value: int | float

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Add(Expression):
    """A sum of two or more terms."""

    terms: tuple[Expression, ...]

    def __str__(self) -> str:
        text = str(self.terms[0])
        for term in self.terms[1:]:
            sign, term = ("-", term.operand) if is_subtracted(term) else ("+", term)
            text += f" {sign} {_bracketed(term, Add)}"
        return text


@dataclass(frozen=True)
class Multiply(Expression):
    """A product of two or more factors."""

    factors: tuple[Expression, ...]

    def __str__(self) -> str:
        first, *rest = self.factors
        texts = (_bracketed(factor, Add, Divide, Multiply) for factor in rest)
        return " * ".join([_bracketed(first, Add, Divide), *texts])


@dataclass(frozen=True)
class Negate(Expression):
    """A change of sign.

    ``apart``  whether it is computed by itself, in the type of its operand, where it is a term of a
               sum: ``a + (-b)`` is not always ``a - b``
    """

    operand: Expression
    apart: bool = False

    def __str__(self) -> str:
        return f"-{_bracketed(self.operand, Add)}"


@dataclass(frozen=True)
class Divide(Expression):
    """A quotient, with numpy's meaning for a denominator of zero."""

    numerator: Expression
    denominator: Expression

    def __str__(self) -> str:
        above = _bracketed(self.numerator, Add)
        return f"{above} / {_bracketed(self.denominator, Add, Multiply, Divide)}"


@dataclass(frozen=True)
class Reduce(Expression):
    """The sum of the operand over all values of the variables.

    ``first``  whether it is computed for all values of its free variables before the loops that
               read it
    """

    variables: tuple[str, ...]
    operand: Expression
    first: bool = False

    def __str__(self) -> str:
        if not self.variables:
            return f"({self.operand})"
        return f"sum({', '.join(self.variables)}, {self.operand})"


@dataclass(frozen=True)
class LoopProgram:
    """An assignment with the order of its loops, outermost first.

    ``accumulates``  whether it was ``+=``: the old value of the target is part of ``value``
    ``fixed``        extents that the subscripts themselves fix, by variable
    ``spans``        the variables that stand for forms on the left side
    ``turned``       the accesses to arrays that are transposed to the order of the loops before the
                     run, though the loops could read them as they are; the target, if it is one of
                     them, is transposed from that order behind the loops
    ``whole``        the value before products in it were split in two, if that may be done
    """

    loops: tuple[str, ...]
    target: Access
    value: Expression
    accumulates: bool = False
    fixed: tuple[tuple[str, int], ...] = ()
    spans: tuple[Span, ...] = ()
    turned: frozenset[Access] = frozenset()
    whole: Expression | None = None

    def __str__(self) -> str:
        loops = "".join(f"forall({variable}) " for variable in self.loops)
        return f"{loops}{self.target} = {self.value}"


def children(node: Expression) -> tuple[Expression, ...]:
    """The operands of a node."""
    match node:
        case Add(terms):
            return terms
        case Multiply(factors):
            return factors
        case Negate(operand) | Reduce(_, operand):
            return (operand,)
        case Divide(numerator, denominator):
            return numerator, denominator
    return ()


def walk(node: Expression) -> Iterator[Expression]:
    """The node and all below it, parents first, left to right."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def with_children(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The node with each operand changed."""
    match node:
        case Add(terms):
            return added([change(term) for term in terms])
        case Multiply(factors):
            return multiplied([change(factor) for factor in factors])
        case Negate(operand):
            return replace(node, operand=change(operand))
        case Divide(numerator, denominator):
            return Divide(change(numerator), change(denominator))
        case Reduce(variables, operand, first):
            return Reduce(variables, change(operand), first)
    return node


def with_operands(node: Add | Multiply, operands: Sequence[Expression]) -> Expression:
    """A sum or a product of other operands."""
    return added(operands) if isinstance(node, Add) else multiplied(operands)


def without_brackets(node: Add | Multiply) -> list[Expression]:
    """The operands of a sum or product, including those of bracketed nodes of the same kind."""
    found: list[Expression] = []
    for child in children(node):
        found += without_brackets(child) if isinstance(child, type(node)) else [child]
    return found


def free_variables(node: Expression) -> tuple[str, ...]:
    """The variables that the node uses and does not sum over, in order of appearance."""
    if isinstance(node, Access):
        modes = range(len(node.variables))
        return tuple(dict.fromkeys(v for mode in modes for v in node.used(mode)))
    bound = node.variables if isinstance(node, Reduce) else ()
    found = dict.fromkeys(v for child in children(node) for v in free_variables(child))
    return tuple(variable for variable in found if variable not in bound)


def base(variable: str) -> str:
    """The user's name for a variable: a second sum over ``k`` has ``k'`` here.

    Variables with one base have one extent.
    """
    return variable.rstrip("'")


def is_subtracted(term: Expression) -> TypeGuard[Negate]:
    """Whether a term of a sum is subtracted from those before it."""
    return isinstance(term, Negate) and not term.apart


def divides(node: Expression) -> bool:
    """Whether a value of the node may be infinite or NaN although its inputs are finite."""
    return any(
        isinstance(one, Divide)
        and not (isinstance(one.denominator, Literal) and one.denominator.value)
        for one in walk(node)
    )


def has_computed(program: LoopProgram) -> bool:
    """Whether some subscript of a program is computed."""
    nodes = (program.target, *walk(program.value))
    return any(isinstance(node, Access) and bool(node.computed) for node in nodes)


def form_with(value: Expression, tensor: str, variable: str) -> Affine | None:
    """A computed subscript of a tensor that has a variable; None where there is none."""
    for node in walk(value):
        if isinstance(node, Access) and node.tensor == tensor:
            for form in node.computed:
                if form is not None and variable in form.variables:
                    return form
    return None


def concordant_order(program: LoopProgram, orders: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The loop order that agrees with as many storage orders as can be, earlier ones first.

    ``orders`` lists, for each access, its variables in the order in which they are stored.
    Ties go to the order that the program has.
    """
    after: dict[str, set[str]] = {variable: set() for variable in program.loops}
    for order in orders:
        trial = {variable: set(before) for variable, before in after.items()}
        for before, variable in pairwise(order):
            if before != variable:
                trial[variable].add(before)
        try:
            TopologicalSorter(trial).prepare()
        except CycleError:
            continue
        after = trial
    loops: list[str] = []
    while len(loops) < len(program.loops):
        ready = (v for v in program.loops if v not in loops and after[v] <= set(loops))
        loops.append(next(ready))
    return tuple(loops)


def reordered(program: LoopProgram, loops: Iterable[str]) -> LoopProgram:
    """The program with its loops in another order, given by their bases."""
    order = tuple(v for name in loops for v in program.loops if base(v) == name)
    return replace(program, loops=order)


def unnamed(name: str, taken: Container[str]) -> str:
    """The name, or a similar one with another base if it is taken."""
    while name in taken:
        name += "_"
    return name


def added(terms: Sequence[Expression]) -> Expression:
    """The sum of terms; if the first term is a sum, its terms come first."""
    first, *rest = terms
    flat = (*(first.terms if isinstance(first, Add) else (first,)), *rest)
    return flat[0] if len(flat) == 1 else Add(flat)


def multiplied(factors: Sequence[Expression]) -> Expression:
    """The product of factors; if the first factor is a product, its factors come first."""
    first, *rest = factors
    flat = (*(first.factors if isinstance(first, Multiply) else (first,)), *rest)
    return flat[0] if len(flat) == 1 else Multiply(flat)


def _bracketed(node: Expression, *kinds: type[Expression]) -> str:
    return f"({node})" if isinstance(node, kinds) else str(node)
