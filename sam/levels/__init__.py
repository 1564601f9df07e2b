"""What each level format stores in memory (Chou et al., OOPSLA 2018, Sections 2 and 3).

A tensor is a tree with one level per mode. A level maps each position of the level above it (its
parent; the root is parent 0) to a fiber: coordinates of one mode, each at a position of its own.
Where a format leaves a position without a coordinate, its coordinate is -1.

A new format is one new class here, and one more in ``LEVELS``. The class declares its properties
and capabilities (the paper's Table 1), which the compiler reads; its methods are the paper's level
functions (Table 2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sam.support.errors import UserError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
# An array of the storage, or the list that ``Fibers.as_lists`` makes of it.
Stored = Ints | list[int]
Self = TypeVar("Self", bound="Fibers")

# Beyond this many positions numpy may promise memory that the machine does not have.
MOST_POSITIONS = 2**32

WORD_BITS = 64

# What an entry of an array in memory is: a coordinate or position, or a word of bits.
INDEX, WORD = "index", "word"
Arrays = Mapping[str, tuple[str, int]]
"""By part, ``seg`` or ``crd``, what an entry of an array is, and how many it has."""
Touches = tuple[tuple[str, int, bool], ...]
"""Entries of arrays that are read: the part, the index, and whether it is read at all."""


@dataclass(frozen=True, eq=False)
class Fibers(ABC):
    """The fibers of a level, each gone through step by step (the paper's iteration functions).

    ``gapless`` tells that each step has a coordinate, and ``chained`` that what is read at a step
    tells where the next one is.
    """

    gapless: ClassVar[bool] = False
    chained: ClassVar[bool] = False

    @abstractmethod
    def fiber(self, parent: int) -> tuple[int, int]:
        """The first step of the parent's fiber, and the one after its last."""

    @abstractmethod
    def coordinate(self, parent: int, step: int) -> int:
        """The coordinate at a step of the parent's fiber, or -1 where the step has none."""

    def position(self, parent: int, step: int) -> int:
        """The position of the coordinate at a step."""
        return step

    def arrays(self) -> Arrays:
        """The arrays that lie in memory; a scan of all fibers reads every entry of them."""
        return {}

    def touched_by_fiber(self, parent: int) -> Touches:
        """What ``fiber`` reads."""
        return ()

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        """What ``coordinate`` and ``position`` read at a step, or ``word`` at one of a width."""
        return ()

    def key(self, parent: int, step: int) -> int:
        """What the steps of a fiber are in order by: the coordinate, or what a step without one
        stands for."""
        return self.coordinate(parent, step)

    def seek(self, parent: int, step: int, end: int, coordinate: int) -> int:
        """The first step, from ``step`` on, whose key is not below a coordinate; else ``end``."""
        while step < end:
            middle = (step + end) // 2
            if self.key(parent, middle) < coordinate:
                step = middle + 1
            else:
                end = middle
        return step

    def as_lists(self: Self) -> Self:
        """The same with lists for arrays: reading one number from a list is faster."""
        stored = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: v.tolist() for k, v in stored.items() if isinstance(v, np.ndarray)}
        )


@dataclass(frozen=True)
class Context:
    """What lies around a level that is being built.

    ``above``           the levels above it, outermost first
    ``chain_of_entry``  numbers the entries, equal for those that agree in their position above,
                        in the level's coordinate, and in those of the branchless levels that
                        hang on it; a level that is not unique has a position for each number
    """

    above: Sequence[Level] = ()
    chain_of_entry: Ints | None = None


ALONE = Context()


