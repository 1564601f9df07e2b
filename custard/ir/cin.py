"""Concrete index notation: the one IR that every target starts from.

    Program     loops order, target, expression
    Expression  Access(tensor, variables) | Literal(value)
              | Add(terms) | Multiply(factors) | Negate(operand) | Divide(numerator, denominator)
              | Reduce(variables, operand)

A ``Program`` reads: for all variables of ``loops``, outermost first, assign to the target. A
``Reduce`` sums over its variables, which nothing outside it sees; its loops are those of ``loops``
that its operand uses. A chain of sums, or of products, is one n-ary node, computed from the left; a
bracket inside it stays a node of its own, since numpy's types make a difference of it. A term that
is subtracted is a ``Negate``, and computed as a subtraction.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from custard.language import notation


class Expression:
    """A node of the expression tree."""


@dataclass(frozen=True)
class Access(Expression):
    """A tensor at its index variables; a variable may stand there twice (a diagonal)."""

    tensor: str
    variables: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.variables)})" if self.variables else self.tensor


@dataclass(frozen=True)
class Mask(Access):
    """The points that there are among those that some variables go through; 1 at each.

    It stands first among the factors of a product that only has a value there.
    """


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
            sign, term = ("-", term.operand) if isinstance(term, Negate) else ("+", term)
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
    """A change of sign."""

    operand: Expression

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
    """The sum of the operand over all values of the variables."""

    variables: tuple[str, ...]
    operand: Expression

    def __str__(self) -> str:
        return f"sum({', '.join(self.variables)}, {self.operand})"


@dataclass(frozen=True)
class Program:
    """An assignment with the order of its loops, outermost first.

    ``accumulates``  whether it was ``+=``: the old value of the target is part of ``value``
    """

    loops: tuple[str, ...]
    target: Access
    value: Expression
    accumulates: bool = False

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
            return _add([change(term) for term in terms])
        case Multiply(factors):
            return _multiply([change(factor) for factor in factors])
        case Negate(operand):
            return Negate(change(operand))
        case Divide(numerator, denominator):
            return Divide(change(numerator), change(denominator))
        case Reduce(variables, operand):
            return Reduce(variables, change(operand))
    return node


def with_operands(node: Add | Multiply, operands: Sequence[Expression]) -> Expression:
    """A sum or a product of other operands."""
    return _add(operands) if isinstance(node, Add) else _multiply(operands)


def without_brackets(node: Add | Multiply) -> list[Expression]:
    """The operands of a sum, or of a product, and of those of its kind that are bracketed in it."""
    found: list[Expression] = []
    for child in children(node):
        found += without_brackets(child) if isinstance(child, type(node)) else [child]
    return found


def free_variables(node: Expression) -> tuple[str, ...]:
    """The variables that the node uses and does not sum over, in order of appearance."""
    if isinstance(node, Access):
        return tuple(dict.fromkeys(node.variables))
    bound = node.variables if isinstance(node, Reduce) else ()
    found = dict.fromkeys(v for child in children(node) for v in free_variables(child))
    return tuple(variable for variable in found if variable not in bound)


def base(variable: str) -> str:
    """The user's name for a variable: that of a second sum over ``k`` is ``k'`` here.

    Variables with one base have one extent.
    """
    return variable.rstrip("'")


def divides(node: Expression) -> bool:
    """Whether a value of the node may be no finite number for all that its inputs are."""
    return any(
        isinstance(one, Divide)
        and not (isinstance(one.denominator, Literal) and one.denominator.value)
        for one in walk(node)
    )


def concretize(assignment: notation.Assignment) -> Program:
    """The program of an assignment, its loops in the order in which the variables appear.

    A variable absent from the left side is summed over the smallest sub-expression that holds
    all of its uses, a product being one sub-expression; the operands of ``+`` and ``-`` are
    summed each on its own. ``+=`` adds the old value of the left side. A variable twice on the
    left stores the diagonal: with ``=`` all else is zero, with ``+=`` it is as it was.

    Raises UserError for subscripts that are not plain variables.
    """
    notation.require_plain_indices(assignment)
    target = _access(assignment.target)
    value = _Scope({*target.variables, *_free(assignment.value)}).expression(assignment.value)
    for variable in free_variables(value):
        if variable not in target.variables:
            value = _reduce(value, variable)
    value = _hoist(value)
    accumulates = assignment.operator == "+="
    if accumulates:
        value = _add([target, value])
    loops = dict.fromkeys(target.variables)
    for node in walk(value):
        if isinstance(node, Access | Reduce):
            loops.update(dict.fromkeys(node.variables))
    return Program(tuple(loops), target, value, accumulates)


def part(assignment: notation.Assignment) -> Expression:
    """The right side of an assignment as it may occur in a program: nothing is summed."""
    notation.require_plain_indices(assignment)
    return _Scope(_free(assignment.value)).expression(assignment.value)


def concordant_order(program: Program, orders: Sequence[Sequence[str]]) -> tuple[str, ...]:
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


def reordered(program: Program, loops: Iterable[str]) -> Program:
    """The program with its loops in another order, given by their bases."""
    order = tuple(v for name in loops for v in program.loops if base(v) == name)
    return replace(program, loops=order)


class _Scope:
    """Turns syntax into expressions, giving the variables of explicit sums names of their own."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def expression(self, node: notation.Node, names: Mapping[str, str] | None = None) -> Expression:
        names = names or {}
        match node:
            case notation.Number(value):
                return Literal(value)
            case notation.Access():
                access = _access(node)
                return Access(access.tensor, tuple(names.get(v, v) for v in access.variables))
            case notation.Negate(operand):
                return _negate(self.expression(operand, names))
            case notation.Binary():
                return self._chain(node, names)
            case notation.Sum(variables, operand):
                own = {variable.name: self._fresh(variable.name) for variable in variables}
                inside = self.expression(operand, {**names, **own})
                return _reduced(tuple(own.values()), inside)
        raise AssertionError(node)

    def _chain(self, node: notation.Node, names: Mapping[str, str]) -> Expression:
        """A chain of operators, which leans to the left and may be long."""
        links: list[notation.Binary] = []
        while isinstance(node, notation.Binary):
            links.append(node)
            node = node.left
        value = self.expression(node, names)
        for link in reversed(links):
            right = self.expression(link.right, names)
            folded = _folded(link.operator, value, right)
            match link.operator:
                case _ if folded is not None:
                    value = folded
                case "+":
                    value = _add([value, right])
                case "-":
                    value = _add([value, Negate(right)])
                case "*":
                    value = _multiply([value, right])
                case "/":
                    value = Divide(value, right)
        return value

    def _fresh(self, variable: str) -> str:
        """The variable, or one like it where it is taken."""
        while variable in self.taken:
            variable += "'"
        self.taken.add(variable)
        return variable


