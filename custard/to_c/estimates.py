"""Estimates of the number of values of an expression, from the positions of its operands.

The result gets room for this number at first, and grows if there are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from custard.language.formats import LEVEL_FORMATS, are_full
from custard.to_c.assembly import times
from custard.to_c.expression import (
    Minus,
    Operand,
    Product,
    Sum,
    Total,
    TypedNode,
    children,
    operands,
    uses,
    without,
)
from custard.to_c.loop_ir import ONE, Expr
from custard.to_c.storage import Storage


def expected(node: TypedNode, storage: Storage) -> Expr | None:
    """About how many values a tree has; None where that is not known."""
    match node:
        case Operand() if not all(LEVEL_FORMATS[code].full for code in node.slot.levels):
            count: Expr | None = ONE
            for level in range(len(node.slot.levels)):
                if count is not None:
                    count = storage.functions[node.slot.name, level].positions(count)
            return count
        case Sum(_, terms):
            known = [n for term in terms if (n := expected(term, storage)) is not None]
            return sum(known[1:], start=known[0]) if known else None
    return next((n for c in children(node) if (n := expected(c, storage)) is not None), None)


def counted(node: TypedNode, variables: Sequence[str], storage: Storage) -> Expr | None:
    """How many coordinates of some variables a tree has; None where that is not known.

    It is known for a product whose sparse factors are operands that share none of the variables:
    the product of the positions of their outer levels, and of the extents of variables that only
    factors which are present everywhere have.
    """
    while isinstance(node, Total | Minus):
        node = node.operand
    factors = node.factors if isinstance(node, Product) and not node.everywhere else (node,)
    found: list[Expr] = []
    covered: set[str] = set()
    for factor in factors:
        used = [v for v in variables if any(one.uses(v) for one in operands(factor))]
        if not used or _is_everywhere(factor):
            continue
        if not isinstance(factor, Operand) or factor.computed or covered & set(used):
            return None
        last = LEVEL_FORMATS[factor.slot.levels[len(used) - 1]]
        if set(factor.variables[: len(used)]) != set(used) or last.full or not last.unique:
            return None
        count: Expr | None = ONE
        for level in range(len(used)):
            if count is not None:
                count = storage.functions[factor.slot.name, level].positions(count)
        if count is None:
            return None
        found.append(count)
        covered |= set(used)
    left = [v for v in variables if v not in covered]
    if any(not uses(node, v) for v in left):
        return None
    return reduce(times, [*found, *map(storage.extent, left)])


def _is_everywhere(node: TypedNode) -> bool:
    """Whether a tree has a value at all coordinates: also without its sparse operands."""
    sparse = {one.key for one in operands(node) if not are_full(one.slot.levels)}
    return without(node, sparse) is not None
