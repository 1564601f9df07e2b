"""Results whose levels are those of one tensor, as in ``Y(i,j) = 2 * A(i,j)``.

The coordinates are copied array by array, and one loop goes over all values. Loops over the
coordinates of each fiber take up to three times as long where fibers are short.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from custard.to_c.expression import (
    Minus,
    Operand,
    Product,
    Quotient,
    Scalar,
    Sum,
    TypedNode,
    children,
    mapped,
    operands,
)
from custard.to_c.levels import LEVEL_FUNCTIONS, START
from custard.to_c.loop_ir import ONE, ZERO, Assign, Expr, For, Require, Stmt, Var, cast, either, op
from custard.to_c.outputs import TensorOutput
from custard.to_c.values import c_type, value

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering


def copied_levels(lowering: Lowering, tree: TypedNode, output: TensorOutput) -> list[Stmt] | None:
    """The statements that write the value of a tree; None where its result has other levels."""
    assembly = output.assembly
    tensors = [one for one in operands(tree) if one.variables]
    if not lowering.nest.is_plain or output.drop_zeros or not assembly.units or not tensors:
        return None
    slot, variables = tensors[0].slot, assembly.variables
    same = slot.levels == assembly.levels and not any(one.computed for one in tensors)
    same = same and all((one.slot, one.variables) == (slot, variables) for one in tensors)
    listed = all(
        {*LEVEL_FUNCTIONS[code].arrays} <= {"segments", "coordinates"} for code in slot.levels
    )
    if not same or not listed or not _has_all(tree):
        return None
    functions, fresh = lowering.storage.functions, lowering.builder.fresh
    found: list[Stmt] = []

    def copy(to: Expr, source: Expr, count: Expr) -> None:
        p = Var(fresh("p"))
        found.append(For(p, ZERO, count, [Assign(to[p], cast(source[p], assembly.index))]))

    count: Expr = ONE
    above = 0
    for u, unit in enumerate(assembly.units):
        levels = [functions[slot.name, n] for n in range(unit.first, unit.last + 1)]
        parents = count * assembly.block(above, unit.first)
        entries = levels[0].positions(parents)
        assert entries is not None
        copy(unit.segments, levels[0].array("segments"), parents + 1)
        room = either(op("<=", unit.count, unit.capacity), assembly.grow(u, unit.count))
        found += [Assign(unit.count, entries), Require(room)]
        count, above = unit.count, unit.last + 1
        for level, coordinates in zip(levels, unit.coordinates.values(), strict=True):
            copy(coordinates, level.array("coordinates"), count)
    count = count * assembly.block(above, len(assembly.levels))
    p = Var(fresh("p"))
    here = replace(START, positions=(p,))
    bound = mapped(tree, lambda node: replace(node, place=here) if node in tensors else node)
    result, _ = value(bound, lowering.storage.value_array)
    write = Assign(assembly.values[p], cast(result, c_type(output.dtype)))
    return [*found, For(p, ZERO, count, [write])]


def _has_all(node: TypedNode) -> bool:
    """Whether a tree has a value where its tensors have, which have the same coordinates, and
    nowhere else."""
    match node:
        case Operand():
            return bool(node.variables)
        case Minus() | Sum():
            return all(map(_has_all, children(node)))
        case Product(everywhere=False):
            whole = [_has_all(one) for one in node.factors]
            rest = (one for one, has in zip(node.factors, whole, strict=True) if not has)
            return any(whole) and all(map(_is_number, rest))
        case Quotient(everywhere=False):
            return _has_all(node.numerator) and _is_number(node.denominator)
    return False


def _is_number(node: TypedNode) -> bool:
    """Whether a tree is one number at all coordinates."""
    match node:
        case Operand():
            return not node.variables
        case Scalar():
            return node.present is None
        case Sum() | Product() | Minus() | Quotient():
            return all(map(_is_number, children(node)))
    return False
