"""Concrete index notation: the one IR that every target starts from.

    Program     loops order, target, expression
    Expression  Access(tensor, variables, computed) | Literal(value)
              | Add(terms) | Multiply(factors) | Negate(operand) | Divide(numerator, denominator)
              | Reduce(variables, operand)

A ``LoopProgram`` reads: for all variables of ``loops``, outermost first, assign to the target. A
``Reduce`` sums over its variables, which are not visible outside of it; its loops are those of
``loops`` that its operand uses. A chain of sums, or of products, is one n-ary node, computed from
the left; a bracket inside it stays a node of its own, as numpy may give it another type. A
subtracted term is a ``Negate``, and computed as a subtraction.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from custard.language import notation
from sam.subscripts import Affine, Span
from sam.support.errors import UserError


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
        """The form that the subscript of a mode is; None where that is its variable."""
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
    ``turned``       the accesses to arrays that are stored in the order of the loops before the
                     run, though the loops could go through them as they are
    """

    loops: tuple[str, ...]
    target: Access
    value: Expression
    accumulates: bool = False
    fixed: tuple[tuple[str, int], ...] = ()
    spans: tuple[Span, ...] = ()
    turned: frozenset[Access] = frozenset()

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
        case Reduce(variables, operand, first):
            return Reduce(variables, change(operand), first)
    return node


def with_operands(node: Add | Multiply, operands: Sequence[Expression]) -> Expression:
    """A sum or a product of other operands."""
    return _add(operands) if isinstance(node, Add) else _multiply(operands)


def without_brackets(node: Add | Multiply) -> list[Expression]:
    """The operands of a sum or product, with those of bracketed nodes of the same kind in it."""
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
    """The user's name for a variable: that of a second sum over ``k`` is ``k'`` here.

    Variables with one base have one extent.
    """
    return variable.rstrip("'")


def divides(node: Expression) -> bool:
    """Whether a value of the node may be infinite or NaN although its inputs are finite."""
    return any(
        isinstance(one, Divide)
        and not (isinstance(one.denominator, Literal) and one.denominator.value)
        for one in walk(node)
    )


def concretize(assignment: notation.Assignment) -> LoopProgram:
    """The program of an assignment, its loops in the order in which the variables appear.

    A variable absent from the left side is summed over the smallest sub-expression that holds
    all of its uses, a product being one sub-expression; the operands of ``+`` and ``-`` are
    summed each on its own. ``+=`` adds the old value of the left side. A variable twice on the
    left stores the diagonal: with ``=`` all else is zero, with ``+=`` it is as it was.

    A computed subscript of the left side is as the module has it. Raises UserError for windows of
    one variable that differ in length.
    """
    scope = _Scope(assignment)
    target, forms = scope.target(assignment.target)
    kept = {*target.variables, *(v for form in forms.values() for v in form.variables)}
    value = scope.expression(assignment.value)
    for variable in free_variables(value):
        if variable not in kept:
            value = _reduce(value, variable)
    value = _hoist(value)
    loops: dict[str, None] = {}
    for variable in target.variables:
        loops |= dict.fromkeys(forms[variable].variables if variable in forms else ())
        loops[variable] = None
    if forms:
        value = _scattered(value, target, forms, scope)
    accumulates = assignment.operator == "+="
    if accumulates:
        value = _add([target, value])
    for node in walk(value):
        if isinstance(node, Access | Reduce):
            used = free_variables(node) if isinstance(node, Access) else node.variables
            loops.update(dict.fromkeys(used))
    fixed = tuple(scope.fixed.items())
    spans = tuple(Span(variable, form) for variable, form in forms.items())
    return LoopProgram(tuple(loops), target, value, accumulates, fixed, spans)


def _scattered(
    value: Expression, target: Access, forms: Mapping[str, Affine], scope: _Scope
) -> Expression:
    """A value that is added up at the places that forms of its variables give."""
    summed: tuple[str, ...] = ()
    if isinstance(value, Reduce):
        summed, value = value.variables, value.operand
    for variable, form in reversed(list(forms.items())):
        negated = tuple((name, -scale) for name, scale in form.coefficients().items())
        place = Affine(variable, 1, negated, -form.constant)
        value = Multiply((Unit(scope.unit, (variable,), (place,)), value))
    free = dict.fromkeys(v for form in forms.values() for v in form.coefficients())
    moved = tuple(v for v in free if v not in target.variables)
    return _reduced((*moved, *summed), value) if moved or summed else value


def part(assignment: notation.Assignment) -> Expression:
    """The right side of an assignment as it may occur in a program: nothing is summed."""
    return _Scope(assignment).expression(assignment.value)


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


