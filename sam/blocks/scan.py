"""Level scanners: from references to fibers, to coordinates and references (Definition 3.1).

A level of any format is scanned with each coordinate once and in order, as the tensor's
``scanned_levels`` gives it: duplicates are joined and hash tables sorted on the fly. A step that
has no coordinate (a duplicate, an empty bucket, a zero bit) takes a firing that emits nothing.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Kind, Surroundings, into, out
from sam.graph import Parameters
from sam.levels import Dense
from sam.token import DATA, DONE, STOP


def scan(p: Any, s: Any, m: Any) -> bool | None:
    """Goes one step along a fiber, or emits the stop token that ends it.

    A step emits its coordinate and reference, if it has one. A fiber ends in ``S0``, or in the
    stop token of its input raised by one, so what follows the fiber's reference must be there
    first; a reference that follows is taken in the same firing. ``N`` is an empty fiber.
    """
    if s.step < s.end:
        _advance(p, s, m)
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
            s.step, s.end = m.level.fiber(value)
        if s.open:
            p.crd.give(STOP, 0)
            p.ref.give(STOP, 0)
        elif s.step < s.end:
            _advance(p, s, m)
        s.open = True
    return None


def _advance(p: Any, s: Any, m: Any) -> None:
    """Goes one step, and emits what it has."""
    coordinate = m.level.coordinate(s.parent, s.step)
    if coordinate >= 0:
        p.crd.give(DATA, coordinate)
        p.ref.give(DATA, m.level.position(s.parent, s.step))
    s.step += 1


class _Dimension(Dense):
    """A fiber over all coordinates of a variable, whatever reference or value asks for it."""

    def fiber(self, parent: int) -> tuple[int, int]:
        return 0, self.size

    def coordinate(self, parent: int, step: int) -> int:
        return step


def _scanner(parameters: Parameters) -> Block:
    """Scans a level of a slot; or, where an operand of a union lacks a variable, all of it."""

    def memory(around: Surroundings) -> SimpleNamespace:
        if "variable" in parameters:
            return SimpleNamespace(level=_Dimension(around.extents[parameters["variable"]]))
        return SimpleNamespace(level=around.level(parameters["slot"], parameters["level"]))

    return Block(
        ports=(into("in_ref", "any"), out("crd", "crd", 1), out("ref", "ref", 1)),
        step=scan,
        state={"parent": 0, "step": 0, "end": 0, "open": False},
        memory=memory,
    )


LEVEL_SCANNER = Kind("level_scanner", "level_scanner", _scanner)