@dataclass(frozen=True, eq=False)
class Level(Fibers):
    """The storage of one level.

    ``code``  the letter of the format language, as in ``"ds"``
    ``name``  the word for it

    Properties (formats paper, 3.3):

    ``full``        every fiber has every coordinate of its mode
    ``ordered``     coordinates increase along a fiber
    ``unique``      no coordinate comes twice under the same coordinates above
    ``branchless``  a position hangs on each position above, and has its number
    ``compact``     every position has a coordinate
    ``padded``      (ours) a coordinate may be stored with no entry below it; where the last level
                    is so, a zero is padding and no entry

    Capabilities (3.2 and 3.4): ``iterates_values`` or ``iterates_positions``, ``locates``,
    ``inserts``, ``appends``; ``iterates_words``, by words with a bit for each coordinate (SAM
    paper, Section 4.3); and ``appends_anywhere``, to any fiber at any time (Section 6.5), by which
    positions have the order of appending.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    full: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    unique: ClassVar[bool] = True
    branchless: ClassVar[bool] = False
    compact: ClassVar[bool] = True
    padded: ClassVar[bool] = False
    iterates_values: ClassVar[bool] = False
    iterates_positions: ClassVar[bool] = False
    iterates_words: ClassVar[bool] = False
    locates: ClassVar[bool] = False
    inserts: ClassVar[bool] = False
    appends: ClassVar[bool] = False
    appends_anywhere: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        """The level that stores the entries, and the position of each.

        The entries are sorted by parent, then by coordinate; equal ones share a position where
        the format is unique. There are ``parents`` parents, and the mode's extent is ``size``.
        Raises UserError where the format cannot store the entries.
        """

    def locate(self, parent: int, coordinate: int) -> int:
        """The position of a coordinate in the parent's fiber, or -1; for formats that locate."""
        raise TypeError(f"{self.name} levels do not locate")

    def touched_by_locate(self, parent: int, coordinate: int) -> Touches:
        """What ``locate`` reads."""
        return ()

    def word(self, parent: int, step: int, width: int) -> int:
        """The coordinates at a step and those after it, ``width`` of them, as bits, lowest first.

        The steps of such a format are all the coordinates of the mode, and ``position`` counts the
        ones before a step. ``width`` is at most 64, and the step a multiple of it further than the
        first; for formats that iterate by words.
        """
        raise TypeError(f"{self.name} levels have no words")

    def scanned(self, group_ends: Ints | None = None) -> tuple[Fibers, Ints | None]:
        """The fibers with each coordinate once and in order (iterator conversion, Section 4.3).

        A position of the level above may stand for a group that agrees in all coordinates: itself
        and those after it, up to ``group_ends``. Its fiber is then the chain of all their fibers.
        Gives the ends of the groups of this level's own positions too, None where there are none.

        Raises UserError where a format cannot be chained.
        """
        if group_ends is not None:
            raise UserError(f"duplicates cannot be joined above a {self.name} level")
        return self, None

    @abstractmethod
    def positions(self, parents: int) -> int:
        """How many positions the level has for that many parents."""

    @abstractmethod
    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        """The parent and the coordinate of each of the positions."""

    def holds(self, positions: Ints) -> Bools:
        """Whether each of the positions has a coordinate, if its parent has one."""
        return np.ones(len(positions), bool)

    @abstractmethod
    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        """Raises UserError unless the arrays agree with each other, the parents and the extent."""


@dataclass(frozen=True, eq=False)
class Dense(Level):
    """Every coordinate of the mode, for every parent: only the extent is stored."""

    code = "d"
    name = "dense"
    full = padded = gapless = True
    iterates_values = locates = inserts = True

    size: int

    @classmethod
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        return cls(size), parent_of_entry * size + coordinate_of_entry

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
        _check_size(self.size, size)


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
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        chain_of_entry = None if cls.unique else context.chain_of_entry
        first, position_of_entry = _distinct(
            parent_of_entry, coordinate_of_entry if chain_of_entry is None else chain_of_entry
        )
        segments = np.zeros(parents + 1, np.int64)
        np.cumsum(np.bincount(parent_of_entry[first], minlength=parents), out=segments[1:])
        return cls(segments, coordinate_of_entry[first]), position_of_entry

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
        return _joined(segments[:-1], segments[1:], coordinates, group_ends, segmented=True)

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
        drops = np.flatnonzero(np.diff(segments) < 0)
        if len(drops):
            raise UserError(f"its segments decrease after entry {drops[0]}")
        _check_range(coordinates, size)
        fiber_begins = np.zeros(len(coordinates) + 1, bool)
        fiber_begins[segments] = True
        least = 1 if self.unique else 0
        wrong = np.flatnonzero((np.diff(coordinates) < least) & ~fiber_begins[1:-1])
        if len(wrong):
            fault = "do not increase" if self.unique else "decrease"
            raise UserError(f"its coordinates {fault} after position {wrong[0]}")


