"""Entries in the order of their coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sam.levels import Ints

Array = NDArray[Any]


def sorted_entries(coordinates: Ints, values: Array) -> tuple[Ints, Array]:
    """The entries sorted by the first row of the coordinates, then the next, equal ones summed."""
    if increase(coordinates):
        return coordinates, values
    new = np.zeros(len(values), bool)
    new[0] = True
    if len(coordinates):
        in_order, new[1:] = _order(coordinates)
        coordinates, values = coordinates.take(in_order, axis=1), values.take(in_order)
        if new.all():
            return coordinates, values
    starts = np.flatnonzero(new)
    return coordinates[:, starts], np.add.reduceat(values, starts, dtype=values.dtype)


def _order(coordinates: Ints) -> tuple[Ints, Array]:
    """The entries in the order of their coordinates, equal ones as they come.

    With it, whether each entry but the first differs from the one before it in that order.
    """
    extents = [int(row.max()) + 1 for row in coordinates]
    if math.prod(extents) > np.iinfo(np.int64).max:
        found = np.lexsort(coordinates[::-1])
        in_order = coordinates.take(found, axis=1)
        return found, (in_order[:, 1:] != in_order[:, :-1]).any(axis=0)
    key = coordinates[0]
    for row, extent in zip(coordinates[1:], extents[1:], strict=True):
        key = key * extent
        key += row
    bits = (len(key) - 1).bit_length()
    if math.prod(extents) << bits <= np.iinfo(np.int64).max:
        # Keys that carry their places sort faster than places by their keys.
        key = key << bits
        key |= np.arange(len(key))
        key.sort()
        found = key & ((1 << bits) - 1)
        key >>= bits
        return found, key[1:] != key[:-1]
    found = np.argsort(key)
    in_order = key.take(found)
    new = in_order[1:] != in_order[:-1]
    if not new.all():
        found = np.argsort(key, kind="stable")
    return found, new


def increase(coordinates: Ints) -> bool:
    """Whether each entry's coordinates come after those of the entry before it."""
    some = coordinates[:, :1000]
    return _all_increase(some) and (some.shape == coordinates.shape or _all_increase(coordinates))


def _all_increase(coordinates: Ints) -> bool:
    if coordinates.shape[1] < 2:
        return True
    after = np.zeros(coordinates.shape[1] - 1, bool)
    for row in coordinates[::-1]:
        after &= row[1:] == row[:-1]
        after |= row[1:] > row[:-1]
    return bool(after.all())
