"""Compressed levels, unique and not."""

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
)
from sam.levels.deduplicated import joined
from sam.support.errors import UserError


@dataclass(frozen=True, eq=False)
class Compressed(Level):
    """The coordinates that occur, fiber after fiber.

    ``segments``     parents + 1 positions: the fiber of parent p is
                     ``segments[p]:segments[p + 1]``
    ``coordinates``  one per position, strictly increasing in each fiber
    """

    code = "s"
    name = "compressed"
    gapless = iterates_positions = appends = True

    segments: Stored
    coordinates: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        chain_of_entry = None if cls.unique else entries.chain
        first, position_of_entry = distinct(
            entries.parent, entries.coordinate if chain_of_entry is None else chain_of_entry
        )
        segments = np.zeros(entries.parents + 1, np.int64)
        np.cumsum(np.bincount(entries.parent[first], minlength=entries.parents), out=segments[1:])
        return cls(segments, entries.coordinate[first]), position_of_entry

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, len(self.segments)), "crd": (INDEX, len(self.coordinates))}

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", parent, True), ("seg", parent + 1, True))

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", step, True),)

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.segments[parent], self.segments[parent + 1]

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def scanned(self, group_ends: Ints | None = None) -> tuple[Fibers, Ints | None]:
        if self.unique and group_ends is None:
            return self, None
        segments = np.asarray(self.segments)
        coordinates = np.asarray(self.coordinates)
        return joined(segments[:-1], segments[1:], coordinates, group_ends, segmented=True)

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        lengths = np.diff(self.segments)
        parents = np.repeat(np.arange(len(lengths)), lengths)
        return parents[positions], np.asarray(self.coordinates)[positions]

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        segments, coordinates = np.asarray(self.segments), np.asarray(self.coordinates)
        if len(segments) != parents + 1:
            raise UserError(
                f"it has {len(segments)} segments, and {parents} parents need {parents + 1}"
            )
        if segments[0] != 0 or segments[-1] != len(coordinates):
            raise UserError(
                f"its segments go from {segments[0]} to {segments[-1]}, not from 0 to its "
                f"{len(coordinates)} coordinates"
            )
        lengths = np.diff(segments)
        drops = np.flatnonzero(lengths < 0)
        if len(drops):
            raise UserError(f"its segments decrease after entry {drops[0]}")
        rises = rising(segments, coordinates, self.unique)
        if rises.all():  # so the least and the largest coordinate of each fiber are at its ends
            filled = lengths > 0
            least, largest = segments[:-1][filled], segments[1:][filled] - 1
            if np.all(coordinates[least] >= 0) and np.all(coordinates[largest] < size):
                return
        check_range(coordinates, size)
        wrong = np.flatnonzero(~rises)
        if len(wrong):
            fault = "do not increase" if self.unique else "decrease"
            raise UserError(f"its coordinates {fault} after position {wrong[0] - 1}")


def rising(segments: Ints, coordinates: Ints, unique: bool = True) -> Bools:
    """Whether each coordinate is the first of its fiber, or larger than the one before, or as large
    if not ``unique``; and True behind the last."""
    rises = np.ones(len(coordinates) + 1, bool)
    increases = np.greater if unique else np.greater_equal
    increases(coordinates[1:], coordinates[:-1], out=rises[1:-1])
    rises[segments] = True
    return rises


@dataclass(frozen=True, eq=False)
class CompressedNonUnique(Compressed):
    """Compressed, with a position for each chain of branchless levels that hangs on the level.

    So a coordinate is repeated wherever such chains differ: the rows of a COO matrix. The arrays
    are those of ``Compressed``, with coordinates that do not decrease in a fiber.
    """

    code = "u"
    name = "compressed non-unique"
    unique = False