@dataclass(frozen=True, eq=False)
class CompressedNonUnique(Compressed):
    """Compressed, with a position for each chain of branchless levels that hangs on the level.

    So a coordinate comes again wherever those differ: the rows of a COO matrix. The arrays are
    those of ``Compressed``, with coordinates that do not decrease in a fiber.
    """

    code = "u"
    name = "compressed non-unique"
    unique = False


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
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        first, _ = _distinct(parent_of_entry, coordinate_of_entry)
        counts = np.bincount(parent_of_entry[first], minlength=parents)
        wrong = np.flatnonzero(counts != 1)
        wrong = wrong[held(context.above, wrong)]
        if len(wrong):
            raise UserError(
                f"the level cannot be stored as {cls.name}: "
                f"position {wrong[0]} above it has {counts[wrong[0]]} coordinates, not 1"
            )
        coordinates = np.full(parents, -1)
        coordinates[parent_of_entry] = coordinate_of_entry
        return cls(coordinates), parent_of_entry

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
        return _joined(begins, begins + 1, coordinates, group_ends, segmented=False)

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
        _check_range(coordinates, size, lacking)


@dataclass(frozen=True, eq=False)
class SingletonNonUnique(Singleton):
    """A singleton level inside a chain: its parents may agree with each other, as it may itself.

    The arrays are those of ``Singleton``.
    """

    code = "c"
    name = "singleton non-unique"
    unique = False


