"""What each level format stores in memory (Chou et al., OOPSLA 2018, Sections 2 and 3).

A tensor is a tree with one level per mode. A level maps each position of the level above it (its
parent; the root is parent 0) to a fiber: coordinates of one mode, each at a position of its own.
A new format is one new class here, and one more in ``LEVELS``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sam.errors import UserError

Ints = NDArray[np.int64]
# An array of the storage, or the list that ``Level.as_lists`` makes of it.
Stored = Ints | list[int]


@dataclass(frozen=True, eq=False)
class Level:
    """The storage of one level.

    ``code``  the letter of the format language, as in ``"ds"``
    ``name``  the word for it
    ``full``  whether every fiber has every coordinate of its mode, stored or not: what a full
              last level holds for the coordinates without an entry is 0
    """

    code: ClassVar[str]
    name: ClassVar[str]
    full: ClassVar[bool] = False

    @classmethod
    def build(
        cls, parent_of_entry: Ints, coordinate_of_entry: Ints, parents: int, size: int
    ) -> tuple[Level, Ints]:
        """The level that stores the entries, and the position of each.

        The entries are sorted by parent, then by coordinate; equal ones share a position. There
        are ``parents`` parents, and the mode's extent is ``size``. Raises UserError where the
        format cannot store the entries.
        """
        raise NotImplementedError

    def fiber(self, parent: int) -> tuple[int, int]:
        """The first position of the parent's fiber, and the one after its last."""
        raise NotImplementedError

    def coordinate(self, parent: int, position: int) -> int:
        """The coordinate at a position of the parent's fiber."""
        raise NotImplementedError

    def locate(self, parent: int, coordinate: int) -> int:
        """The position of a coordinate in the parent's fiber, or -1; for formats that locate."""
        raise NotImplementedError

    def positions(self, parents: int) -> int:
        """How many positions the level has for that many parents."""
        raise NotImplementedError

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        """The parent and the coordinate of each of the positions."""
        raise NotImplementedError

    def validate(self, parents: int, size: int) -> None:
        """Raises UserError unless the arrays agree with each other, the parents and the extent."""
        raise NotImplementedError

    def as_lists(self) -> Level:
        """The same level with lists for arrays: reading one number from a list is faster."""
        stored = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: v.tolist() for k, v in stored.items() if isinstance(v, np.ndarray)}
        )


@dataclass(frozen=True, eq=False)
class Dense(Level):
    """Every coordinate of the mode, for every parent: only the extent is stored."""

    code = "d"
    name = "dense"
    full = True

    size: int

    @classmethod
    def build(
        cls, parent_of_entry: Ints, coordinate_of_entry: Ints, parents: int, size: int
    ) -> tuple[Level, Ints]:
        return cls(size), parent_of_entry * size + coordinate_of_entry

    def fiber(self, parent: int) -> tuple[int, int]:
        begin = parent * self.size
        return begin, begin + self.size

    def coordinate(self, parent: int, position: int) -> int:
        return position - parent * self.size

    def locate(self, parent: int, coordinate: int) -> int:
        return parent * self.size + coordinate

    def positions(self, parents: int) -> int:
        return parents * self.size

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        parents, coordinates = np.divmod(positions, max(1, self.size))
        return parents, coordinates

    def validate(self, parents: int, size: int) -> None:
        if self.size != size:
            raise UserError(f"its size is {self.size}, the mode's extent is {size}")


@dataclass(frozen=True, eq=False)
class Compressed(Level):
    """The coordinates that occur, fiber after fiber.

    ``segments``     parents + 1 positions: the fiber of parent p is
                     ``segments[p]:segments[p + 1]``
    ``coordinates``  one per position, strictly increasing in each fiber
    """

    code = "s"
    name = "compressed"

    segments: Stored
    coordinates: Stored

    @classmethod
    def build(
        cls, parent_of_entry: Ints, coordinate_of_entry: Ints, parents: int, size: int
    ) -> tuple[Level, Ints]:
        first, position_of_entry = _distinct(parent_of_entry, coordinate_of_entry)
        segments = np.zeros(parents + 1, np.int64)
        np.cumsum(np.bincount(parent_of_entry[first], minlength=parents), out=segments[1:])
        return cls(segments, coordinate_of_entry[first]), position_of_entry

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.segments[parent], self.segments[parent + 1]

    def coordinate(self, parent: int, position: int) -> int:
        return self.coordinates[position]

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        lengths = np.diff(self.segments)
        parents = np.repeat(np.arange(len(lengths)), lengths)
        return parents[positions], np.asarray(self.coordinates)[positions]

    def validate(self, parents: int, size: int) -> None:
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
        drops = np.flatnonzero(np.diff(segments) < 0)
        if len(drops):
            raise UserError(f"its segments decrease after entry {drops[0]}")
        _check_range(coordinates, size)
        fiber_begins = np.zeros(len(coordinates) + 1, bool)
        fiber_begins[segments] = True
        repeats = np.flatnonzero((np.diff(coordinates) <= 0) & ~fiber_begins[1:-1])
        if len(repeats):
            raise UserError(f"its coordinates do not increase after position {repeats[0]}")


@dataclass(frozen=True, eq=False)
class Singleton(Level):
    """Exactly one coordinate per parent, at the parent's own position.

    ``coordinates``  one per parent
    """

    code = "q"
    name = "singleton"

    coordinates: Stored

    @classmethod
    def build(
        cls, parent_of_entry: Ints, coordinate_of_entry: Ints, parents: int, size: int
    ) -> tuple[Level, Ints]:
        first, _ = _distinct(parent_of_entry, coordinate_of_entry)
        counts = np.bincount(parent_of_entry[first], minlength=parents)
        wrong = np.flatnonzero(counts != 1)
        if len(wrong):
            raise UserError(
                "the level cannot be stored as singleton: "
                f"position {wrong[0]} above it has {counts[wrong[0]]} coordinates, not 1"
            )
        return cls(coordinate_of_entry[first]), parent_of_entry

    def fiber(self, parent: int) -> tuple[int, int]:
        return parent, parent + 1

    def coordinate(self, parent: int, position: int) -> int:
        return self.coordinates[position]

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        return positions, np.asarray(self.coordinates)[positions]

    def validate(self, parents: int, size: int) -> None:
        if len(self.coordinates) != parents:
            raise UserError(f"it has {len(self.coordinates)} coordinates for {parents} parents")
        _check_range(np.asarray(self.coordinates), size)


LEVELS: dict[str, type[Level]] = {level.code: level for level in (Dense, Compressed, Singleton)}


def _distinct(parents: Ints, coordinates: Ints) -> tuple[Ints | slice, Ints]:
    """Where each distinct (parent, coordinate) first stands, and which one each entry is."""
    new = np.ones(len(parents), bool)
    new[1:] = (parents[1:] != parents[:-1]) | (coordinates[1:] != coordinates[:-1])
    if new.all():
        return slice(None), np.arange(len(parents))
    return np.flatnonzero(new), np.cumsum(new) - 1


def _check_range(coordinates: Ints, size: int) -> None:
    outside = np.flatnonzero((coordinates < 0) | (coordinates >= size))
    if len(outside):
        raise UserError(
            f"coordinate {coordinates[outside[0]]} at position {outside[0]} "
            f"is outside the extent {size}"
        )
