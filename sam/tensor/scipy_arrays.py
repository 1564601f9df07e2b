"""Matrices of scipy.sparse: their checks, their rows as levels, and levels as their rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, wraps
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sam.levels import Compressed, CompressedNonUnique, Dense, Ints, Level, Singleton, rising
from sam.support import free_memory
from sam.support.errors import UserError, one_of
from sam.tensor.arguments import numbers

Array = NDArray[Any]
Result = TypeVar("Result")
BY_ROWS = ("ds", "ss", "uq")
"""The levels of matrices whose rows scipy's CSR and CSC arrays have."""

_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def is_scipy_sparse(data: Any) -> bool:
    """Whether ``data`` is a scipy.sparse matrix or array, without importing scipy.sparse."""
    return _is_sparse(data.__class__)


@cache
def _is_sparse(kind: type) -> bool:
    sparse = sys.modules.get("scipy.sparse")  # where it is not there, no class is of it
    return sparse is not None and issubclass(kind, sparse.sparray | sparse.spmatrix)


def format_of_rows(order: tuple[int, ...]) -> str:
    """The scipy format whose arrays are those of ``"ds"`` in this mode order."""
    return "csr" if order == (0, 1) else "csc"


def has_rows(matrix: Any, format: str) -> bool:
    """Whether a scipy.sparse matrix is "csr" or "csc", or has not many more rows than entries."""
    if matrix.format == format:
        return True
    return are_few(matrix.shape[0 if format == "csr" else 1], matrix.nnz)


def are_few(rows: int, entries: int) -> bool:
    """Whether rows are not many more than entries, so that all of them may be gone through."""
    return rows <= 4 * entries + 2**16