@dataclass(frozen=True, eq=False)
class Hashed(Level):
    """A hash table of the same number of buckets for each parent, linearly probed.

    A coordinate is in the first bucket that was free, from bucket coordinate mod ``width`` of its
    table on, and round to the table's begin. A bucket is a position.

    ``width``        buckets per table: the least power of 2 that leaves half of each table empty
    ``coordinates``  one per bucket; -1 where it is empty
    """

    code = "h"
    name = "hashed"
    ordered = compact = False
    iterates_positions = locates = inserts = True

    width: int
    coordinates: Stored

    @classmethod
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        first, number_of_entry = _distinct(parent_of_entry, coordinate_of_entry)
        parent, coordinate = parent_of_entry[first], coordinate_of_entry[first]
        longest = int(np.bincount(parent, minlength=1).max())
        width = 1 << max(0, 2 * longest - 1).bit_length()
        _require_room(parents * width)
        table = np.full(parents * width, -1)
        bucket = parent * width + _probed(parent, coordinate % width, width)
        table[bucket] = coordinate
        return cls(width, table), bucket[number_of_entry]

    def arrays(self) -> Arrays:
        return {"crd": (INDEX, len(self.coordinates))}

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", step, True),)

    def touched_by_locate(self, parent: int, coordinate: int) -> Touches:
        """The bucket where the search begins, which mostly is the one where it ends."""
        return (("crd", parent * self.width + coordinate % self.width, True),)

    def fiber(self, parent: int) -> tuple[int, int]:
        begin = parent * self.width
        return begin, begin + self.width

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def locate(self, parent: int, coordinate: int) -> int:
        n = 0
        while n < self.width:
            bucket = parent * self.width + (coordinate + n) % self.width
            found = self.coordinates[bucket]
            if found == coordinate:
                return bucket
            if found == -1:
                return -1
            n += 1
        return -1

    def scanned(self, group_ends: Ints | None = None) -> tuple[Fibers, Ints | None]:
        super().scanned(group_ends)
        tables = np.asarray(self.coordinates).reshape(-1, self.width)
        order = np.argsort(tables, axis=1, kind="stable")
        order += np.arange(len(tables))[:, np.newaxis] * self.width
        return Reordered(self.width, self.coordinates, order.reshape(-1)), None

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        return positions // self.width, np.asarray(self.coordinates)[positions]

    def holds(self, positions: Ints) -> Bools:
        return np.asarray(self.coordinates)[positions] >= 0

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        coordinates = np.asarray(self.coordinates)
        if self.width < 1 or len(coordinates) != parents * self.width:
            raise UserError(
                f"it has {len(coordinates)} buckets, not {self.width} for each of the "
                f"{parents} parents"
            )
        _check_range(coordinates, size, coordinates == -1)
        tables = coordinates.reshape(-1, self.width)
        sorted_tables = np.sort(tables, axis=1)
        again = (np.diff(sorted_tables, axis=1) == 0) & (sorted_tables[:, 1:] != -1)
        if again.any():
            parent, n = np.argwhere(again)[0]
            raise UserError(
                f"its table {parent} has the coordinate {sorted_tables[parent, n]} twice"
            )
        # Along each table, doubled so that it can be gone round, how many buckets are in use
        # before each: all those between a coordinate's first bucket and its own have to be.
        used = np.zeros((len(tables), 2 * self.width + 1), np.int64)
        np.cumsum(np.tile(tables != -1, 2), axis=1, out=used[:, 1:])
        table, bucket = np.nonzero(tables != -1)
        begin = tables[table, bucket] % self.width
        distance = (bucket - begin) % self.width
        lost = np.flatnonzero(used[table, begin + distance] - used[table, begin] < distance)
        if len(lost):
            raise UserError(
                f"its coordinate {tables[table[lost[0]], bucket[lost[0]]]} in table "
                f"{table[lost[0]]} cannot be found: a bucket before it is empty"
            )


