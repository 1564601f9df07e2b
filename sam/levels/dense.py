"""Dense levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sam.levels.base import Entries, Ints, Level, check_size


@dataclass(frozen=True, eq=False)
class Dense(Level):
    """Every coordinate of the mode, for every parent: only the extent is stored."""

    code = "d"
    name = "dense"
    full = padded = gapless = True
    iterates_values = locates = inserts = True

    size: int

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        return cls(entries.size), entries.parent * entries.size + entries.coordinate

    def fiber(self, parent: int) -> tuple[int, int]:
        begin = parent * self.size
        return begin, begin + self.size

    def coordinate(self, parent: int, step: int) -> int:
        return step - parent * self.size

    def locate(self, parent: int, coordinate: int) -> int:
        return parent * self.size + coordinate

    def positions(self, parents: int) -> int:
        return parents * self.size

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        parents, coordinates = np.divmod(positions, max(1, self.size))
        return parents, coordinates

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        check_size(self.size, size)
