"""Where the sums over variables stand in an expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from custard.ir.cin import (
    Access,
    Add,
    Divide,
    Expression,
    Multiply,
    Negate,
    Reduce,
    children,
    divides,
    free_variables,
    multiplied,
    without_brackets,
)


def with_sum(node: Expression, variable: str) -> Expression:
    """The node with the sum over a variable at the smallest part that has all uses of it."""
    operands = without_brackets(node) if isinstance(node, Multiply) else children(node)
    users = [operand for operand in operands if variable in free_variables(operand)]
    match node:
        case Add(terms):
            return Add(tuple(with_sum(t, variable) if t in users else t for t in terms))
        case Negate(operand):
            return replace(node, operand=with_sum(operand, variable))
        case Reduce(variables, operand):
            return summed_over(variables, with_sum(operand, variable))
        case Multiply() if len(users) == 1:
            return _with_factors(
                node, lambda f: _summed_factor(f, variable) if f is users[0] else f
            )
        case Divide(numerator, denominator) if len(users) == 1:
            if users[0] is numerator:
                return Divide(with_sum(numerator, variable), denominator)
            return Divide(numerator, with_sum(denominator, variable))
    return summed_over((variable,), node)


def hoisted(node: Expression) -> Expression:
    """Takes the only sum among the factors of a product out of it.

    That is done if another factor shares a variable with the sum: entries that this factor lacks
    need not be summed then. A factor that may be infinite stays outside: infinity times a sum is
    not the sum of infinity times 0.
    """
    match node:
        case Add(terms):
            return Add(tuple(hoisted(term) for term in terms))
        case Negate(operand):
            return replace(node, operand=hoisted(operand))
        case Reduce(variables, operand):
            return summed_over(variables, hoisted(operand))
        case Divide(numerator, denominator):
            return Divide(hoisted(numerator), hoisted(denominator))
        case Multiply():
            node = _with_factors(node, hoisted)
            factors = without_brackets(node) if isinstance(node, Multiply) else [node]
            sums = [factor for factor in factors if isinstance(factor, Reduce)]
            others = [factor for factor in factors if factor not in sums]
            shared = {v for other in others for v in free_variables(other)}
            finite = not any(map(divides, others))
            if len(sums) == 1 and finite and shared & set(free_variables(sums[0])):
                inside = _with_factors(node, lambda f: f.operand if isinstance(f, Reduce) else f)
                return Reduce(sums[0].variables, inside)
    return node


def summed_over(variables: tuple[str, ...], operand: Expression) -> Expression:
    """The sum of an operand over variables; a sum inside becomes part of it."""
    if isinstance(operand, Reduce):
        return Reduce((*variables, *operand.variables), operand.operand)
    return Reduce(variables, operand)


def _summed_factor(factor: Expression, variable: str) -> Expression:
    """A factor with the sum over a variable that no other factor uses.

    The sum over an access has the type of the product, which may be wider than its own. So the sign
    of the access is changed before the sum, in its own type.
    """
    operand = factor
    while isinstance(operand, Negate):
        operand = operand.operand
    if isinstance(operand, Access):
        return summed_over((variable,), factor)
    return with_sum(factor, variable)


def _with_factors(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A product with each factor changed, those in brackets too."""
    if isinstance(node, Multiply):
        return multiplied([_with_factors(factor, change) for factor in node.factors])
    return change(node)