@dataclass(frozen=True, eq=False)
class Range(Level):
    """All the coordinates from a first to a last one, for each parent.

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
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        begins, ends = np.zeros((2, parents), np.int64)
        first, _ = _distinct(parent_of_entry, np.zeros_like(coordinate_of_entry))
        filled = parent_of_entry[first]
        begins[filled] = coordinate_of_entry[first]
        ends[parent_of_entry] = coordinate_of_entry + 1
        return cls(size, begins, ends), parent_of_entry * size + coordinate_of_entry

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
        _check_size(self.size, size)
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


@dataclass(frozen=True, eq=False)
class Offset(Level):
    """One coordinate per parent: the parent's own coordinate, shifted.

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
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        above = context.above[-1] if context.above else None
        if not isinstance(above, Dense | Range):
            raise UserError(
                "the level cannot be stored as offset: "
                "the level above it does not have a position for every coordinate of its mode"
            )
        diagonal, row = np.divmod(parent_of_entry, max(1, above.size))
        shift = coordinate_of_entry - row
        offsets = np.zeros(parents // max(1, above.size), np.int64)
        offsets[diagonal] = shift
        wrong = np.flatnonzero(offsets[diagonal] != shift)
        if len(wrong):
            at = diagonal[wrong[0]]
            raise UserError(
                f"the level cannot be stored as offset: its coordinates differ from those above "
                f"by {shift[wrong[0]]} and by {offsets[at]} in the same fiber {at}"
            )
        return cls(size, above.size, offsets), parent_of_entry

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
        _check_size(self.size, size)
        if above and self.spacing != getattr(above[-1], "size", None):
            raise UserError(f"its spacing is {self.spacing}, not the extent of the level above it")
        if len(self.offsets) != parents // max(1, self.spacing):
            raise UserError(
                f"it has {len(self.offsets)} offsets for {parents} parents, "
                f"{self.spacing} of them to each"
            )


@dataclass(frozen=True, eq=False)
class Bitvector(Level):
    """A bit for every coordinate of the mode, for every parent (SAM paper, Section 4.3).

    The positions are those of the ones alone, counted in order: by the ones before them.

    ``size``   the mode's extent
    ``words``  64 bits each, coordinate c of a parent in bit c mod 64 of its word c div 64; a
               parent begins with a word of its own
    ``ranks``  words + 1 positions: the number of ones before each word
    """

    code = "b"
    name = "bitvector"
    iterates_positions = iterates_words = appends = True

    size: int
    words: NDArray[np.uint64] | list[int]
    ranks: Stored

    @classmethod
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        first, position_of_entry = _distinct(parent_of_entry, coordinate_of_entry)
        count = parents * words_for(size)
        _require_room(count)
        word, bit = np.divmod(coordinate_of_entry[first], WORD_BITS)
        word += parent_of_entry[first] * words_for(size)
        words = np.zeros(count, np.uint64)
        np.bitwise_or.at(words, word, np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return cls.of(size, words), position_of_entry

    @classmethod
    def of(cls, size: int, words: NDArray[np.uint64]) -> Bitvector:
        """The level of some words; their ranks follow."""
        ranks = np.zeros(len(words) + 1, np.int64)
        np.cumsum(_bits(words).reshape(-1, WORD_BITS).sum(axis=1), out=ranks[1:])
        return cls(size, words, ranks)

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, len(self.words)), "crd": (WORD, len(self.words))}

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        """A word and its rank, at the step that comes to its first bit."""
        return (
            ("seg", self._last_word(parent, step, width), self._enters_it(parent, step, width)),
            ("crd", self._last_word(parent, step, width), self._enters_it(parent, step, width)),
        )

    def _last_word(self, parent: int, step: int, width: int) -> int:
        """The word that the last coordinate of some steps is in."""
        last = min(step - parent * self.size + width, self.size) - 1
        return parent * words_for(self.size) + last // WORD_BITS

    def _enters_it(self, parent: int, step: int, width: int) -> bool:
        """Whether the first bit of that word is among the steps."""
        first = step - parent * self.size
        last = min(first + width, self.size) - 1
        return last % WORD_BITS <= last - first

    def fiber(self, parent: int) -> tuple[int, int]:
        begin = parent * self.size
        return begin, begin + self.size

    def coordinate(self, parent: int, step: int) -> int:
        coordinate = step - parent * self.size
        word = self.words[parent * words_for(self.size) + coordinate // WORD_BITS]
        return coordinate if (word >> (coordinate % WORD_BITS)) & 1 else -1

    def key(self, parent: int, step: int) -> int:
        return step - parent * self.size

    def position(self, parent: int, step: int) -> int:
        coordinate = step - parent * self.size
        word = parent * words_for(self.size) + coordinate // WORD_BITS
        before = self.words[word] & bits_below(coordinate % WORD_BITS)
        return self.ranks[word] + before.bit_count()

    def word(self, parent: int, step: int, width: int) -> int:
        coordinate = step - parent * self.size
        at = parent * words_for(self.size) + coordinate // WORD_BITS
        last = (parent + 1) * words_for(self.size) - 1
        passed = coordinate % WORD_BITS
        found = self.words[at]
        if passed > 0:
            found = (found >> passed) & bits_below(WORD_BITS - passed)
        if passed + width > WORD_BITS and at < last:
            found = found | self.words[at + 1] << (WORD_BITS - passed)
        if width < WORD_BITS:
            found = found & bits_below(width)
        return found

    def positions(self, parents: int) -> int:
        return int(self.ranks[-1]) if len(self.ranks) else 0

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        word, bit = np.divmod(np.flatnonzero(_bits(self.words))[positions], WORD_BITS)
        parents, word_of_parent = np.divmod(word, max(1, words_for(self.size)))
        return parents, word_of_parent * WORD_BITS + bit

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        _check_size(self.size, size)
        width = words_for(size)
        if len(self.words) != parents * width or len(self.ranks) != len(self.words) + 1:
            raise UserError(
                f"it has {len(self.words)} words and {len(self.ranks)} ranks, and {parents} "
                f"parents need {parents * width} and {parents * width + 1}"
            )
        bits = _bits(self.words).reshape(-1, WORD_BITS)
        if not np.array_equal(np.diff(self.ranks, prepend=0), [0, *bits.sum(axis=1)]):
            raise UserError("its ranks are not the numbers of ones before each word")
        outside = np.flatnonzero(bits.reshape(parents, width * WORD_BITS)[:, size:].any(axis=1))
        if len(outside):
            raise UserError(f"parent {outside[0]} has a bit outside the extent {size}")


@dataclass(frozen=True, eq=False)
class Linked(Level):
    """The coordinates that occur, a linked list for each parent (SAM paper, Section 6.5).

    A node is a position, and can be appended to any list at any time.

    ``heads``        the first node of each parent's list; -1 where it is empty
    ``nexts``        the node behind each in its list; -1 where it is the last
    ``coordinates``  one per node, strictly increasing along each list
    """

    code = "l"
    name = "linked list"
    iterates_positions = appends = appends_anywhere = True

    heads: Stored
    nexts: Stored
    coordinates: Stored

    @classmethod
    def build(
        cls,
        parent_of_entry: Ints,
        coordinate_of_entry: Ints,
        parents: int,
        size: int,
        context: Context = ALONE,
    ) -> tuple[Level, Ints]:
        first, position_of_entry = _distinct(parent_of_entry, coordinate_of_entry)
        level = cls.of(parent_of_entry[first], coordinate_of_entry[first], parents)
        return level, position_of_entry

    @classmethod
    def of(cls, parents_of_nodes: Ints, coordinates: Ints, parents: int) -> Linked:
        """The level whose nodes have been appended to the lists of some parents, in turn."""
        nodes = np.argsort(parents_of_nodes, kind="stable")
        new = np.ones(len(nodes), bool)
        new[1:] = np.diff(parents_of_nodes[nodes]) != 0
        heads, nexts = np.full(parents, -1), np.full(len(nodes), -1)
        heads[parents_of_nodes[nodes[new]]] = nodes[new]
        nexts[nodes[:-1][~new[1:]]] = nodes[1:][~new[1:]]
        return cls(heads, nexts, coordinates)

    def _followed(self) -> Followed:
        """The nodes along the lists, one list after the other."""
        heads, nexts = (np.asarray(a).tolist() for a in (self.heads, self.nexts))
        segments = [0]
        nodes: list[int] = []
        for node in heads:
            while node >= 0 and len(nodes) <= len(nexts):
                nodes.append(node)
                node = nexts[node]
            segments.append(len(nodes))
        along = np.array(nodes, np.int64)
        return Followed(np.array(segments), np.asarray(self.coordinates)[along], along)

    def fiber(self, parent: int) -> tuple[int, int]:
        return self._followed().fiber(parent)

    def coordinate(self, parent: int, step: int) -> int:
        return self._followed().coordinate(parent, step)

    def position(self, parent: int, step: int) -> int:
        return self._followed().position(parent, step)

    def scanned(self, group_ends: Ints | None = None) -> tuple[Fibers, Ints | None]:
        super().scanned(group_ends)
        return self._followed(), None

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        along = self._followed()
        lengths = np.diff(along.segments)
        parents = np.empty(len(self.coordinates), np.int64)
        parents[along.nodes] = np.repeat(np.arange(len(lengths)), lengths)
        return parents[positions], np.asarray(self.coordinates)[positions]

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        heads, nexts = np.asarray(self.heads), np.asarray(self.nexts)
        count = len(self.coordinates)
        if len(heads) != parents or len(nexts) != count:
            raise UserError(
                f"it has {len(heads)} heads for {parents} parents, and {len(nexts)} nexts for "
                f"{count} coordinates"
            )
        follow = np.concatenate((heads, nexts))
        followed = follow[follow != -1]
        if not np.array_equal(np.sort(followed), np.arange(count)):
            raise UserError(f"its {count} nodes are not in one list each, at one place")
        _check_range(np.asarray(self.coordinates), size)
        along = self._followed()
        if len(along.nodes) != count:
            raise UserError("a list of its goes round")
        Compressed(along.segments, along.coordinates).validate(parents, size)


def _bits(words: NDArray[np.uint64] | list[int]) -> NDArray[np.uint8]:
    """The bits of the words, the lowest of each first."""
    stored = np.asarray(words, np.uint64).astype("<u8")
    return np.unpackbits(stored.view(np.uint8), bitorder="little")


LEVELS: dict[str, type[Level]] = {
    level.code: level
    for level in (
        Dense,
        Compressed,
        CompressedNonUnique,
        Singleton,
        SingletonNonUnique,
        Hashed,
        Range,
        Offset,
        Bitvector,
        Linked,
    )
}


@dataclass(frozen=True, eq=False)
class Deduplicated(Fibers):
    """Fibers whose duplicates are joined on the fly; the first of them stands for them all.

    A duplicate takes a step, but gives no coordinate.

    ``begins``, ``ends``  of the fiber of each parent; that of a group has the children of all
    ``coordinates``       one per position; -1 for a duplicate
    ``keys``              one per position, of duplicates too
    ``segmented``         whether begins and ends are read from memory
    """

    begins: Stored
    ends: Stored
    coordinates: Stored
    keys: Stored
    segmented: bool

    def arrays(self) -> Arrays:
        arrays = {"crd": (INDEX, len(self.coordinates))}
        return {"seg": (INDEX, len(self.begins) + 1), **arrays} if self.segmented else arrays

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", parent, self.segmented), ("seg", parent + 1, self.segmented))

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", step, True),)

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.begins[parent], self.ends[parent]

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def key(self, parent: int, step: int) -> int:
        return self.keys[step]


@dataclass(frozen=True, eq=False)
class Reordered(Hashed):
    """Hash tables that are sorted on the fly: the steps without a coordinate come first.

    This stands for a sorter behind the memory, which reads every bucket.

    ``order``  the bucket of each step
    """

    order: Stored

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[self.order[step]]

    def position(self, parent: int, step: int) -> int:
        return self.order[step]


@dataclass(frozen=True, eq=False)
class Followed(Fibers):
    """Linked lists as they are gone along, node after node.

    ``segments``     the steps along the list of parent p are ``segments[p]:segments[p + 1]``
    ``coordinates``  the coordinate at each step
    ``nodes``        the node at each step
    """

    chained = True

    segments: Stored
    coordinates: Stored
    nodes: Stored

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, len(self.segments) - 1), "crd": (INDEX, 2 * len(self.nodes))}

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", parent, True),)

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", 2 * self.nodes[step], True), ("crd", 2 * self.nodes[step] + 1, True))

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.segments[parent], self.segments[parent + 1]

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def position(self, parent: int, step: int) -> int:
        return self.nodes[step]