def _in_words(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function whose errors about the parts of a matrix are one UserError."""

    @wraps(function)
    def told(*arguments: Any) -> Result:
        try:
            return function(*arguments)
        except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
            raise UserError(f"the scipy.sparse matrix is not valid: {error}") from error

    return told


@_in_words
def canonical(matrix: Any, format: str) -> Any:
    """A scipy.sparse matrix as "csr" or "csc", each row in order and without duplicates, with
    indices of one type, int32 or int64.

    A matrix that is so already is given as it is. Raises UserError for an invalid matrix.
    """
    _require_valid(matrix)
    rows = _with_one_index_type(matrix) if matrix.format in ("csr", "csc") else matrix
    found = rows if rows.format == format else rows.asformat(format)
    if not _is_in_order(found):
        found = found.copy() if found is rows else found
        found.has_canonical_format = found.has_sorted_indices = False
        found.sum_duplicates()
    return found


def _with_one_index_type(matrix: Any) -> Any:
    """A CSR or CSC matrix whose indices are all int32 or all int64."""
    index = matrix.indices.dtype
    if index == matrix.indptr.dtype and index in (np.int32, np.int64):
        return matrix
    parts = matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return type(matrix)(parts, shape=matrix.shape)


def _is_in_order(matrix: Any) -> bool:
    """Whether the rows of a valid CSR or CSC matrix are in order and without duplicates, whatever
    its flags say: they stay as they are where somebody changes its arrays."""
    count = int(matrix.indptr[-1])
    return bool(rising(matrix.indptr, matrix.indices[:count]).all())


@_in_words
def entries_of(matrix: Any) -> tuple[Any, Array]:
    """The coordinates of the entries and their values. Raises UserError for a matrix that is not
    valid."""
    _require_valid(matrix)
    entries = matrix.tocoo()
    return entries.coords, entries.data


def _require_valid(matrix: Any) -> None:
    """Raises ValueError for indices that would make scipy's own code read outside of an array."""
    if matrix.format in ("csr", "csc"):
        sizes = matrix.shape if matrix.ndim == 2 else (1, *matrix.shape)
        major, minor = sizes if matrix.format == "csr" else sizes[::-1]
        segments, coordinates = matrix.indptr, matrix.indices
        valid = (
            segments.dtype.kind in "iu"
            and coordinates.dtype.kind in "iu"
            and len(segments) == major + 1
            and segments[0] == 0
            and segments[-1] <= len(coordinates) == len(matrix.data)
            and not np.count_nonzero(segments[1:] < segments[:-1])
            and _are_inside(coordinates[: segments[-1]], minor)
        )
    elif matrix.format == "coo":
        valid = all(
            len(coordinates) == len(matrix.data) and _are_inside(coordinates, extent)
            for coordinates, extent in zip(matrix.coords, matrix.shape, strict=True)
        )
    elif matrix.format == "dia":
        offsets = matrix.offsets
        valid = matrix.data.ndim == 2 and offsets.shape == matrix.data.shape[:1]
        valid = valid and len(np.unique(offsets)) == len(offsets)
    elif matrix.format == "lil":
        lengths, columns = list(map(len, matrix.rows)), chain.from_iterable(matrix.rows)
        valid = len(lengths) == matrix.shape[0] and lengths == list(map(len, matrix.data))
        valid = valid and _are_inside(np.fromiter(columns, np.int64), matrix.shape[1])
    else:
        valid = not hasattr(matrix, "check_format")
    if not valid:
        if hasattr(matrix, "check_format"):
            copy(matrix).check_format(full_check=True)  # which replaces arrays of its matrix
        if matrix.format != "bsr":
            raise ValueError("its indices do not fit its shape")


def _are_inside(indices: Any, extent: int) -> bool:
    """Whether indices are at least 0, and below an extent."""
    if len(indices) == 0:
        return True
    if indices.dtype.kind == "i":  # as unsigned numbers, those below 0 are the largest
        unsigned = indices.view(indices.dtype.str.replace("i", "u"))
        return bool(np.maximum.reduce(unsigned) < extent)
    return bool(indices.min() >= 0 and indices.max() < extent)


def rows_as_levels(matrix: Any, codes: str) -> tuple[tuple[Level, ...], Array]:
    """The levels and values of a canonical CSR or CSC matrix, of all rows or those with entries."""
    count = int(matrix.indptr[-1])
    segments, coordinates = (
        array.astype(np.int64, copy=False) for array in (matrix.indptr, matrix.indices[:count])
    )
    lengths = np.diff(segments)
    rows = np.flatnonzero(lengths)
    levels: tuple[Level, ...]
    if codes == "ds":
        levels = (Dense(len(lengths)), Compressed(segments, coordinates))
    elif codes == "ss":
        used = np.append(segments[rows], count)
        levels = (Compressed(np.array([0, len(rows)]), rows), Compressed(used, coordinates))
    else:
        rows = np.repeat(rows, lengths[rows])
        levels = (CompressedNonUnique(np.array([0, count]), rows), Singleton(coordinates))
    return levels, numbers(matrix.data[:count])


def levels_as_rows(
    levels: Sequence[Level], order: tuple[int, ...], values: Array, shape: tuple[int, ...]
) -> Any:
    """The CSR or CSC array of a matrix with levels ``BY_ROWS``, with indices of 32 bits if they
    fit; None where it has too many rows. What is stored alike is shared."""
    import scipy.sparse

    outer, inner = levels
    assert isinstance(inner, Compressed | Singleton)
    index = _index_type(len(values), shape)
    if isinstance(outer, Dense):
        assert isinstance(inner, Compressed)
        segments = np.asarray(inner.segments)
    else:
        assert isinstance(outer, Compressed)
        rows = shape[order[0]]
        if not are_few(rows, len(values)):
            return None
        lengths = None if isinstance(inner, Singleton) else np.diff(inner.segments)
        segments = np.zeros(rows + 1, index)
        np.cumsum(np.bincount(outer.coordinates, lengths, rows).astype(index), out=segments[1:])
    make = scipy.sparse.csr_array if order == (0, 1) else scipy.sparse.csc_array
    indices = (np.asarray(one).astype(index, copy=False) for one in (inner.coordinates, segments))
    matrix = make((values, *indices), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def _index_type(count: int, shape: tuple[int, ...]) -> type[np.signedinteger[Any]]:
    """The type of the indices of a scipy.sparse array of so many entries, as scipy's own."""
    return np.int32 if max(count, *shape) <= np.iinfo(np.int32).max else np.int64


def of_entries(coordinates: Ints, values: Array, shape: tuple[int, ...], format: str) -> Any:
    """The scipy.sparse array of entries: in ``format`` for two modes, else a coo_array."""
    import scipy.sparse

    index = _index_type(len(values), shape)
    entries = scipy.sparse.coo_array((values, tuple(coordinates.astype(index))), shape=shape)
    return entries if len(shape) != 2 else converted(entries, format)


def converted(matrix: Any, format: str) -> Any:
    """A matrix of scipy.sparse in another format. Raises UserError where scipy has no such format,
    and where there is no memory for it."""
    if format in ("csr", "csc", "lil"):
        extent = matrix.shape[format == "csc"]
        if free_memory.lacks(extent * np.dtype(np.int64).itemsize):
            raise UserError(
                f"there is no memory for a {format} array of the shape {matrix.shape}, which has "
                f"an entry for each of {extent} {'columns' if format == 'csc' else 'rows'}",
                hint='to_scipy("coo")',
            )
    try:
        return matrix.asformat(format)
    except ValueError as error:
        raise UserError(
            f'"{format}" is not a scipy.sparse format', hint=one_of(format, _FORMATS)
        ) from error
