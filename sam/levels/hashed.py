"""Hashed levels."""

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
    require_room,
)
from sam.support.errors import UserError


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
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        first, number_of_entry = distinct(entries.parent, entries.coordinate)
        parent, coordinate = entries.parent[first], entries.coordinate[first]
        longest = int(np.bincount(parent, minlength=1).max())
        width = 1 << max(0, 2 * longest - 1).bit_length()
        require_room(entries.parents * width)
        table = np.full(entries.parents * width, -1)
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
        check_range(coordinates, size, coordinates == -1)
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
class Reordered(Hashed):
    """Hash tables that are sorted on the fly: the steps without a coordinate come first.

    This models a sorter behind the memory, which reads every bucket.

    ``order``  the bucket of each step
    """

    order: Stored

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[self.order[step]]

    def position(self, parent: int, step: int) -> int:
        return self.order[step]


def _probed(parents: Ints, wanted: Ints, width: int) -> Ints:
    """The bucket of each coordinate, which hashes to a given bucket of its parent's table.

    In the order of these buckets, each coordinate gets the next free bucket. Coordinates that run
    over the table's end wrap around to its begin, before all others. No table is more than half
    full.
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
