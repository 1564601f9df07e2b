"""The entries of a sparse matrix or tensor that scipy or pydata/sparse saved as several arrays.

Every index is checked before anything is done with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sam.foreign_arrays import require_zero_fill
from sam.io.text import short
from sam.levels import Ints
from sam.support.errors import UserError
from sam.tensor import Tensor

_Arrays = Mapping[str, Any]


def is_scipy(arrays: _Arrays) -> bool:
    """Whether ``scipy.sparse.save_npz`` wrote these arrays."""
    return "format" in arrays


def is_pydata(arrays: _Arrays) -> bool:
    """Whether ``sparse.save_npz`` wrote these arrays."""
    format = arrays.get("format")
    return "fill_value" in arrays or (format is not None and format.tolist() == "gcxs")


def from_scipy(name: str, arrays: _Arrays) -> Tensor:
    """The tensor that ``scipy.sparse.save_npz`` wrote, all compressed; raises UserError."""
    stored = _NamedArrays(name, "a scipy.sparse file", arrays)
    format = arrays["format"]
    code = format.item() if format.size == 1 else None
    code = code.decode("ascii", "replace") if isinstance(code, bytes) else code
    readers = {"csr": _compressed, "csc": _compressed, "coo": _coo, "bsr": _blocks, "dia": _dia}
    if not isinstance(code, str) or code not in readers:
        raise stored.error(
            f"its format is {short(repr(code))}, and not one of {', '.join(readers)}"
        )
    shape = stored.shape()
    if len(shape) != 2 and code != "coo" and not (code == "csr" and len(shape) == 1):
        raise stored.error(f"its shape is {shape}")
    coordinates, values = readers[code](stored, shape, code)
    return stored.tensor(coordinates, values, shape)


def from_pydata(name: str, arrays: _Arrays) -> Tensor:
    """The tensor that ``sparse.save_npz`` wrote, COO or GCXS, all compressed; raises UserError."""
    stored = _NamedArrays(name, "a pydata/sparse file", arrays)
    fill = stored.array("fill_value")
    if fill.size != 1 or fill.dtype.kind not in "biufc":
        raise stored.error("its fill value is not a number")
    require_zero_fill(name, fill.item())
    shape = stored.shape()
    values = stored.array("data", 1)
    if "coords" in arrays:
        return stored.tensor(stored.integers("coords", 2), values, shape)
    columns = stored.integers("indices", 1)
    if len(shape) == 1:
        return stored.tensor(columns.reshape(1, -1), values, shape)
    axes = stored.integers("compressed_axes", 1).tolist()
    if not axes or len(set(axes)) != len(axes) or not set(axes) <= set(range(len(shape))):
        raise stored.error(f"{axes} are not modes of the shape {shape}")
    # A row is a coordinate of the compressed modes taken together, a column one of the others.
    others = [mode for mode in range(len(shape)) if mode not in axes]
    sizes = [[shape[mode] for mode in modes] for modes in (axes, others)]
    row_count, column_count = map(math.prod, sizes)
    rows = stored.rows("indptr", row_count, len(columns))
    columns = columns[: len(rows)]
    stored.require_inside(columns, column_count, "indices")
    coordinates = np.zeros((len(shape), len(rows)), np.int64)
    for modes, extents, flat in ((axes, sizes[0], rows), (others, sizes[1], columns)):
        if len(rows) and modes:
            coordinates[modes] = np.unravel_index(flat, extents)
    return stored.tensor(coordinates, values[: len(rows)], shape)


class _NamedArrays:
    """The arrays of one matrix or tensor, with checks that name the file."""

    def __init__(self, name: str, kind: str, arrays: _Arrays) -> None:
        self._name, self._kind, self._arrays = name, kind, arrays

    def error(self, what: str) -> UserError:
        return UserError(f"{self._name} is not {self._kind}: {what}")

    def array(self, key: str, ndim: int | None = None) -> Any:
        if key not in self._arrays:
            raise self.error(f"it has no array {key}")
        array = self._arrays[key]
        if ndim is not None and array.ndim != ndim:
            raise self.error(f"{key} has the shape {array.shape}, not {ndim} modes")
        return array

    def integers(self, key: str, ndim: int) -> Ints:
        """An array of integers that fit in 64 bits with a sign."""
        array = self.array(key, ndim)
        if array.dtype.kind not in "iu":
            raise self.error(f"{key} is of the type {array.dtype}, not of integers")
        if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
            raise self.error(f"{key} has {array.max()}")
        return array.astype(np.int64, copy=False)

    def shape(self) -> tuple[int, ...]:
        shape = tuple(self.integers("shape", 1).tolist())
        if min(shape, default=0) < 0:
            raise self.error(f"its shape is {shape}")
        return shape

    def rows(self, key: str, count: int, entries: int) -> Ints:
        """The row of each entry, by the offsets under that key."""
        offsets = self.integers(key, 1)
        if len(offsets) != count + 1:
            raise self.error(f"{key} has {len(offsets)} offsets for {count} rows")
        lengths = np.diff(offsets)
        if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any() or offsets[-1] > entries:
            raise self.error(f"{key} does not rise from 0 to at most {entries}")
        return np.repeat(np.arange(count), lengths)

    def require_inside(self, indices: Ints, extent: int, key: str) -> None:
        outside = np.flatnonzero((indices < 0) | (indices >= extent))
        if len(outside):
            n = outside[0]
            raise self.error(f"{key} has {indices[n]} at place {n}, outside the extent {extent}")

    def tensor(self, coordinates: Ints, values: Any, shape: tuple[int, ...]) -> Tensor:
        try:
            return Tensor.from_coo(coordinates, values, shape)
        except UserError as mistake:
            raise mistake.about(self._name) from None


def _compressed(stored: _NamedArrays, shape: tuple[int, ...], code: str) -> tuple[Ints, Any]:
    major, minor = reversed(shape) if code == "csc" else (1, *shape)[-2:]
    indices, values = stored.integers("indices", 1), stored.array("data", 1)
    rows = stored.rows("indptr", major, min(len(indices), len(values)))
    indices, values = indices[: len(rows)], values[: len(rows)]
    stored.require_inside(indices, minor, "indices")
    parts = [indices, rows] if code == "csc" else [rows, indices][-len(shape) :]
    return np.stack(parts), values


def _coo(stored: _NamedArrays, shape: tuple[int, ...], _: str) -> tuple[Ints, Any]:
    values = stored.array("data", 1)
    if "coords" in stored._arrays:
        return stored.integers("coords", 2), values
    rows, columns = stored.integers("row", 1), stored.integers("col", 1)
    if len(rows) != len(columns):
        raise stored.error(f"it has {len(rows)} rows and {len(columns)} columns")
    return np.stack([rows, columns]), values


def _blocks(stored: _NamedArrays, shape: tuple[int, ...], _: str) -> tuple[Ints, Any]:
    values, indices = stored.array("data", 3), stored.integers("indices", 1)
    sizes = values.shape[1:]
    if min(sizes) < 1 or shape[0] % sizes[0] or shape[1] % sizes[1]:
        raise stored.error(f"its shape {shape} is not made of blocks of {sizes}")
    rows = stored.rows("indptr", shape[0] // sizes[0], min(len(indices), len(values)))
    indices, values = indices[: len(rows)], values[: len(rows)]
    stored.require_inside(indices, shape[1] // sizes[1], "indices")
    inside = np.indices(sizes)
    corners = [rows * sizes[0], indices * sizes[1]]
    parts = [(c[:, None, None] + w).reshape(-1) for c, w in zip(corners, inside, strict=True)]
    return np.stack(parts), values.reshape(-1)


def _dia(stored: _NamedArrays, shape: tuple[int, ...], _: str) -> tuple[Ints, Any]:
    values, offsets = stored.array("data", 2), stored.integers("offsets", 1)
    if len(offsets) != len(values) or len(np.unique(offsets)) != len(offsets):
        raise stored.error(f"it has {len(offsets)} offsets for {len(values)} diagonals")
    if values.dtype.kind not in "biufc":
        raise stored.error(f"values of the type {values.dtype} are not numbers")
    # Place k of a diagonal is in column k, and in the row that lies the offset above it.
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    stored.require_inside(offsets + shape[0], shape[0] + shape[1] + 1, "offsets")
    rows = columns - offsets[:, np.newaxis]
    kept = (rows >= 0) & (rows < shape[0]) & (columns < shape[1]) & (values != 0)
    return np.stack([rows[kept], columns[kept]]), values[kept]