def _free(node: notation.Node) -> set[str]:
    """The variables that some access below uses outside of a sum over them."""
    match node:
        case notation.Access():
            return set(_access(node).variables)
        case notation.Sum(variables, operand):
            return _free(operand) - {variable.name for variable in variables}
        case notation.Negate(operand):
            return _free(operand)
        case notation.Binary():
            found: set[str] = set()
            while isinstance(node, notation.Binary):
                found |= _free(node.right)
                node = node.left
            return found | _free(node)
    return set()


def _access(access: notation.Access) -> Access:
    return Access(
        access.tensor,
        tuple(index.name for index in access.indices if isinstance(index, notation.Variable)),
    )


def _add(terms: Sequence[Expression]) -> Expression:
    first, *rest = terms
    flat = (*(first.terms if isinstance(first, Add) else (first,)), *rest)
    return flat[0] if len(flat) == 1 else Add(flat)


def _multiply(factors: Sequence[Expression]) -> Expression:
    first, *rest = factors
    flat = (*(first.factors if isinstance(first, Multiply) else (first,)), *rest)
    return flat[0] if len(flat) == 1 else Multiply(flat)


def _negate(operand: Expression) -> Expression:
    """The operand with its sign changed."""
    match operand:
        case Literal(value):
            return Literal(-value)
        case Negate(inner):
            return inner
    return Negate(operand)


_OF_NUMBERS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _folded(symbol: str, left: Expression, right: Expression) -> Literal | None:
    """An operation on two numbers of the program, as Python does it; None where it is none."""
    if not (isinstance(left, Literal) and isinstance(right, Literal)):
        return None
    try:
        return Literal(_OF_NUMBERS[symbol](left.value, right.value))
    except ArithmeticError:
        return None


def _reduced(variables: tuple[str, ...], operand: Expression) -> Expression:
    if isinstance(operand, Reduce):
        return Reduce((*variables, *operand.variables), operand.operand)
    return Reduce(variables, operand)


def _reduce(node: Expression, variable: str) -> Expression:
    """The node with the sum over a variable put where it belongs."""
    operands = without_brackets(node) if isinstance(node, Multiply) else children(node)
    users = [operand for operand in operands if variable in free_variables(operand)]
    match node:
        case Add(terms):
            return Add(tuple(_reduce(t, variable) if t in users else t for t in terms))
        case Negate(operand):
            return Negate(_reduce(operand, variable))
        case Reduce(variables, operand):
            return _reduced(variables, _reduce(operand, variable))
        case Multiply() if len(users) == 1:
            return _with_factors(node, lambda f: _reduce(f, variable) if f is users[0] else f)
        case Divide(numerator, denominator) if len(users) == 1:
            if users[0] is numerator:
                return Divide(_reduce(numerator, variable), denominator)
            return Divide(numerator, _reduce(denominator, variable))
    return _reduced((variable,), node)


def _hoist(node: Expression) -> Expression:
    """Takes the only sum among the factors of a product out of it.

    That is done where another factor shares a variable with the sum: what that factor lacks need
    then not be summed.
    """
    match node:
        case Add(terms):
            return Add(tuple(_hoist(term) for term in terms))
        case Negate(operand):
            return Negate(_hoist(operand))
        case Reduce(variables, operand):
            return _reduced(variables, _hoist(operand))
        case Divide(numerator, denominator):
            return Divide(_hoist(numerator), _hoist(denominator))
        case Multiply():
            node = _with_factors(node, _hoist)
            factors = without_brackets(node) if isinstance(node, Multiply) else [node]
            sums = [factor for factor in factors if isinstance(factor, Reduce)]
            others = {v for f in factors if f not in sums for v in free_variables(f)}
            if len(sums) == 1 and others & set(free_variables(sums[0])):
                inside = _with_factors(node, lambda f: f.operand if isinstance(f, Reduce) else f)
                return Reduce(sums[0].variables, inside)
    return node


def _with_factors(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A product with each factor changed, those in brackets too."""
    if isinstance(node, Multiply):
        return _multiply([_with_factors(factor, change) for factor in node.factors])
    return change(node)


def _bracketed(node: Expression, *kinds: type[Expression]) -> str:
    return f"({node})" if isinstance(node, kinds) else str(node)
