"""Loops over the positions of a tensor (``pos``): the operand that has the positions."""

from __future__ import annotations

from collections.abc import Sequence

from custard.ir import cin
from custard.scheduling.loops import NUMBERED, LoopNest, Reads
from custard.to_c.expression import Operand, TypedNode, operands
from custard.to_c.outputs import Output
from sam.graph import Slot


def levels_of(tree: TypedNode) -> Reads:
    """A test for the levels that the operands of a tree have."""
    found = [operand.slot for operand in operands(tree)]

    def has(tensor: str, variables: Sequence[str]) -> bool:
        return any(_chain(slot, tensor, variables) is not None for slot in found)

    return has


def owner(nest: LoopNest, tree: TypedNode, name: str) -> Operand | None:
    """The operand over whose positions a loop goes, once all levels above are done."""
    tensor, wanted = nest.tensor_of(name), nest.originals(name)
    for operand in operands(tree):
        codes = _chain(operand.slot, tensor or "", wanted)
        if operand.left[: len(wanted)] == wanted and codes is not None:
            return operand
    return None


def without_owner(nest: LoopNest, loop: str, tree: TypedNode, output: Output) -> str | None:
    """The loop over positions that a loop is derived from, if no operand has these positions."""
    for name in nest.ancestors(loop):
        if nest.tensor_of(name) is not None:
            begun = any(name in nest.ancestors(one) for one in output.pending)
            return None if begun or owner(nest, tree, name) is not None else name
    return None


def elsewhere(nest: LoopNest, order: Sequence[str], position: str) -> list[str]:
    """The loops, with loops over positions turned back to loops over coordinates."""
    derived = [loop for loop in order if position in nest.ancestors(loop)]
    return [*nest.variables(derived), *(loop for loop in order if loop not in derived)]


def _chain(slot: Slot, tensor: str, variables: Sequence[str]) -> str | None:
    """The consecutive levels of a slot for some variables, if their positions are numbered in the
    order of the coordinates."""
    if slot.tensor != tensor:
        return None
    bases = [cin.base(v) for v in variables]
    for n in range(len(slot.variables) - len(bases) + 1):
        forms = [slot.form(n + level) for level in range(len(bases))]
        if list(slot.variables[n : n + len(bases)]) == bases and not any(forms):
            codes = slot.levels[n : n + len(bases)]
            return codes if all(code in NUMBERED for code in codes) else None
    return None
