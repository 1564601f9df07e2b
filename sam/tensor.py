"""Tensors in any storage: a shape, an order of the modes, one level per mode, and the values."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sam.foreign_arrays import entries_of
from sam.levels import (
    LEVELS,
    MOST_POSITIONS,
    Compressed,
    CompressedNonUnique,
    Dense,
    Entries,
    Fibers,
    Ints,
    Level,
    Offset,
    Range,
    Singleton,
    held,
    repeats,
)
from sam.support import free_memory
from sam.support.errors import UserError, one_of

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Tensor:
    """A tensor of any number of modes, 0 included, whose storage is a tree of levels.

    ``shape``       the extent of each mode
    ``mode_order``  the mode that each level stores, outermost first
    ``levels``      the storage of each level
    ``values``      one per position of the last level; of length 1 for a scalar

    An entry is a coordinate of the last level with its value, zero or not. Where the last level
    is padded (dense, range, offset), a zero is padding: its entries are the nonzeros. Entries, not
    padding, are what ``to_coo``, ``to_scipy`` and every conversion to another format carry over.
    No two entries have the same coordinates.

    The values are of one of the seven types bool, int32, int64, float32, float64, complex64 and
    complex128; the constructors widen other numbers to the smallest of these that holds them.

    Raises UserError when the parts do not fit together; ``validate`` looks at every coordinate. A
    tensor that is made of its parts is validated once, before an engine reads it; those that the
    constructors and the engines make are sound by construction.
    """

    shape: tuple[int, ...]
    mode_order: tuple[int, ...]
    levels: tuple[Level, ...]
    values: Array

    # What is known of its arrays: whether they are valid, and whether each coordinate has an entry
    # below it. The arrays are not to be changed after that.
    _sound: bool = field(default=False, init=False, compare=False)
    _pruned: bool = field(default=False, init=False, compare=False)

    def __post_init__(self) -> None:
        _check_parts(self)
        _check_mode_order(self.mode_order, len(self.shape))
        if len(self.levels) != self.ndim:
            raise UserError(f"{_count(self.ndim, 'mode')} cannot have {len(self.levels)} levels")
        if self.values.ndim != 1 or len(self.values) != self._positions()[-1]:
            raise UserError(
                f"the levels have {self._positions()[-1]} positions, "
                f"the values have the shape {self.values.shape}"
            )

    @staticmethod
    def of(data: Any, levels: str | None = None, mode_order: Sequence[int] | None = None) -> Tensor:
        """The tensor that ``data`` is: a Tensor, a scipy.sparse matrix or array, a sparse array of
        pydata/sparse or torch, a numpy array, nested lists or a number.

        Without ``levels``: those of a Tensor; compressed for sparse arrays; dense otherwise.
        Raises UserError for anything else, and for values that are no numbers.
        """
        if isinstance(data, Tensor):
            return data.convert(levels, mode_order)
        if is_scipy_sparse(data):
            return Tensor.from_scipy(data, levels, mode_order)
        if (entries := entries_of(data)) is not None:
            return Tensor.from_coo(*entries, levels, mode_order)
        if not isinstance(data, (list, tuple, int, float, complex)) and not hasattr(
            data, "__array__"
        ):
            file = "; sam.io.read reads a file" if isinstance(data, str | PathLike) else ""
            raise UserError(
                f"{type(data).__name__} is not a tensor",
                hint=f"a number, nested lists, a numpy array, scipy.sparse or sam.Tensor{file}",
            )
        try:
            array = np.asanyarray(data)
        except (ValueError, OverflowError) as error:
            raise UserError(f"the nested lists are not a tensor: {error}") from error
        return Tensor.from_numpy(array, levels, mode_order)

    @staticmethod
    def from_numpy(
        array: ArrayLike, levels: str | None = None, mode_order: Sequence[int] | None = None
    ) -> Tensor:
        """The tensor of a dense array; by default all dense, sharing the array where it can.

        Where some level is not dense, only the nonzeros become entries. Raises UserError.
        """
        if np.ma.is_masked(array):
            raise UserError("some values are masked", hint="array.filled(0) has zeros there")
        array = np.asarray(array)
        codes, order = _format(levels, mode_order, array.ndim, "d")
        values = _numbers(array)
        if all(LEVELS[code] is Dense for code in codes):
            dense = tuple(Dense(array.shape[mode]) for mode in order)
            return made(array.shape, order, dense, values.transpose(order).reshape(-1))
        coordinates = np.stack(np.nonzero(values))
        return _store(coordinates, values[tuple(coordinates)], array.shape, codes, order)

    @staticmethod
    def from_scipy(
        matrix: Any, levels: str | None = None, mode_order: Sequence[int] | None = None
    ) -> Tensor:
        """The tensor of a scipy.sparse matrix or array of any format and number of modes.

        All compressed by default. Explicit zeros are kept, duplicates are summed. A canonical CSR
        matrix to ``"ds"``, and a CSC one to ``"ds"`` in the mode order (1, 0), share their arrays
        (index arrays as int64). Raises UserError.
        """
        codes, order = _format(levels, mode_order, len(matrix.shape), "s")
        try:
            if codes in ("ds", "ss", "uq") and has_rows(matrix, _compressed_rows(order)):
                rows = canonical(matrix, _compressed_rows(order))
                return _of_rows(rows, codes, order)
            _require_valid(matrix)
            entries = matrix.tocoo()
        except (ValueError, TypeError) as error:
            raise UserError(f"the scipy.sparse matrix is not valid: {error}") from error
        return Tensor.from_coo(entries.coords, entries.data, matrix.shape, codes, order)

    @staticmethod
    def from_coo(
        coordinates: ArrayLike,
        values: ArrayLike,
        shape: Sequence[int],
        levels: str | None = None,
        mode_order: Sequence[int] | None = None,
    ) -> Tensor:
        """The tensor of a list of entries, in any order; by default all compressed.

        ``coordinates`` is (modes, entries), ``values`` (entries,). Entries at the same
        coordinates are summed; zeros are kept. Raises UserError, which names the first entry
        outside the shape.
        """
        shape = _shape(shape)
        codes, order = _format(levels, mode_order, len(shape), "s")
        values = _numbers(np.asarray(values))
        if values.ndim != 1:
            raise UserError(f"the values must have one dimension, not the shape {values.shape}")
        coordinates = _coordinates(coordinates, values, shape)
        return _store(coordinates, values, shape, codes, order)

    @property
    def ndim(self) -> int:
        """The number of modes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def nnz(self) -> int:
        """How many coordinates have a stored value, zeros included.

        Free places are not counted: the empty buckets of a hash table, and positions of a range or
        offset level that lie outside of the tensor.
        """
        if all(level.compact for level in self.levels):
            return len(self.values)
        return int(np.count_nonzero(held(self.levels, np.arange(len(self.values)))))

    @property
    def format(self) -> str:
        """The format in the format language, as in ``"ds:0,1"``; empty for a scalar."""
        return f"{self._codes}:{','.join(map(str, self.mode_order))}" if self.ndim else ""

    def _repr_svg_(self) -> str:
        """The fibertree that a notebook shows."""
        from sam.fibertree import svg_or_words  # here, as tensors need no drawing

        return svg_or_words(self)

    def __repr__(self) -> str:
        return (
            f"Tensor(shape={self.shape}, format={self.format!r}, "
            f"dtype={self.dtype}, nnz={self.nnz})"
        )

    def _repr_html_(self) -> str:
        from sam.notebook import of_tensor

        return of_tensor(self)

    # What numpy and scipy users expect of an array: all of it by way of theirs.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """``numpy.asarray(tensor)``; raises UserError where the memory does not hold it."""
        array = self.to_numpy()
        return array.astype(dtype) if copy or dtype not in (None, array.dtype) else array

    def toarray(self) -> Array:
        """The dense array, as scipy.sparse calls it."""
        return self.to_numpy()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __eq__(self, other: object) -> Any:
        """Element by element, as numpy has it."""
        return self.to_numpy() == _plain(other)

    def __ne__(self, other: object) -> Any:
        return self.to_numpy() != _plain(other)

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return self._operand() + _operand(other)

    def __radd__(self, other: Any) -> Any:
        return _operand(other) + self._operand()

    def __sub__(self, other: Any) -> Any:
        return self._operand() - _operand(other)

    def __rsub__(self, other: Any) -> Any:
        return _operand(other) - self._operand()

    def __mul__(self, other: Any) -> Any:
        return self._operand() * _operand(other)

    def __rmul__(self, other: Any) -> Any:
        return _operand(other) * self._operand()

    def __truediv__(self, other: Any) -> Any:
        return self._operand() / _operand(other)

    def __matmul__(self, other: Any) -> Any:
        return self._operand() @ _operand(other)

    def __rmatmul__(self, other: Any) -> Any:
        return _operand(other) @ self._operand()

    def __neg__(self) -> Any:
        return -self._operand()

    def __abs__(self) -> Any:
        return abs(self._operand())

    # numpy leaves operators with a Tensor to it.
    __array_ufunc__ = None

    def _operand(self) -> Any:
        """The scipy.sparse array of a matrix that is not dense; else the numpy array."""
        is_dense = all(isinstance(level, Dense) for level in self.levels)
        return self.to_numpy() if is_dense or self.ndim != 2 else self.to_scipy()

    def to_coo(self) -> tuple[Ints, Array]:
        """The entries: coordinates (modes, entries) and values (entries,).

        Modes are numbered as in the shape, and the entries are sorted by the first mode, then by
        the next. The zeros of a padded last level are no entries.
        """
        coordinates, values = self._entries()
        return _sorted(coordinates, values)

    def to_numpy(self) -> Array:
        """The dense array; a view of the values where all levels are dense.

        Raises UserError where it is larger than the memory that is free.
        """
        if all(isinstance(level, Dense) for level in self.levels):
            stored = self.values.reshape([self.shape[mode] for mode in self.mode_order])
            return stored.transpose(np.argsort(self.mode_order).tolist())
        size = math.prod(self.shape) * self.dtype.itemsize
        free_memory.require(size, f"the dense array of shape {self.shape}")
        coordinates, values = self._entries()
        array = np.zeros(self.shape, self.dtype)
        array[tuple(coordinates)] = values
        return array

    def to_scipy(self, format: str = "csr") -> Any:
        """The scipy.sparse array: of ``format`` for two modes, a coo_array for other numbers.

        ``"ds:0,1"`` to CSR and ``"ds:1,0"`` to CSC share the values. Indices have 32 bits if they
        fit, as scipy's own. Raises UserError for a scalar, which scipy.sparse does not have.
        """
        import scipy.sparse

        if self.ndim == 0:
            raise UserError("scipy.sparse has no scalars", hint="to_numpy()")
        if self.ndim == 2 and self._codes == "ds" and format == _compressed_rows(self.mode_order):
            compressed = self.levels[1]
            assert isinstance(compressed, Compressed)
            kind = scipy.sparse.csr_array if format == "csr" else scipy.sparse.csc_array
            fits = max(len(self.values), *self.shape) <= np.iinfo(np.int32).max
            index = np.int32 if fits else np.int64
            stored = (compressed.coordinates, compressed.segments)
            indices = (np.asarray(array).astype(index, copy=False) for array in stored)
            return kind((self.values, *indices), shape=self.shape)
        coordinates, values = self.to_coo()
        entries = scipy.sparse.coo_array((values, tuple(coordinates)), shape=self.shape)
        if self.ndim != 2:
            return entries
        if format in ("csr", "csc", "lil"):
            extent = self.shape[format == "csc"]
            if free_memory.lacks(extent * np.dtype(np.int64).itemsize):
                raise UserError(
                    f"there is no memory for a {format} array of the shape {self.shape}, which has "
                    f"an entry for each of {extent} {'columns' if format == 'csc' else 'rows'}",
                    hint='to_scipy("coo")',
                )
        try:
            return entries.asformat(format)
        except ValueError as error:
            raise UserError(
                f'"{format}" is not a scipy.sparse format', hint=one_of(format, _SCIPY_FORMATS)
            ) from error

    def convert(self, levels: str | None = None, mode_order: Sequence[int] | None = None) -> Tensor:
        """The same entries in another format; what is not given stays as it is.

        Raises UserError where the format cannot hold the entries.
        """
        codes, order = _format(
            levels if levels is not None else self._codes,
            mode_order if mode_order is not None else self.mode_order,
            self.ndim,
            "",
        )
        if (codes, order) == (self._codes, self.mode_order):
            return self
        return self._by_rows(codes, order) or _store(*self._entries(), self.shape, codes, order)

    def arrange(self, levels: str, modes: tuple[tuple[int, ...], ...]) -> Tensor:
        """The storage that a SAM graph asks for (``sam.graph.Slot``): a tensor of its levels.

        Mode k of the result is its level k, and holds this tensor's mode ``modes[k][0]``; where
        ``modes[k]`` has more modes, only the entries stay whose coordinates in all of them agree
        (the diagonal). Every coordinate that the result stores has an entry below it, so that no
        stored fiber below a compressed level is empty; only a padded level stores others. Where
        nothing changes, arrays are shared.

        Raises UserError where modes of a diagonal differ in extent, and where the levels cannot
        hold the entries.
        """
        listed = [mode for group in modes for mode in group]
        _check_mode_order(listed, self.ndim)
        codes, order = _format(levels, None, len(modes), "s")
        shape = tuple(self.shape[group[0]] for group in modes)
        if codes == self._codes and tuple(listed) == self.mode_order and self._is_pruned():
            return made(shape, order, self.levels, self.values, self._pruned)
        if len(modes) == self.ndim == 2:
            by_rows = self._by_rows(codes, tuple(listed))
            if by_rows is not None:
                return made(shape, order, by_rows.levels, by_rows.values, pruned=True)
        coordinates, values = self._entries()
        agree = np.ones(len(values), bool)
        for first, *others in modes:
            for other in others:
                if self.shape[first] != self.shape[other]:
                    raise UserError(
                        f"modes {first} and {other} have no diagonal: their extents are "
                        f"{self.shape[first]} and {self.shape[other]}"
                    )
                agree &= coordinates[first] == coordinates[other]
        kept = coordinates[[group[0] for group in modes]][:, agree]
        return _store(kept, values[agree], shape, codes, order)

    def spread(self, modes: tuple[tuple[int, ...], ...], around: Tensor | None = None) -> Tensor:
        """The tensor that ``arrange`` makes this one of: mode k becomes all of ``modes[k]``.

        Where some ``modes[k]`` has more than one, the entries lie on the diagonal of those. Beside
        them are those of ``around`` that do not: none by default.
        """
        order = [mode for group in modes for mode in group]
        group_of = {mode: k for k, group in enumerate(modes) for mode in group}
        shape = tuple(self.shape[group_of[mode]] for mode in range(len(order)))
        if len(order) == self.ndim:
            stored_in = tuple(order[mode] for mode in self.mode_order)
            return made(shape, stored_in, self.levels, self.values, self._pruned)
        coordinates, values = self._entries()
        coordinates = coordinates[[group_of[mode] for mode in range(len(order))]]
        if around is not None:
            others, old = around._entries()
            off = np.zeros(len(old), bool)
            for first, *rest in modes:
                off |= (others[rest] != others[first]).any(axis=0)
            coordinates = np.concatenate((coordinates, others[:, off]), axis=1)
            values = np.concatenate((values, old[off]))
        return Tensor.from_coo(coordinates, values, shape)

    def scanned_levels(self) -> tuple[Fibers, ...]:
        """The fibers of each level as a scanner of its goes through them.

        Each coordinate comes once and in order. The position that it comes with is one that the
        level below understands: where coordinates repeat (COO), the first position of those that
        agree stands for all of them. Raises UserError where the level below duplicates cannot
        chain the fibers of several positions.
        """
        scanned: list[Fibers] = []
        group_ends = None
        for level in self.levels:
            fibers, group_ends = level.scanned(group_ends)
            scanned.append(fibers)
        return tuple(scanned)

    def blocked(self, sizes: Sequence[int], levels: str | None = None) -> Tensor:
        """The tensor in blocks of the given extents, as one of twice as many modes.

        First come the modes of the blocks, then those within a block: of a matrix in blocks of
        2 x 3, entry (i, j) is at (i // 2, j // 3, i % 2, j % 3). Levels as in ``from_coo``; blocked
        storage is BCSR (``"dsdd"``), CSB (``"dduq"``), mode-generic (``"uqdd"``), and of a vector
        a bit-tree (``"bb"``). Raises UserError.
        """
        if len(sizes) != self.ndim or min(sizes, default=1) < 1:
            raise UserError(
                f"{tuple(sizes)} is no block of {_count(self.ndim, 'mode')}",
                hint="an extent of at least 1 for each mode",
            )
        coordinates, values = self._entries()
        block = np.array(sizes, np.int64).reshape(-1, 1)
        blocks = tuple(-(-n // size) for n, size in zip(self.shape, sizes, strict=True))
        split = np.concatenate((coordinates // block, coordinates % block))
        return Tensor.from_coo(split, values, (*blocks, *sizes), levels)

    def unblocked(self, shape: Sequence[int] | None = None, levels: str | None = None) -> Tensor:
        """The tensor whose ``blocked`` this is, cut to ``shape`` if its blocks go beyond.

        Raises UserError for an odd number of modes, and for an entry outside the shape.
        """
        outer, odd = divmod(self.ndim, 2)
        if odd:
            raise UserError(f"{_count(self.ndim, 'mode')} are no blocks: they come in pairs")
        coordinates, values = self._entries()
        sizes = self.shape[outer:]
        whole = tuple(n * size for n, size in zip(self.shape, sizes, strict=False))
        block = np.array(sizes, np.int64).reshape(-1, 1)
        joined = coordinates[:outer] * block + coordinates[outer:]
        return Tensor.from_coo(joined, values, whole if shape is None else shape, levels)

    def diagonals(self) -> Tensor:
        """A matrix as its diagonals (k, i, j), stored as DIA, ``"dro"``: see ``summed``.

        Diagonal k, from the lowest on, holds the entries with one difference j - i. It is stored
        whole, whatever its entries are (formats paper, Figures 2j and 3c). Raises UserError unless
        there are two modes.
        """
        coordinates, values = self._matrix_entries()
        rows, columns = self.shape
        offsets, diagonal = np.unique(coordinates[1] - coordinates[0], return_inverse=True)
        _require_room((len(offsets), rows, columns), "dro")
        stored = np.zeros(len(offsets) * rows, self.dtype)
        stored[diagonal.reshape(-1) * rows + coordinates[0]] = values
        levels = (
            Dense(len(offsets)),
            Range(rows, np.maximum(0, -offsets), np.minimum(rows, columns - offsets)),
            Offset(columns, rows, offsets),
        )
        return made((len(offsets), rows, columns), (0, 1, 2), levels, stored)

    def ell(self) -> Tensor:
        """A matrix as its slots (s, i, j), stored as ELL, ``"ddq"``: see ``summed``.

        Slot s has entry number s of each row i, so there are as many slots as the longest row has
        entries. A shorter row is filled up with zeros at the column of its last entry, an empty
        one at column 0; these are entries (formats paper, Figure 2i). Raises UserError unless
        there are two modes.
        """
        coordinates, values = _sorted(*self._matrix_entries())
        rows, columns = self.shape
        lengths = np.bincount(coordinates[0], minlength=rows)
        begins = np.cumsum(lengths) - lengths
        slots = int(lengths.max(initial=0))
        _require_room((slots, rows, columns), "ddq")
        slot, row = np.indices((slots, rows)).reshape(2, -1)
        entry = begins[row] + np.minimum(slot, np.maximum(0, lengths[row] - 1))
        column = coordinates[1].take(entry, mode="clip")
        column[lengths[row] == 0] = 0
        stored = values.take(entry, mode="clip")
        stored[slot >= lengths[row]] = 0
        levels = (Dense(slots), Dense(rows), Singleton(column))
        return made((slots, rows, columns), (0, 1, 2), levels, stored)

    def summed(self, mode: int, levels: str | None = None) -> Tensor:
        """The sum over a mode, zeros left out: over mode 0, the matrix of ``diagonals`` or ``ell``.

        Levels as in ``from_coo``. Raises UserError.
        """
        if not 0 <= mode < self.ndim:
            raise UserError(f"{mode} is no mode of {_count(self.ndim, 'mode')}")
        coordinates, values = self._entries()
        others = [other for other in range(self.ndim) if other != mode]
        coordinates, values = _sorted(coordinates[others], values)
        nonzero = np.flatnonzero(values)
        shape = [self.shape[other] for other in others]
        return Tensor.from_coo(coordinates[:, nonzero], values[nonzero], shape, levels)

    def validate(self) -> None:
        """Raises UserError unless every level's arrays fit the shape and each other."""
        if self.values.dtype not in VALUE_TYPES:
            raise UserError(
                f"its values are of the type {self.values.dtype}",
                hint=f"the types of values are {', '.join(t.name for t in VALUE_TYPES)}",
            )
        for n, (level, parents) in enumerate(zip(self.levels, self._positions(), strict=False)):
            try:
                level.validate(parents, self.shape[self.mode_order[n]], self.levels[:n])
            except UserError as error:
                raise UserError(f"level {n} ({level.name}) is not valid: {error}") from error
        self.scanned_levels()
        coordinates, _ = self._entries()
        stored = coordinates[list(self.mode_order)]
        in_order = all(level.ordered and not level.appends_anywhere for level in self.levels)
        if not in_order and self.ndim:
            stored = stored[:, np.lexsort(stored[::-1])]
        if not _increases(stored):
            raise UserError("its entries are not in order, or two have the same coordinates")

    def validated(self) -> Tensor:
        """The tensor itself, validated if it is not known to be valid; raises UserError."""
        if not self._sound:
            self.validate()
            object.__setattr__(self, "_sound", True)
        return self

    @property
    def _codes(self) -> str:
        return "".join(level.code for level in self.levels)

    def _positions(self) -> list[int]:
        """The number of positions of the root and of each level."""
        positions = [1]
        for level in self.levels:
            positions.append(level.positions(positions[-1]))
        return positions

    def _entries(self) -> tuple[Ints, Array]:
        """The entries in storage order, with coordinates (modes, entries)."""
        padded = self.ndim > 0 and self.levels[-1].padded
        positions = np.flatnonzero(self.values) if padded else np.arange(len(self.values))
        if not all(level.compact for level in self.levels):
            positions = positions[held(self.levels, positions)]
        values = self.values if len(positions) == len(self.values) else self.values[positions]
        coordinates = np.empty((self.ndim, len(values)), np.int64)
        for level, mode in zip(reversed(self.levels), reversed(self.mode_order), strict=True):
            positions, coordinates[mode] = level.trace(positions)
        return coordinates, values

    def _by_rows(self, codes: str, order: tuple[int, ...]) -> Tensor | None:
        """The same entries in another format of a matrix by rows, where scipy converts it fast."""
        import scipy.sparse

        if not {codes, self._codes} <= {"ds", "ss", "uq"}:
            return None
        rows = self.shape[self.mode_order[0]]
        if max(self.shape) > 4 * len(self.values) + 2**16:
            return None
        outer, inner = self.levels
        assert isinstance(inner, Compressed | Singleton)
        if isinstance(outer, Dense):
            assert isinstance(inner, Compressed)
            segments = np.asarray(inner.segments)
        else:
            assert isinstance(outer, Compressed)
            lengths = None if isinstance(inner, Singleton) else np.diff(inner.segments)
            segments = np.zeros(rows + 1, np.int64)
            counts = np.bincount(outer.coordinates, lengths, rows)
            np.cumsum(counts.astype(np.int64), out=segments[1:])
        make = scipy.sparse.csr_array if self.mode_order == (0, 1) else scipy.sparse.csc_array
        matrix = make((self.values, np.asarray(inner.coordinates), segments), shape=self.shape)
        matrix.has_canonical_format = True
        return _of_rows(canonical(matrix, _compressed_rows(order)), codes, order)

    def _matrix_entries(self) -> tuple[Ints, Array]:
        if self.ndim != 2:
            raise UserError(f"a tensor of {_count(self.ndim, 'mode')} is no matrix")
        return self._entries()

    def _is_pruned(self) -> bool:
        """Whether every coordinate has one of the last level below it, padded levels aside."""
        if self._pruned or all(level.padded for level in self.levels):
            return True
        counts = self._positions()
        occupied = held(self.levels, np.arange(counts[-1]))
        for n in reversed(range(self.ndim)):
            level = self.levels[n]
            if not level.padded and not (occupied | ~level.holds(np.arange(counts[n + 1]))).all():
                return False
            if all(above.padded for above in self.levels[:n]):
                return True
            parents, _ = level.trace(np.flatnonzero(occupied))
            occupied = np.zeros(counts[n], bool)
            occupied[parents] = True
        return True


def _operand(other: Any) -> Any:
    return other._operand() if isinstance(other, Tensor) else other


def _plain(other: Any) -> Any:
    """Something as numpy compares it."""
    if is_scipy_sparse(other):
        return other.toarray()
    return other.to_numpy() if isinstance(other, Tensor) else other


def is_scipy_sparse(data: Any) -> bool:
    """Whether something is a scipy.sparse matrix or array; what nobody has imported, it is not."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(data))


def made(
    shape: tuple[int, ...],
    mode_order: tuple[int, ...],
    levels: tuple[Level, ...],
    values: Array,
    pruned: bool = False,
) -> Tensor:
    """A tensor whose parts are valid by construction: nothing is checked.

    ``pruned``  whether each coordinate of theirs has an entry below it
    """
    tensor = object.__new__(Tensor)
    tensor.__dict__.update(
        shape=shape,
        mode_order=mode_order,
        levels=levels,
        values=values,
        _sound=True,
        _pruned=pruned,
    )
    return tensor


_SCIPY_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")

# The types of values, by the kind of numpy type that widens to them.
_TYPES = {
    "b": ("bool",),
    "i": ("int32", "int64"),
    "u": ("int32", "int64"),
    "f": ("float32", "float64"),
    "c": ("complex64", "complex128"),
}
VALUE_TYPES = tuple(dict.fromkeys(np.dtype(name) for names in _TYPES.values() for name in names))


def _store(
    coordinates: Ints, values: Array, shape: tuple[int, ...], codes: str, order: tuple[int, ...]
) -> Tensor:
    """The tensor of entries in any order, whose coordinates are in range."""
    if order != tuple(range(len(order))):
        coordinates = coordinates[list(order)]
    coordinates, values = _sorted(coordinates, values)
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
                # A hash table goes round from its end to its begin; the level below goes by it.
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
        raise _too_large(shape, codes) from error
    except UserError as error:
        raise UserError(error.what, source=codes, span=(n, n + 1)) from error
    return made(shape, order, tuple(levels), values, pruned=True)


# What the segments of a level take for each position above it, and their counts while it is built.
_BUILT_BYTES = 16


def _chains(coordinates: Ints, codes: str, n: int) -> Ints | None:
    """The chain that each sorted entry is in, for level n (``Entries.chain``)."""
    if LEVELS[codes[n]].unique:
        return None
    end = n + 1 + repeats(codes)[n]
    starts = (np.diff(coordinates[:end]) != 0).any(axis=0)
    return np.concatenate(([0], np.cumsum(starts)))[: coordinates.shape[1]]


def _require_room(shape: tuple[int, int, int], codes: str) -> None:
    """Raises UserError where a position for each coordinate of the first two modes is too much."""
    if shape[0] * shape[1] > MOST_POSITIONS:
        raise _too_large(shape, codes)


def _too_large(shape: tuple[int, ...], codes: str) -> UserError:
    return UserError(
        f'a tensor of the shape {shape} is too large for "{codes}"', hint="compressed levels"
    )


def no_memory(result: str, extents: Sequence[int], form: str, hint: str | None = None) -> UserError:
    """The error for a result that the memory does not hold in its format."""
    size = " x ".join(map(str, extents))
    return UserError(
        f"there is no memory for {result}, which is {size}, stored as {form}", hint=hint
    )


def _sorted(coordinates: Ints, values: Array) -> tuple[Ints, Array]:
    """The entries sorted by the first row of the coordinates, then the next, equal ones summed."""
    if _increases(coordinates):
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


def _increases(coordinates: Ints) -> bool:
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


def _format(
    levels: str | None, mode_order: Sequence[int] | None, ndim: int, default: str
) -> tuple[str, tuple[int, ...]]:
    """The level codes and the mode order, checked, with defaults filled in."""
    codes = default * ndim if levels is None else levels
    for n, code in enumerate(codes):
        if code not in LEVELS:
            raise UserError(
                f'"{code}" is not a level format',
                source=codes,
                span=(n, n + 1),
                hint="one of " + ", ".join(f"{c} ({LEVELS[c].name})" for c in LEVELS),
            )
    if len(codes) != ndim:
        raise UserError(
            f'the format "{codes}" has {_count(len(codes), "level")}, '
            f"the tensor has {_count(ndim, 'mode')}"
        )
    if mode_order is None:
        return codes, tuple(range(ndim))
    _check_mode_order(mode_order, ndim)
    return codes, tuple(int(mode) for mode in mode_order)


def _check_mode_order(mode_order: Sequence[int], ndim: int) -> None:
    if sorted(mode_order) != list(range(ndim)):
        raise UserError(
            f"{tuple(mode_order)} is not an order of {_count(ndim, 'mode')}",
            hint="each mode once, counted from 0",
        )


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(size) for size in shape)
    except TypeError as error:
        raise UserError(f"{tuple(shape)} is not a shape: extents are whole numbers") from error
    if min(extents, default=0) < 0:
        raise UserError(f"{extents} is not a shape: extents are at least 0")
    return extents


def _coordinates(coordinates: ArrayLike, values: Array, shape: tuple[int, ...]) -> Ints:
    """The coordinates as an int64 array (modes, entries); raises UserError at the first bad one."""
    array = np.asarray(coordinates)
    if array.size == 0 and len(values) * len(shape) == 0:
        array = np.zeros((len(shape), len(values)), np.int64)
    if array.shape != (len(shape), len(values)) or array.dtype.kind not in "iu":
        raise UserError(
            f"the coordinates must be integers of the shape {(len(shape), len(values))}, "
            f"not {array.dtype} of the shape {array.shape}"
        )
    if not shape:
        return array
    lies_inside = len(values) == 0 or all(
        row.min() >= 0 and row.max() < extent for row, extent in zip(array, shape, strict=True)
    )
    if not lies_inside:
        outside = (array < 0) | (array >= np.array(shape)[:, np.newaxis])
        entry = np.flatnonzero(outside.any(axis=0))[0]
        mode = np.flatnonzero(outside[:, entry])[0]
        raise UserError(
            f"entry {entry} at {tuple(array[:, entry].tolist())} is outside the shape {shape}: "
            f"mode {mode} has the extent {shape[mode]}"
        )
    return array.astype(np.int64, copy=False)


def _check_parts(tensor: Tensor) -> None:
    """Raises UserError unless the parts of a tensor are of the kinds that they are declared as."""
    whole = all(isinstance(extent, int | np.integer) and extent >= 0 for extent in tensor.shape)
    if not whole:
        raise UserError(f"{tensor.shape} is no shape", hint="whole numbers of at least 0")
    for level in tensor.levels:
        if not isinstance(level, Level):
            raise UserError(f"{type(level).__name__} is no level", hint="as in sam.levels.Dense(5)")
        for part in fields(level):
            _check_part(level, part.name, getattr(level, part.name), part.type == "int")
    if not isinstance(tensor.values, np.ndarray):
        raise UserError(f"the values are {type(tensor.values).__name__}, not a numpy array")


def _check_part(level: Level, name: str, part: Any, is_number: bool) -> None:
    if is_number:
        if not isinstance(part, int | np.integer) or part < 0:
            raise UserError(f"the {name} of a {level.name} level is {part!r}, not a whole number")
        return
    array = np.asarray(part)
    if array.ndim != 1:
        raise UserError(f"the {name} of a {level.name} level have the shape {array.shape}")
    wanted = np.uint64 if name == "words" else np.int64
    if array.size and (array.dtype.kind not in "iu" or not np.can_cast(array.dtype, wanted)):
        raise UserError(
            f"the {name} of a {level.name} level are of the type {array.dtype}, "
            f"not {np.dtype(wanted)}"
        )


def _numbers(values: Array) -> Array:
    """The values in one of the seven types; raises UserError."""
    if values.dtype.kind == "O" and all(isinstance(value, int) for value in values.flat):
        raise UserError(f"the value {max(values.flat, key=abs)} does not fit in 64 bits")
    if values.dtype.kind not in _TYPES:
        raise UserError(f"values of the type {values.dtype} are not numbers")
    if values.dtype == np.uint64 and (values > np.iinfo(np.int64).max).any():
        raise UserError(f"the value {values.max()} does not fit in 64 bits with a sign")
    types = _TYPES[values.dtype.kind]
    wide_enough = (name for name in types if np.can_cast(values.dtype, name))
    return values.astype(next(wide_enough, types[-1]), copy=False)


def has_rows(matrix: Any, format: str) -> bool:
    """Whether a scipy.sparse matrix is "csr" or "csc", or has not many more rows than entries."""
    extent = int(matrix.shape[0 if format == "csr" else 1])
    return matrix.format == format or extent <= 4 * matrix.nnz + 2**16


def canonical(matrix: Any, format: str) -> Any:
    """A scipy.sparse matrix as "csr" or "csc", each row in order and without duplicates.

    It is the matrix itself if that is so. Raises ValueError for one that is not valid.
    """
    _require_valid(matrix)
    found = matrix if matrix.format == format else matrix.asformat(format)
    if not found.has_canonical_format:
        found = found.copy() if found is matrix else found
        found.sum_duplicates()
    if found.indptr.dtype != found.indices.dtype:
        parts = found.data, found.indices.astype(np.int64), found.indptr.astype(np.int64)
        found = type(found)(parts, shape=found.shape)
    return found


def _require_valid(matrix: Any) -> None:
    """Raises ValueError for an index that scipy's own code would follow out of an array."""
    if matrix.format in ("csr", "csc"):
        major, minor = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        segments, coordinates = matrix.indptr, matrix.indices
        valid = (
            len(segments) == major + 1
            and segments[0] == 0
            and segments[-1] <= len(coordinates) == len(matrix.data)
            and bool((segments[1:] >= segments[:-1]).all())
            and _are_inside(coordinates[: segments[-1]], minor)
        )
    elif matrix.format == "coo":
        valid = all(
            len(coordinates) == len(matrix.data) and _are_inside(coordinates, extent)
            for coordinates, extent in zip(matrix.coords, matrix.shape, strict=True)
        )
    else:
        valid = not hasattr(matrix, "check_format")
    if not valid:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        if matrix.format in ("csr", "csc", "coo"):
            raise ValueError("its indices do not fit its shape")


def _are_inside(indices: Any, extent: int) -> bool:
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < extent)


def _of_rows(matrix: Any, codes: str, order: tuple[int, ...]) -> Tensor:
    """The tensor of a canonical CSR or CSC matrix: all of its rows, or those that have entries."""
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
    return made(matrix.shape, order, levels, _numbers(matrix.data[:count]), pruned=True)


def _compressed_rows(order: tuple[int, ...]) -> str:
    """The scipy format whose arrays are those of ``"ds"`` in this mode order."""
    return "csr" if order == (0, 1) else "csc"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
