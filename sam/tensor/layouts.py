"""Layouts of the formats paper that have more modes than the tensor: blocks, diagonals, slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sam.levels import MOST_POSITIONS, Dense, Ints, Level, Offset, Range, Singleton
from sam.support.errors import UserError
from sam.tensor.arguments import counted
from sam.tensor.sorting import sorted_entries
from sam.tensor.storing import too_large

Array = NDArray[Any]
Shape = tuple[int, ...]


def blocked(coordinates: Ints, shape: Shape, sizes: Sequence[int]) -> tuple[Ints, Shape]:
    """The coordinates in blocks of some extents, and the shape: the modes of the blocks come first.

    Raises UserError.
    """
    if len(sizes) != len(shape) or min(sizes, default=1) < 1:
        raise UserError(
            f"{tuple(sizes)} is not a block of {counted(len(shape), 'mode')}",
            hint="an extent of at least 1 for each mode",
        )
    block = np.array(sizes, np.int64).reshape(-1, 1)
    blocks = tuple(-(-n // size) for n, size in zip(shape, sizes, strict=True))
    return np.concatenate((coordinates // block, coordinates % block)), (*blocks, *sizes)


def unblocked(coordinates: Ints, shape: Shape) -> tuple[Ints, Shape]:
    """The coordinates without blocks, of coordinates in blocks; and the shape of whole blocks.

    Raises UserError for an odd number of modes.
    """
    outer, odd = divmod(len(shape), 2)
    if odd:
        raise UserError(f"{counted(len(shape), 'mode')} are no blocks: they come in pairs")
    sizes = shape[outer:]
    whole = tuple(n * size for n, size in zip(shape, sizes, strict=False))
    block = np.array(sizes, np.int64).reshape(-1, 1)
    return coordinates[:outer] * block + coordinates[outer:], whole


def diagonals(
    coordinates: Ints, values: Array, shape: Shape
) -> tuple[Shape, tuple[Level, ...], Array]:
    """A matrix as its diagonals (k, i, j), stored as DIA, ``"dro"``: shape, levels and values.

    Diagonal k, from the lowest on, holds the entries with one difference j - i. It is stored
    whole, whatever its entries are (formats paper, Figures 2j and 3c). Raises UserError unless
    there are two modes.
    """
    rows, columns = _matrix(shape)
    offsets, diagonal = np.unique(coordinates[1] - coordinates[0], return_inverse=True)
    _require_room((len(offsets), rows, columns), "dro")
    stored = np.zeros(len(offsets) * rows, values.dtype)
    stored[diagonal.reshape(-1) * rows + coordinates[0]] = values
    levels = (
        Dense(len(offsets)),
        Range(rows, np.maximum(0, -offsets), np.minimum(rows, columns - offsets)),
        Offset(columns, rows, offsets),
    )
    return (len(offsets), rows, columns), levels, stored


def slots(coordinates: Ints, values: Array, shape: Shape) -> tuple[Shape, tuple[Level, ...], Array]:
    """A matrix as its slots (s, i, j), stored as ELL, ``"ddq"``: shape, levels and values.

    Slot s has entry number s of each row i, so there are as many slots as the longest row has
    entries. A shorter row is filled up with zeros at the column of its last entry, an empty
    one at column 0; these are entries (formats paper, Figure 2i). Raises UserError unless
    there are two modes.
    """
    rows, columns = _matrix(shape)
    coordinates, values = sorted_entries(coordinates, values)
    lengths = np.bincount(coordinates[0], minlength=rows)
    begins = np.cumsum(lengths) - lengths
    count = int(lengths.max(initial=0))
    _require_room((count, rows, columns), "ddq")
    slot, row = np.indices((count, rows)).reshape(2, -1)
    entry = begins[row] + np.minimum(slot, np.maximum(0, lengths[row] - 1))
    column = coordinates[1].take(entry, mode="clip")
    column[lengths[row] == 0] = 0
    stored = values.take(entry, mode="clip")
    stored[slot >= lengths[row]] = 0
    return (count, rows, columns), (Dense(count), Dense(rows), Singleton(column)), stored


def _matrix(shape: Shape) -> Shape:
    if len(shape) != 2:
        raise UserError(f"a tensor of {counted(len(shape), 'mode')} is not a matrix")
    return shape


def _require_room(shape: tuple[int, int, int], codes: str) -> None:
    """Raises UserError where a position for each coordinate of the first two modes is too much."""
    if shape[0] * shape[1] > MOST_POSITIONS:
        raise too_large(shape, codes)
