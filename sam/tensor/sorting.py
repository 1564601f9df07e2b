"""Entries in the order of their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sam.levels import Ints
from sam.tensor.radix_sort import sorted_by_bits

Array = NDArray[Any]


def sorted_entries(coordinates: Ints, values: Array) -> tuple[Ints, Array]:
    """The entries sorted by the first row of the coordinates, then the next, equal ones summed."""
    if len(values) < 2 or (len(coordinates) and increase(coordinates)):
        return coordinates, values
    new = np.zeros(len(values), bool)
    new[0] = True
    if len(coordinates):
        in_order, coordinates, new[1:] = _in_order(coordinates)
        values = values.take(in_order)
        if new.all():
            return coordinates, values
    starts = np.flatnonzero(new)
    return coordinates[:, starts], np.add.reduceat(values, starts, dtype=values.dtype)


def _in_order(coordinates: Ints) -> tuple[Ints, Ints, Array]:
    """The order of the entries by their coordinates, equal ones as they come. With it, the sorted
    coordinates, and whether each but the first differs from the one before.
    """
    widths = [int(row.max()).bit_length() for row in coordinates]
    if sum(widths) > _KEY_BITS:
        found = np.lexsort(coordinates[::-1])
        there = coordinates.take(found, axis=1)
        return found, there, (there[:, 1:] != there[:, :-1]).any(axis=0)
    key = coordinates[0].copy()
    for row, width in zip(coordinates[1:], widths[1:], strict=True):
        key <<= width
        key |= row
    bits = (len(key) - 1).bit_length()
    if sum(widths) + bits <= _KEY_BITS:
        # Keys that carry their places sort faster than places by their keys.
        key <<= bits
        key |= np.arange(len(key))
        key = sorted_by_bits(key, bits, sum(widths) + bits)
        found = key & ((1 << bits) - 1)
        key >>= bits
    else:
        found = np.argsort(key)
        ordered = key.take(found)
        if (ordered[1:] == ordered[:-1]).any():
            found = np.argsort(key, kind="stable")  # slower
        key = ordered
    new = key[1:] != key[:-1]
    # Coordinates are computed from the keys: reading them by place jumps all over memory.
    there = np.empty_like(coordinates)
    for row, width in zip(there[:0:-1], widths[:0:-1], strict=True):
        np.bitwise_and(key, (1 << width) - 1, out=row)
        key >>= width
    there[0] = key
    return found, there, new


_KEY_BITS = 63


def increase(coordinates: Sequence[Array] | Array) -> bool:
    """Whether each entry's coordinates, an array for each mode, come after those of the entry
    before it."""
    some = [row[:1000] for row in coordinates]
    return _all_increase(some) and (len(coordinates[0]) <= 1000 or _all_increase(coordinates))


def _all_increase(coordinates: Sequence[Array] | Array) -> bool:
    count = len(coordinates[0])
    after = np.zeros(max(0, count - 1), bool)
    for row in coordinates[::-1]:
        after &= row[1:] == row[:-1]
        after |= row[1:] > row[:-1]
    return bool(after.all())
