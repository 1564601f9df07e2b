"""From the syntax tree of an assignment to concrete index notation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from custard.ir.cin import (
    Access,
    Divide,
    Expression,
    Literal,
    LoopProgram,
    Multiply,
    Negate,
    Reduce,
    Unit,
    added,
    base,
    free_variables,
    multiplied,
    unnamed,
    walk,
)
from custard.ir.summation import hoisted, summed_over, with_sum
from custard.language import notation
from sam.subscripts import Affine, Span
from sam.support.errors import UserError

_OF_NUMBERS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def concretize(assignment: notation.Assignment) -> LoopProgram:
    """The program of an assignment, its loops in the order in which the variables appear.

    A variable absent from the left side is summed over the smallest sub-expression that holds
    all of its uses, a product being one sub-expression; the operands of ``+`` and ``-`` are
    summed each on its own. ``+=`` adds the old value of the left side. A variable twice on the
    left stores the diagonal: with ``=`` all else is zero, with ``+=`` it is as it was.

    A computed subscript of the left side gets a variable of its own, and a factor (``Unit``) that
    picks the places where the form holds. Raises UserError for windows of one variable that differ
    in length.
    """
    scope = _Scope(assignment)
    target, forms = scope.target(assignment.target)
    kept = {*target.variables, *(v for form in forms.values() for v in form.variables)}
    value = scope.expression(assignment.value)
    for variable in free_variables(value):
        if variable not in kept:
            value = with_sum(value, variable)
    value = hoisted(value)
    loops: dict[str, None] = {}
    for variable in target.variables:
        loops |= dict.fromkeys(forms[variable].variables if variable in forms else ())
        loops[variable] = None
    if forms:
        value = _scattered(value, target, forms, scope)
    accumulates = assignment.operator == "+="
    if accumulates:
        value = added([target, value])
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
    """A value summed at the places that forms of its variables give."""
    summed: tuple[str, ...] = ()
    if isinstance(value, Reduce):
        summed, value = value.variables, value.operand
    for variable, form in reversed(list(forms.items())):
        negated = tuple((name, -scale) for name, scale in form.coefficients().items())
        place = Affine(variable, 1, negated, -form.constant)
        value = Multiply((Unit(scope.unit, (variable,), (place,)), value))
    free = dict.fromkeys(v for form in forms.values() for v in form.coefficients())
    moved = tuple(v for v in free if v not in target.variables)
    return summed_over((*moved, *summed), value) if moved or summed else value


def right_side(assignment: notation.Assignment) -> Expression:
    """The right side of an assignment as a part of a program, without sums."""
    return _Scope(assignment).expression(assignment.value)


class _Scope:
    """Turns syntax into expressions, giving the variables of explicit sums names of their own."""

    def __init__(self, assignment: notation.Assignment) -> None:
        self.text = assignment.text
        accesses = notation.accesses(assignment)
        self.taken = {*_free(assignment.target), *_free(assignment.value)}
        self.fixed: dict[str, int] = {}
        self.unit = unnamed("unit", [access.tensor for access in accesses])
        self.places: dict[tuple[str, int], str] = {}

    def target(self, node: notation.Access) -> tuple[Access, dict[str, Affine]]:
        """The left side, and the form of each variable that replaces a computed subscript."""
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
        """A new variable, like a name of the user's."""
        name = unnamed(name, self.taken)
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
                inner = self.expression(operand, names)
                return Literal(-inner.value) if isinstance(inner, Literal) else Negate(inner, True)
            case notation.Binary():
                return self._chain(node, names)
            case notation.Reduction(variables, operand):
                own = {variable.name: self._fresh(variable.name) for variable in variables}
                inside = self.expression(operand, {**names, **own})
                return summed_over(tuple(own.values()), inside)
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
                    value = added([value, right])
                case "-":
                    value = added([value, Negate(right)])
                case "*":
                    value = multiplied([value, right])
                case "/":
                    value = Divide(value, right)
        return value

    def _fresh(self, variable: str) -> str:
        """The variable, or a similar one if it is taken."""
        while variable in self.taken:
            variable += "'"
        self.taken.add(variable)
        return variable


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


def _folded(symbol: str, left: Expression, right: Expression) -> Literal | None:
    """An operation on two numbers of the program, done by Python; None if they are not numbers.

    A whole number of more than 64 bits becomes a float, as one that is written so does.
    """
    if not (isinstance(left, Literal) and isinstance(right, Literal)):
        return None
    try:
        found = _OF_NUMBERS[symbol](left.value, right.value)
        return Literal(found if -(2**63) <= found < 2**63 else float(found))
    except ArithmeticError:
        return None
