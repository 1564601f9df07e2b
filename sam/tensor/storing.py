"""From entries to levels, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sam.levels import LEVELS, MOST_POSITIONS, Dense, Entries, Ints, Level, held, repeats
from sam.support import free_memory
from sam.support.errors import UserError
from sam.tensor.sorting import sorted_entries

Array = NDArray[Any]

# Bytes of a level's segments for each position above it, and of their counts while it is built.
_BUILT_BYTES = 16


def stored(
    coordinates: Ints, values: Array, shape: tuple[int, ...], codes: str, order: tuple[int, ...]
) -> tuple[tuple[Level, ...], Array]:
    """The levels and values of entries in any order, whose coordinates are in range.

    Raises UserError where the levels cannot hold the entries.
    """
    if order != tuple(range(len(order))):
        coordinates = coordinates[list(order)]
    coordinates, values = sorted_entries(coordinates, values)
    levels: list[Level] = []
    positions = 1
    position_of_entry = np.zeros(len(values), np.int64)
    try:
        for n, code in enumerate(codes):
            size = shape[order[n]]
            if LEVELS[code] is not Dense and free_memory.lacks(positions * _BUILT_BYTES):
                raise MemoryError
            above, chains = tuple(levels), _chains(coordinates, codes, n)
            level, position_of_entry = LEVELS[code].build(
                Entries(position_of_entry, coordinates[n], positions, size, above, chains)
            )
            positions = level.positions(positions)
            if positions > MOST_POSITIONS:
                raise MemoryError
            levels.append(level)
            if not level.ordered and n + 1 < len(codes):
                # A hash table wraps around from its end to its begin; the level below follows its
                # order.
                in_order = np.argsort(position_of_entry, kind="stable")
                coordinates, values = coordinates[:, in_order], values[in_order]
                position_of_entry = position_of_entry[in_order]
        if len(values) != positions or (position_of_entry != np.arange(positions)).any():
            if free_memory.lacks(positions * values.dtype.itemsize):
                raise MemoryError
            stored = np.zeros(positions, values.dtype)
            stored[position_of_entry] = values
            values = stored
    except MemoryError as error:
        raise too_large(shape, codes) from error
    except UserError as error:
        raise UserError(error.what, source=codes, span=(n, n + 1)) from error
    return tuple(levels), values


def _chains(coordinates: Ints, codes: str, n: int) -> Ints | None:
    """The chain that each sorted entry is in, for level n (``Entries.chain``)."""
    if LEVELS[codes[n]].unique:
        return None
    end = n + 1 + repeats(codes)[n]
    starts = (np.diff(coordinates[:end]) != 0).any(axis=0)
    return np.concatenate(([0], np.cumsum(starts)))[: coordinates.shape[1]]


def listed(levels: Sequence[Level], order: Sequence[int], values: Array) -> tuple[Ints, Array]:
    """The entries in the order of storage: coordinates (modes, entries), and values.

    ``order`` has the mode of each level.
    """
    padded = len(levels) > 0 and levels[-1].padded
    positions = np.flatnonzero(values) if padded else np.arange(len(values))
    if not all(level.compact for level in levels):
        positions = positions[held(levels, positions)]
    values = values if len(positions) == len(values) else values[positions]
    coordinates = np.empty((len(levels), len(values)), np.int64)
    for level, mode in zip(reversed(levels), reversed(order), strict=True):
        positions, coordinates[mode] = level.trace(positions)
    return coordinates, values


def positions(levels: Sequence[Level]) -> list[int]:
    """The number of positions of the root and of each level."""
    found = [1]
    for level in levels:
        found.append(level.positions(found[-1]))
    return found


def are_pruned(levels: Sequence[Level]) -> bool:
    """Whether every coordinate has one of the last level below it, padded levels aside."""
    if all(level.padded for level in levels):
        return True
    counts = positions(levels)
    occupied = held(levels, np.arange(counts[-1]))
    for n in reversed(range(len(levels))):
        level = levels[n]
        if not level.padded and not (occupied | ~level.holds(np.arange(counts[n + 1]))).all():
            return False
        if all(above.padded for above in levels[:n]):
            return True
        parents, _ = level.trace(np.flatnonzero(occupied))
        occupied = np.zeros(counts[n], bool)
        occupied[parents] = True
    return True


def too_large(shape: tuple[int, ...], codes: str) -> UserError:
    """The error for a tensor that has more positions than there is memory for."""
    return UserError(
        f'a tensor of the shape {shape} is too large for "{codes}"', hint="compressed levels"
    )


def no_memory(result: str, extents: Sequence[int], form: str, hint: str | None = None) -> UserError:
    """The error for a result that the memory does not hold in its format."""
    size = " x ".join(map(str, extents))
    return UserError(
        f"there is no memory for {result}, which is {size}, stored as {form}", hint=hint
    )
