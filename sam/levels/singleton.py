"""Singleton levels, unique and not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sam.levels.base import (
    INDEX,
    Arrays,
    Bools,
    Entries,
    Fibers,
    Ints,
    Level,
    Stored,
    Touches,
    check_range,
    distinct,
    held,
)
from sam.levels.deduplicated import joined
from sam.support.errors import UserError


@dataclass(frozen=True, eq=False)
class Singleton(Level):
    """Exactly one coordinate per parent, at the parent's own position.

    ``coordinates``  one per parent; -1 where the parent has no coordinate itself
    """

    code = "q"
    name = "singleton"
    branchless = True
    iterates_positions = appends = True

    coordinates: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        first, _ = distinct(entries.parent, entries.coordinate)
        counts = np.bincount(entries.parent[first], minlength=entries.parents)
        wrong = np.flatnonzero(counts != 1)
        wrong = wrong[held(entries.above, wrong)]
        if len(wrong):
            raise UserError(
                f"the level cannot be stored as {cls.name}: "
                f"position {wrong[0]} above it has {counts[wrong[0]]} coordinates, not 1"
            )
        coordinates = np.full(entries.parents, -1)
        coordinates[entries.parent] = entries.coordinate
        return cls(coordinates), entries.parent

    def arrays(self) -> Arrays:
        return {"crd": (INDEX, len(self.coordinates))}

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", step, True),)

    def fiber(self, parent: int) -> tuple[int, int]:
        return parent, parent + 1

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def scanned(self, group_ends: Ints | None = None) -> tuple[Fibers, Ints | None]:
        if group_ends is None:
            return self, None
        begins = np.arange(len(self.coordinates))
        coordinates = np.asarray(self.coordinates)
        return joined(begins, begins + 1, coordinates, group_ends, segmented=False)

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        return positions, np.asarray(self.coordinates)[positions]

    def holds(self, positions: Ints) -> Bools:
        return np.asarray(self.coordinates)[positions] >= 0

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        coordinates = np.asarray(self.coordinates)
        if len(coordinates) != parents:
            raise UserError(f"it has {len(coordinates)} coordinates for {parents} parents")
        lacking = (coordinates == -1) & ~held(above, np.arange(parents))
        check_range(coordinates, size, lacking)


@dataclass(frozen=True, eq=False)
class SingletonNonUnique(Singleton):
    """A singleton level inside a chain: several parents may have equal coordinates above and here.

    The arrays are those of ``Singleton``.
    """

    code = "c"
    name = "singleton non-unique"
    unique = False
