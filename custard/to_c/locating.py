"""The places of the values of loop variables in the levels of operands.

A level whose subscript is a variable is located at the variable's value. A level whose subscript is
computed, such as ``2*i + j``, is located at the value of the subscript, if that is within the
level; a loop over such a variable goes through a ``Window`` of the level.
"""

from __future__ import annotations

from dataclasses import replace

from custard.to_c.expression import Operand, TypedNode, mapped
from custard.to_c.levels import Place
from custard.to_c.loop_ir import ZERO, Const, Expr, both, op, select
from custard.to_c.outputs import Output
from custard.to_c.storage import Storage
from custard.to_c.windows import Window, shifted
from sam.support.errors import UserError


def bound(storage: Storage, tree: TypedNode, output: Output) -> TypedNode:
    """The tree with all levels located whose variables are bound."""

    def change(node: TypedNode) -> TypedNode:
        if not isinstance(node, Operand):
            return node
        while node.left[:1] and node.left[0] in output.bound:
            node = replace(
                node, place=located_at(storage, node, output.bound[node.left[0]], output)
            )
        return node

    return mapped(tree, change)


def located_at(storage: Storage, operand: Operand, value: Expr, output: Output) -> Place:
    """The place of the next level at a value of its variable; absent where a computed
    subscript points outside.

    Raises UserError where the level cannot be located in, as a list of keys that are sorted.
    """
    level, points = storage.level(operand), window(storage, operand, output)
    if not level.format.locates:
        raise UserError(
            f"the loops of the schedule come to {operand.left[0]} before {operand.slot.name}, "
            f"which is stored as {level.format.name} there, and can only be gone through",
            hint="leave out pos, or the commands that split or tile its loops",
        )
    if points is None:
        place = level.locate(operand.place, value)
        if level.format.full or place.present != operand.place.present:
            return place
        # The schedule locates in a level that may lack coordinates.
        return operand.place.below(place.position, value, None, op(">=", place.position, ZERO))
    at = points.place(value)
    position, known = level.locate(operand.place, at).position, operand.place.present
    found = both(at >= ZERO, at < level.size)
    if not level.format.full:
        position = select(found, position, Const(-1))
        found = op(">=", position, ZERO)
    present = found if known is None else both(known, found)
    return operand.place.below(position, at, None, present)


def window(storage: Storage, operand: Operand, output: Output) -> Window | None:
    """The window of a variable's values in the next level; None without a computed subscript."""
    form = operand.form
    if form is None:
        return None
    rest: Expr = Const(form.constant)
    for variable, scale in form.terms:
        rest = shifted(rest, output.bound[variable], scale)
    return Window(form.scale, rest, storage.extent(form.variable))
