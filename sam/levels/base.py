"""Fibers, the protocol of level formats, and checks of arrays that all formats use."""

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
# The unit of an array in memory: a coordinate or position, or a word of bits.
INDEX, WORD = "index", "word"
Arrays = Mapping[str, tuple[str, int]]
"""By part, ``seg`` or ``crd``, the unit of an array's entries and their number."""
Touches = tuple[tuple[str, int, bool], ...]
"""Reads of entries of arrays: the part, the index, and whether the entry is read at all."""


@dataclass(frozen=True, eq=False)
class Fibers(ABC):
    """The fibers of a level, each gone through step by step (the paper's iteration functions).

    ``gapless``: each step has a coordinate. ``chained``: the next step is read at the one before.
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
        """The entries that ``fiber`` reads."""
        return ()

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        """The entries that ``coordinate`` and ``position`` read at a step, or ``word`` at one."""
        return ()

    def touched_by_move(self, parent: int, before: int, step: int) -> Touches:
        """The entries that are read at a step that was found by search.

        ``before``  the step of the fiber that was read last, below 0 where there is none
        """
        return self.touched_by_step(parent, step, 1)

    def key(self, parent: int, step: int) -> int:
        """The number by which the steps of a fiber are ordered: the coordinate, if there is one."""
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

    def find(self, parent: int, coordinate: int) -> int:
        """The position of a coordinate in the parent's fiber, found by search, or -1."""
        first, last = self.fiber(parent)
        step = self.seek(parent, first, last, coordinate)
        if step < last:
            found = self.coordinate(parent, step)
            if found == coordinate:
                return self.position(parent, step)
        return -1

    def as_lists(self: Self) -> Self:
        """The same fibers with lists for arrays: reading one number from a list is faster."""
        stored = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: v.tolist() for k, v in stored.items() if isinstance(v, np.ndarray)}
        )


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries that a level is to store, sorted by parent, then by coordinate.

    ``parent``      the position above, by entry
    ``coordinate``  the coordinate of the level's mode, by entry
    ``parents``     how many positions there are above
    ``size``        the mode's extent
    ``above``       the levels above, outermost first
    ``chain``       numbers the entries, equal for those that agree in their position above, in the
                    level's coordinate, and in those of the branchless levels that hang on it; a
                    level that is not unique has a position for each number
    """

    parent: Ints
    coordinate: Ints
    parents: int
    size: int
    above: Sequence[Level] = ()
    chain: Ints | None = None


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
    ``padded``      (ours) a coordinate may be stored with no entry below it; in a padded
                    last level a zero is padding and no entry

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
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        """The level that stores the entries, and the position of each.

        Equal entries share a position where the format is unique. Raises UserError where the
        format cannot store the entries.
        """

    def locate(self, parent: int, coordinate: int) -> int:
        """The position of a coordinate in the parent's fiber, or -1; for formats that locate."""
        raise TypeError(f"{self.name} levels do not locate")

    def touched_by_locate(self, parent: int, coordinate: int) -> Touches:
        """The entries that ``locate`` reads."""
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

        A position of the level above may stand for a group of positions that agree in all
        coordinates: itself and those after it, up to ``group_ends``. Its fiber is then the chain of
        all their fibers. Gives the ends of the groups of this level's own positions too, None where
        there are none.

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


def held(levels: Sequence[Level], positions: Ints) -> Bools:
    """Whether positions of the last of these levels have a coordinate there and in all above."""
    holds = np.ones(len(positions), bool)
    if all(level.compact for level in levels):
        return holds
    for level in reversed(levels):
        holds &= level.holds(positions)
        positions, _ = level.trace(positions)
    return holds


def distinct(parents: Ints, coordinates: Ints) -> tuple[Ints | slice, Ints]:
    """The first entry of each distinct (parent, coordinate), and the number of each entry's."""
    new = np.ones(len(parents), bool)
    new[1:] = (parents[1:] != parents[:-1]) | (coordinates[1:] != coordinates[:-1])
    if new.all():
        return slice(None), np.arange(len(parents))
    numbers = np.cumsum(new)
    numbers -= 1
    return np.flatnonzero(new), numbers


def require_room(positions: int) -> None:
    if positions > MOST_POSITIONS:
        raise MemoryError


def check_size(found: int, due: int) -> None:
    if found != due:
        raise UserError(f"its size is {found}, the mode's extent is {due}")


def check_range(coordinates: Ints, size: int, lacking: Bools | None = None) -> None:
    """Raises UserError for a coordinate outside the extent, except where one is lacking."""
    wrong = (coordinates < 0) | (coordinates >= size)
    outside = np.flatnonzero(wrong if lacking is None else wrong & ~lacking)
    if len(outside):
        raise UserError(
            f"coordinate {coordinates[outside[0]]} at position {outside[0]} "
            f"is outside the extent {size}"
        )