def repeats(codes: str) -> tuple[int, ...]:
    """How many levels directly below each of some levels repeat its coordinates.

    A level that is not unique has a position for each chain of branchless levels that hangs on it,
    so its coordinate comes again for each coordinate of those (a list of coordinates: COO).
    """
    found: list[int] = []
    for n, code in enumerate(codes):
        level = LEVELS[code]
        if level.branchless:
            found.append(max(0, found[-1] - 1) if found else 0)
        else:
            below = codes[n + 1 :] if not level.unique else ""
            hanging = (k for k, inner in enumerate(below) if not LEVELS[inner].branchless)
            found.append(next(hanging, len(below)))
    return tuple(found)


def least_bytes(codes: str, extents: Sequence[int], index: int, value: int) -> int:
    """The bytes that a tensor takes whatever it stores: for its outer levels that are full.

    ``index`` and ``value`` are the bytes of an index and of a value.
    """
    positions = 1
    for code, extent in zip(codes, extents, strict=True):
        if not LEVELS[code].full:
            return positions * index
        positions *= extent
    return positions * value


def held(levels: Sequence[Level], positions: Ints) -> Bools:
    """Whether positions of the last of these levels have a coordinate there and in all above."""
    holds = np.ones(len(positions), bool)
    if all(level.compact for level in levels):
        return holds
    for level in reversed(levels):
        holds &= level.holds(positions)
        positions, _ = level.trace(positions)
    return holds


