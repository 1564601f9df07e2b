"""Level scanners: from references to fibers, to coordinates and references (Definition 3.1)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Kind, Surroundings, into, out
from sam.graph import Parameters
from sam.levels import Dense
from sam.token import DATA, DONE, STOP


def scan(p: Any, s: Any, m: Any) -> bool | None:
    """Emits one coordinate and its reference, or the stop token that ends a fiber.

    A fiber ends in ``S0``, or in the stop token of its input raised by one, so what follows the
    fiber's reference must be there first; a reference that follows is taken in the same firing.
    ``N`` is an empty fiber.
    """
    if s.position < s.end:
        p.crd.give(DATA, m.level.coordinate(s.parent, s.position))
        p.ref.give(DATA, s.position)
        s.position += 1
        return None
    kind, value = p.in_ref.peek()
    if kind == STOP:
        p.in_ref.take()
        p.crd.give(STOP, value + 1)
        p.ref.give(STOP, value + 1)
        s.open = False
    elif kind == DONE:
        if s.open:
            p.crd.give(STOP, 0)
            p.ref.give(STOP, 0)
            s.open = False
        else:
            p.in_ref.take()
            p.crd.give(DONE, 0)
            p.ref.give(DONE, 0)
            return True
    else:
        p.in_ref.take()
        if kind == DATA:
            s.parent = value
            s.position, s.end = m.level.fiber(value)
        if s.open:
            p.crd.give(STOP, 0)
            p.ref.give(STOP, 0)
        elif s.position < s.end:
            p.crd.give(DATA, m.level.coordinate(s.parent, s.position))
            p.ref.give(DATA, s.position)
            s.position += 1
        s.open = True
    return None


class _Dimension(Dense):
    """A fiber over all coordinates of a variable, whatever reference or value asks for it."""

    def fiber(self, parent: int) -> tuple[int, int]:
        return 0, self.size

    def coordinate(self, parent: int, position: int) -> int:
        return position


def _scanner(parameters: Parameters) -> Block:
    """Scans a level of a slot; or, where an operand of a union lacks a variable, all of it."""

    def memory(around: Surroundings) -> SimpleNamespace:
        if "variable" in parameters:
            return SimpleNamespace(level=_Dimension(around.extents[parameters["variable"]]))
        tensor = around.tensors[parameters["slot"]]
        return SimpleNamespace(level=tensor.levels[parameters["level"]].as_lists())

    return Block(
        ports=(into("in_ref", "any"), out("crd", "crd", 1), out("ref", "ref", 1)),
        step=scan,
        state={"parent": 0, "position": 0, "end": 0, "open": False},
        memory=memory,
    )


LEVEL_SCANNER = Kind("level_scanner", "level_scanner", _scanner)
