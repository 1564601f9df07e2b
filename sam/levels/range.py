"""Range levels: the coordinates from a first to a last one, for each parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sam.levels.base import (
    INDEX,
    Arrays,
    Bools,
    Entries,
    Ints,
    Level,
    Stored,
    Touches,
    check_size,
    distinct,
)
from sam.support.errors import UserError


@dataclass(frozen=True, eq=False)
class Range(Level):
    """A level with all coordinates from a first to a last one, for each parent.

    Like a dense level, it has a position for every coordinate of the mode (the paper's Table 2),
    but only those in the range are used.

    ``size``    the mode's extent
    ``begins``  the first coordinate of each parent
    ``ends``    the one after its last
    """

    code = "r"
    name = "range"
    compact = False
    padded = gapless = True
    iterates_values = True

    size: int
    begins: Stored
    ends: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        begins, ends = np.zeros((2, entries.parents), np.int64)
        first, _ = distinct(entries.parent, np.zeros_like(entries.coordinate))
        filled = entries.parent[first]
        begins[filled] = entries.coordinate[first]
        ends[entries.parent] = entries.coordinate + 1
        return cls(entries.size, begins, ends), entries.parent * entries.size + entries.coordinate

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, 2 * len(self.begins))}

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", 2 * parent, True), ("seg", 2 * parent + 1, True))

    def fiber(self, parent: int) -> tuple[int, int]:
        first = parent * self.size
        return first + self.begins[parent], first + self.ends[parent]

    def coordinate(self, parent: int, step: int) -> int:
        return step - parent * self.size

    def positions(self, parents: int) -> int:
        return parents * self.size

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        parents, coordinates = np.divmod(positions, max(1, self.size))
        return parents, coordinates

    def holds(self, positions: Ints) -> Bools:
        parents, coordinates = self.trace(positions)
        begins, ends = np.asarray(self.begins)[parents], np.asarray(self.ends)[parents]
        return (begins <= coordinates) & (coordinates < ends)

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        check_size(self.size, size)
        begins, ends = np.asarray(self.begins), np.asarray(self.ends)
        if len(begins) != parents or len(ends) != parents:
            raise UserError(
                f"it has {len(begins)} begins and {len(ends)} ends for {parents} parents"
            )
        wrong = np.flatnonzero((begins < 0) | (begins > ends) | (ends > size))
        if len(wrong):
            raise UserError(
                f"its range {wrong[0]} goes from {begins[wrong[0]]} to {ends[wrong[0]]}, "
                f"and the extent is {size}"
            )