def resolved(program: LoopProgram) -> LoopProgram:
    """The program with each computed subscript resolved by the variable that the loops bind last.

    If that variable already resolves another subscript of the same access, as in A(i,i+1), a new
    variable of extent 1 resolves this one.
    """
    if not has_computed(program):
        return program
    loops, fixed, added = list(program.loops), dict(program.fixed), dict[str, None]()

    def change(node: Expression) -> Expression:
        if not isinstance(node, Access) or not node.computed:
            return with_children(node, change)
        variables, computed = list(node.variables), list(node.computed)
        taken = {v for mode, v in enumerate(variables) if computed[mode] is None}
        for mode, form in enumerate(node.computed):
            if form is None:
                continue
            form = form.resolved_in(loops)
            if form.variable in taken:
                own = _unnamed(f"{node.tensor}{mode}", loops)
                loops.insert(loops.index(form.variable) + 1, own)
                fixed[own], added[own] = 1, None
                terms = tuple(form.coefficients().items())
                form = Affine(own, 1, terms, form.constant)
            taken.add(form.variable)
            variables[mode], computed[mode] = form.variable, form
        return replace(node, variables=tuple(variables), computed=tuple(computed))

    value = change(program.value)
    for variable in added:
        value = _hoist(_reduce(value, variable))
    found = tuple(fixed.items())
    return replace(program, loops=tuple(loops), value=value, fixed=found)


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


class _Scope:
    """Turns syntax into expressions, giving the variables of explicit sums names of their own."""

    def __init__(self, assignment: notation.Assignment) -> None:
        self.text = assignment.text
        accesses = notation.accesses(assignment)
        self.taken = {*_free(assignment.target), *_free(assignment.value)}
        self.fixed: dict[str, int] = {}
        self.unit = _unnamed("unit", [access.tensor for access in accesses])
        self.places: dict[tuple[str, int], str] = {}

    def target(self, node: notation.Access) -> tuple[Access, dict[str, Affine]]:
        """The left side, and the form of each of its variables that stands for one."""
        variables: list[str] = []
        forms: dict[str, Affine] = {}
        for mode, index in enumerate(node.indices):
            if isinstance(index, notation.Variable):
                variables.append(index.name)
                continue
            variables.append(self._own(f"{node.tensor}{mode}"))
            forms[variables[-1]] = self._form(node, mode, index, {})
        return Access(node.tensor, tuple(variables)), forms

    def access(self, node: notation.Access, names: Mapping[str, str]) -> Access:
        """An access with other names for some variables."""
        variables: list[str] = []
        forms: list[Affine | None] = []
        for mode, index in enumerate(node.indices):
            form = None
            if isinstance(index, notation.ComputedSubscript):
                form = self._form(node, mode, index, names)
                variables.append(form.variable)
            else:
                variables.append(names.get(index.name, index.name))
            forms.append(form)
        return Access(node.tensor, tuple(variables), tuple(forms) if any(forms) else ())

    def _form(
        self,
        access: notation.Access,
        mode: int,
        index: notation.ComputedSubscript,
        names: Mapping[str, str],
    ) -> Affine:
        """The form of a computed subscript."""
        self._fix(index, names)
        terms = [(names.get(name, name), scale) for name, scale in index.terms]
        if not terms:
            place = access.tensor, mode
            if place not in self.places:
                self.places[place] = self._own(f"{access.tensor}{mode}")
                self.fixed[self.places[place]] = 1
            terms.append((self.places[place], 1))
        *others, (last, scale) = terms
        return Affine(last, scale, tuple(others), index.constant)

    def _own(self, name: str) -> str:
        """A variable that the user has not named."""
        name = _unnamed(name, self.taken)
        self.taken.add(name)
        return name

    def _fix(self, index: notation.ComputedSubscript, names: Mapping[str, str]) -> None:
        """Keeps the extent that a window fixes."""
        if index.extent is None:
            return
        ((variable, _),) = index.terms
        name = base(names.get(variable, variable))
        if self.fixed.setdefault(name, index.extent) != index.extent:
            raise UserError(
                f"this window gives {variable} {index.extent} values, and another one gives it "
                f"{self.fixed[name]}",
                source=self.text,
                span=index.span,
            )

    def expression(
        self, node: notation.SyntaxNode, names: Mapping[str, str] | None = None
    ) -> Expression:
        names = names or {}
        match node:
            case notation.Number(value):
                return Literal(value)
            case notation.Access():
                return self.access(node, names)
            case notation.Negate(operand):
                return _negate(self.expression(operand, names))
            case notation.Binary():
                return self._chain(node, names)
            case notation.Reduction(variables, operand):
                own = {variable.name: self._fresh(variable.name) for variable in variables}
                inside = self.expression(operand, {**names, **own})
                return _reduced(tuple(own.values()), inside)
        raise AssertionError(node)

    def _chain(self, node: notation.SyntaxNode, names: Mapping[str, str]) -> Expression:
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


def _unnamed(name: str, taken: Container[str]) -> str:
    """The name, or one like it, with another base, where it is taken."""
    while name in taken:
        name += "_"
    return name


def _free(node: notation.SyntaxNode) -> set[str]:
    """The variables that some access below uses outside of a sum over them."""
    match node:
        case notation.Access():
            return {name for index in node.indices for name in _names(index)}
        case notation.Reduction(variables, operand):
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


def _names(index: notation.Index) -> list[str]:
    """The variables in a subscript."""
    if isinstance(index, notation.ComputedSubscript):
        return [name for name, _ in index.terms]
    return [index.name]


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
    """An operation on two numbers of the program, done by Python; None if they are not numbers."""
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

    That is done if another factor shares a variable with the sum: entries that this factor lacks
    need not be summed then.
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
