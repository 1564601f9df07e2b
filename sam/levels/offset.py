"""Offset levels: the coordinate above, shifted."""

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
)
from sam.levels.dense import Dense
from sam.levels.range import Range
from sam.support.errors import UserError


@dataclass(frozen=True, eq=False)
class Offset(Level):
    """A level with one coordinate per parent: the parent's own coordinate, shifted.

    The level above must have a position for every coordinate of its mode (dense or range), so
    that a position tells the coordinate. A parent whose shifted coordinate lies outside the
    extent has none.

    ``size``     the mode's extent
    ``spacing``  the extent of the level above
    ``offsets``  the shift, for each position two levels above
    """

    code = "o"
    name = "offset"
    branchless = True
    compact = False
    padded = True
    iterates_positions = True

    size: int
    spacing: int
    offsets: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        above = entries.above[-1] if entries.above else None
        if not isinstance(above, Dense | Range):
            raise UserError(
                "the level cannot be stored as offset: "
                "the level above it does not have a position for every coordinate of its mode"
            )
        diagonal, row = np.divmod(entries.parent, max(1, above.size))
        shift = entries.coordinate - row
        offsets = np.zeros(entries.parents // max(1, above.size), np.int64)
        offsets[diagonal] = shift
        wrong = np.flatnonzero(offsets[diagonal] != shift)
        if len(wrong):
            at = diagonal[wrong[0]]
            raise UserError(
                f"the level cannot be stored as offset: its coordinates differ from those above "
                f"by {shift[wrong[0]]} and by {offsets[at]} in the same fiber {at}"
            )
        return cls(entries.size, above.size, offsets), entries.parent

    def arrays(self) -> Arrays:
        return {"crd": (INDEX, len(self.offsets))}

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", parent // self.spacing, True),)

    def fiber(self, parent: int) -> tuple[int, int]:
        return parent, parent + 1

    def coordinate(self, parent: int, step: int) -> int:
        coordinate = parent % self.spacing + self.offsets[parent // self.spacing]
        return coordinate if coordinate >= 0 and coordinate < self.size else -1

    def positions(self, parents: int) -> int:
        return parents

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        diagonals, rows = np.divmod(positions, max(1, self.spacing))
        return positions, rows + np.asarray(self.offsets)[diagonals]

    def holds(self, positions: Ints) -> Bools:
        _, coordinates = self.trace(positions)
        return (coordinates >= 0) & (coordinates < self.size)

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        check_size(self.size, size)
        if above and self.spacing != getattr(above[-1], "size", None):
            raise UserError(f"its spacing is {self.spacing}, not the extent of the level above it")
        if len(self.offsets) != parents // max(1, self.spacing):
            raise UserError(
                f"it has {len(self.offsets)} offsets for {parents} parents, "
                f"{self.spacing} of them to each"
            )
