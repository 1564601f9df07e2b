"""The description of a level format's writers, and the steps that writers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sam.blocks.base import CHILDLESS, FINISHED, Step, require_within
from sam.graph import Parameters
from sam.levels import INDEX, Ints, Level
from sam.token import DONE, STOP


@dataclass(frozen=True)
class Arrivals:
    """A hashed level as it is written: the parent and the coordinate of each number."""

    parents: Ints
    coordinates: Ints
    padded = False

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        return self.parents[positions], self.coordinates[positions]


@dataclass(frozen=True)
class LevelWriting:
    """The writers of a level format: steps, memory, and the level that they fill.

    ``step``          the step at the root of the tensor, and below a level that appends
    ``by_reference``  the step that is told the positions of the level above
    ``beside``        the step that is told such a position with each coordinate, down to a linked
                      list
    ``memory``        the memory that they fill, by a node's parameters and the extent
    ``level``         the level in such a memory, by the number of parents and the extent
    ``arrays``        the parts that they write, each with the unit of an entry
                      (``sam.memory_regions``); ``seg`` of a hash table are its buckets
    ``state``         their state, beside that of ``walk``
    """

    step: Step
    by_reference: Step
    memory: Callable[[Parameters, int], Mapping[str, Any]]
    level: Callable[[Any, int, int], Level | Arrivals]
    arrays: Mapping[str, str]
    state: Mapping[str, Any] = field(default_factory=dict)
    beside: Step | None = None


BOTH: Mapping[str, str] = {"seg": INDEX, "crd": INDEX}
"""The arrays of a format that stores coordinates and where fibers begin."""


def end(p: Any, found: int, value: Any) -> bool | None:
    """Passes on the end of a fiber, as ``walk`` has found it."""
    if found != CHILDLESS or value == 0:
        p.in_crd.take()
        p.ref.give(DONE if found == FINISHED else STOP, value)
    return True if found == FINISHED else None


def next_parent(p: Any, s: Any, kind: int, value: int) -> bool | None:
    """Passes on the end of a fiber; one with coordinates is followed by that of the next parent."""
    p.ref.give(kind, value)
    if kind == DONE:
        return True
    if s.filled:
        s.parent += 1
    s.filled = False
    return None


def append_to(p: Any, m: Any, coordinate: Any) -> None:
    """Appends a coordinate to a level."""
    require_within(coordinate, m)
    if m.regions:
        p.memory.write(m.regions["crd"], len(m.coordinates))
    m.coordinates.append(coordinate)