def _distinct(parents: Ints, coordinates: Ints) -> tuple[Ints | slice, Ints]:
    """Where each distinct (parent, coordinate) first stands, and which one each entry is."""
    new = np.ones(len(parents), bool)
    new[1:] = (parents[1:] != parents[:-1]) | (coordinates[1:] != coordinates[:-1])
    if new.all():
        return slice(None), np.arange(len(parents))
    return np.flatnonzero(new), np.cumsum(new) - 1


def _joined(
    begins: Ints, ends: Ints, coordinates: Ints, group_ends: Ints | None, segmented: bool
) -> tuple[Fibers, Ints | None]:
    """The fibers of groups of parents without duplicates, and the ends of the groups in them."""
    heads = np.ones(len(begins), bool)
    if group_ends is not None:
        heads[1:] = group_ends[:-1] <= np.arange(1, len(begins))
        ends = ends[group_ends - 1]
    new = np.ones(len(coordinates) + 1, bool)
    new[1:-1] = coordinates[1:] != coordinates[:-1]
    new[begins[heads]] = True
    starts = np.flatnonzero(new)
    new = new[:-1]
    once = np.where(new, coordinates, -1)
    joined = Deduplicated(begins, ends, once, coordinates, segmented)
    return joined, None if new.all() else starts[np.cumsum(new)]


def _probed(parents: Ints, wanted: Ints, width: int) -> Ints:
    """The bucket that each coordinate gets that would like a given one of its parent's table.

    In the order of those they would like, each gets the next free one. What comes out behind its
    table's end goes round to the begin, before all others. No table is more than half full.
    """
    round_the_end = np.zeros(len(parents), bool)
    while True:
        order = np.lexsort((wanted, ~round_the_end, parents))
        begin = np.where(round_the_end, 0, wanted)[order]
        # Twice the width keeps what runs over a table's end out of the next table.
        table = 2 * width * parents[order]
        n = np.arange(len(order))
        bucket = np.empty_like(wanted)
        bucket[order] = np.maximum.accumulate(table + begin - n) + n - table
        over = bucket >= width
        if not over.any():
            return bucket
        round_the_end |= over


def words_for(size: int) -> int:
    """The words of a bitvector over an extent."""
    return (size + WORD_BITS - 1) // WORD_BITS


_BELOW_THE_TOP = 2**63 - 1
"""The bits of a word but the highest."""


def bits_below(bit: int) -> int:
    """The bits 0 to ``bit`` - 1 of a word, of which there may be 63."""
    return _BELOW_THE_TOP >> (63 - bit)


def _require_room(positions: int) -> None:
    if positions > MOST_POSITIONS:
        raise MemoryError


def _check_size(found: int, due: int) -> None:
    if found != due:
        raise UserError(f"its size is {found}, the mode's extent is {due}")


def _check_range(coordinates: Ints, size: int, lacking: Bools | None = None) -> None:
    """Raises UserError for a coordinate outside the extent, except where one is lacking."""
    wrong = (coordinates < 0) | (coordinates >= size)
    outside = np.flatnonzero(wrong if lacking is None else wrong & ~lacking)
    if len(outside):
        raise UserError(
            f"coordinate {coordinates[outside[0]]} at position {outside[0]} "
            f"is outside the extent {size}"
        )
