"""Tensors in any storage: a shape, an order of the modes, one level per mode, and the values."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sam.foreign_arrays import dense_of, entries_of
from sam.levels import LEVELS, Dense, Fibers, Ints, Level, held
from sam.support import free_memory
from sam.support.errors import UserError
from sam.tensor import layouts, scipy_arrays
from sam.tensor.arguments import (
    VALUE_TYPES,
    checked_coordinates,
    checked_format,
    checked_shape,
    counted,
    narrowed,
    numbers,
    plain,
    require_mode_order,
    require_parts,
    widened,
)
from sam.tensor.arrangement import diagonal, off_diagonal
from sam.tensor.operators import ArrayOperators
from sam.tensor.scipy_arrays import (
    BY_ROWS,
    canonical,
    converted,
    format_of_rows,
    has_rows,
    is_scipy_sparse,
    levels_as_rows,
    of_entries,
    rows_as_levels,
)
from sam.tensor.sorting import increase, sorted_entries
from sam.tensor.storing import are_pruned, listed, positions, stored

Array = NDArray[Any]

_FEW = 2**18
"""Up to this many entries are sorted in less time than scipy takes to load."""


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(ArrayOperators):
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
    tensor that is made of its parts is validated once, before anything reads it; those that the
    constructors and the engines make are sound by construction. The arrays of its levels must not
    be changed after that, the values may be.
    """

    shape: tuple[int, ...]
    mode_order: tuple[int, ...]
    levels: tuple[Level, ...]
    values: Array

    # Known facts of the arrays: whether they are valid, and whether each coordinate has an entry
    # below it. The arrays must not be changed after that.
    _sound: bool = field(default=False, init=False, compare=False)
    _pruned: bool = field(default=False, init=False, compare=False)

    def __post_init__(self) -> None:
        require_parts(self.shape, self.levels, self.values)
        require_mode_order(self.mode_order, len(self.shape))
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))
        object.__setattr__(self, "mode_order", tuple(map(int, self.mode_order)))
        object.__setattr__(self, "levels", tuple(map(plain, self.levels)))
        if len(self.levels) != self.ndim:
            raise UserError(f"{counted(self.ndim, 'mode')} cannot have {len(self.levels)} levels")
        if self.values.ndim != 1 or len(self.values) != positions(self.levels)[-1]:
            raise UserError(
                f"the levels have {positions(self.levels)[-1]} positions, "
                f"the values have the shape {self.values.shape}"
            )

    @staticmethod
    def of(data: Any, levels: str | None = None, mode_order: Sequence[int] | None = None) -> Tensor:
        """The tensor that ``data`` is: a Tensor, a scipy.sparse matrix or array, a sparse array of
        pydata/sparse or torch, a numpy array, nested lists or a number.

        Without ``levels``: a Tensor keeps its own; sparse arrays are compressed, others dense.
        Raises UserError for anything else, and for values that are no numbers.
        """
        if isinstance(data, Tensor):
            asked = levels is not None or mode_order is not None
            return data.convert(levels, mode_order) if asked else data
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
            array = np.asanyarray(dense_of(data))
        except (ValueError, OverflowError) as error:
            raise UserError(f"the nested lists are not a tensor: {error}") from error
        except (TypeError, RuntimeError) as error:  # an array that numpy may not have
            raise UserError(f"{type(data).__name__} is not a tensor: {error}") from error
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
        codes, order = checked_format(levels, mode_order, array.ndim, "d")
        values = numbers(array)
        if all(LEVELS[code] is Dense for code in codes):
            dense = tuple(Dense(array.shape[mode]) for mode in order)
            return made(array.shape, order, dense, values.transpose(order).reshape(-1))
        coordinates = np.stack(np.nonzero(values))
        return _stored(coordinates, values[tuple(coordinates)], array.shape, codes, order)

    @staticmethod
    def from_scipy(
        matrix: Any, levels: str | None = None, mode_order: Sequence[int] | None = None
    ) -> Tensor:
        """The tensor of a scipy.sparse matrix or array of any format and number of modes.

        All compressed by default. Explicit zeros are kept, duplicates are summed. A canonical CSR
        matrix to ``"ds"``, and a CSC one to ``"ds"`` in the mode order (1, 0), share their arrays
        (index arrays as int64). Raises UserError.
        """
        codes, order = checked_format(levels, mode_order, len(matrix.shape), "s")
        if codes in BY_ROWS and has_rows(matrix, format_of_rows(order)):
            return _of_rows(matrix, codes, order)
        return Tensor.from_coo(*scipy_arrays.entries_of(matrix), matrix.shape, codes, order)

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
        shape = checked_shape(shape)
        codes, order = checked_format(levels, mode_order, len(shape), "s")
        values = numbers(np.asarray(values))
        if values.ndim != 1:
            raise UserError(f"the values must have one dimension, not the shape {values.shape}")
        coordinates = checked_coordinates(coordinates, values, shape)
        return _stored(coordinates, values, shape, codes, order)

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
        if all(level.compact for level in self._as_made):
            return len(self.values)
        return int(np.count_nonzero(held(self.validated().levels, np.arange(len(self.values)))))

    @property
    def format(self) -> str:
        """The format in the format language, as in ``"ds:0,1"``; empty for a scalar."""
        return f"{self._codes}:{','.join(map(str, self.mode_order))}" if self.ndim else ""

    def _repr_svg_(self) -> str:
        """The fibertree that a notebook shows."""
        from sam.fibertree import svg_or_words  # here, as tensors need no drawing

        return svg_or_words(self.validated())

    def __repr__(self) -> str:
        compact = all(level.compact for level in self._as_made)
        entries = f"nnz={self.nnz}" if self._sound or compact else "not validated"
        return f"Tensor(shape={self.shape}, format={self.format!r}, dtype={self.dtype}, {entries})"

    def _repr_html_(self) -> str:
        from sam.notebook import of_tensor

        return of_tensor(self.validated())

    def operand(self) -> Any:
        """The scipy.sparse array of a matrix that is not dense; else the numpy array."""
        is_dense = all(isinstance(level, Dense) for level in self.levels)
        return self.to_numpy() if is_dense or self.ndim != 2 else self.to_scipy()

    def to_coo(self) -> tuple[Ints, Array]:
        """The entries: coordinates (modes, entries) and values (entries,).

        Modes are numbered as in the shape, and the entries are sorted by the first mode, then by
        the next. The zeros of a padded last level are no entries.
        """
        coordinates, values = self._entries()
        return sorted_entries(coordinates, values)

    def to_numpy(self) -> Array:
        """The dense array; a view of the values where all levels are dense.

        Raises UserError for a tensor that is not valid, and where it is larger than the memory that
        is free.
        """
        if all(isinstance(level, Dense) for level in self.levels):
            stored = self.validated().values.reshape([self.shape[mode] for mode in self.mode_order])
            return stored.transpose(np.argsort(self.mode_order).tolist())
        size = math.prod(self.shape) * self.dtype.itemsize
        free_memory.require(size, f"the dense array of shape {self.shape}")
        coordinates, values = self._entries()
        array = np.zeros(self.shape, self.dtype)
        array[tuple(coordinates)] = values
        return array

    def to_scipy(self, format: str = "csr") -> Any:
        """The scipy.sparse array: of ``format`` for two modes, a coo_array for other numbers.

        ``"ds:0,1"`` to CSR and ``"ds:1,0"`` to CSC share the values, and indices that a kernel has
        made with 32 bits. Indices have 32 bits if they fit, as scipy's own. Raises UserError for a
        scalar, which scipy.sparse does not have, and for a tensor that is not valid.
        """
        if self.ndim == 0:
            raise UserError("scipy.sparse has no scalars", hint="to_numpy()")
        if self._codes in BY_ROWS and format != "coo":
            levels = self.validated()._as_made
            rows = levels_as_rows(levels, self.mode_order, self.values, self.shape)
            if rows is not None:
                return converted(rows, format)
        return of_entries(*self.to_coo(), self.shape, format)

    def convert(self, levels: str | None = None, mode_order: Sequence[int] | None = None) -> Tensor:
        """The tensor in another format; levels or order that are not given stay.

        Raises UserError where the format cannot hold the entries.
        """
        codes, order = checked_format(
            levels if levels is not None else self._codes,
            mode_order if mode_order is not None else self.mode_order,
            self.ndim,
            "",
        )
        if (codes, order) == (self._codes, self.mode_order):
            return self
        by_rows = self._by_rows(codes, order)
        if by_rows is not None:
            return by_rows
        return _stored(*self._entries(), self.shape, codes, order)

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
        require_mode_order(listed, self.ndim)
        codes, order = checked_format(levels, None, len(modes), "s")
        shape = tuple(self.shape[group[0]] for group in modes)
        if self.is_arranged(codes, tuple(listed)):
            return made(shape, order, self.levels, self.values, self._pruned)
        if len(modes) == self.ndim == 2:
            by_rows = self._by_rows(codes, tuple(listed))
            if by_rows is not None:
                return made(shape, order, by_rows.levels, by_rows.values, pruned=True)
        coordinates, values = diagonal(*self._entries(), self.shape, modes)
        return _stored(coordinates, values, shape, codes, order)

    def is_arranged(self, levels: str, order: tuple[int, ...]) -> bool:
        """Whether ``arrange`` changes nothing, for levels that hold one mode each."""
        return levels == self._codes and order == self.mode_order and self._is_pruned()

    @cached_property
    def narrow_levels(self) -> tuple[Level, ...]:
        """The levels as kernels read them: with indices of 32 bits if extents and positions fit."""
        return narrowed(self.validated()._as_made, (len(self.values), *self.shape))

    def spread(self, modes: tuple[tuple[int, ...], ...], around: Tensor | None = None) -> Tensor:
        """The inverse of ``arrange``: mode k becomes all of ``modes[k]``.

        Where some ``modes[k]`` has more than one mode, the entries lie on the diagonal of those
        modes. Entries of ``around`` off that diagonal are added: none by default.
        """
        order = [mode for group in modes for mode in group]
        group_of = {mode: k for k, group in enumerate(modes) for mode in group}
        shape = tuple(self.shape[group_of[mode]] for mode in range(len(order)))
        if len(order) == self.ndim:
            self.validated()
            stored_in = tuple(order[mode] for mode in self.mode_order)
            return made(shape, stored_in, self.levels, self.values, self._pruned)
        coordinates, values = self._entries()
        coordinates = coordinates[[group_of[mode] for mode in range(len(order))]]
        if around is not None:
            others, old = off_diagonal(*around._entries(), modes)
            coordinates = np.concatenate((coordinates, others), axis=1)
            values = np.concatenate((values, old))
        return Tensor.from_coo(coordinates, values, shape)

    def scanned_levels(self) -> tuple[Fibers, ...]:
        """The fibers of each level, in the form that its scanner goes through.

        Each coordinate comes once and in order. Its position is one that the level below
        understands: where coordinates repeat (COO), the first position of those that agree stands
        for all of them. Raises UserError where the level below duplicates cannot chain the fibers
        of several positions.
        """
        return _scanned(self.validated().levels)

    def blocked(self, sizes: Sequence[int], levels: str | None = None) -> Tensor:
        """The tensor in blocks of the given extents, as one of twice as many modes.

        First come the modes of the blocks, then those within a block: of a matrix in blocks of
        2 x 3, entry (i, j) is at (i // 2, j // 3, i % 2, j % 3). Levels as in ``from_coo``; blocked
        storage is BCSR (``"dsdd"``), CSB (``"dduq"``), mode-generic (``"uqdd"``), and of a vector
        a bit-tree (``"bb"``). Raises UserError.
        """
        coordinates, values = self._entries()
        split, shape = layouts.blocked(coordinates, self.shape, sizes)
        return Tensor.from_coo(split, values, shape, levels)

    def unblocked(self, shape: Sequence[int] | None = None, levels: str | None = None) -> Tensor:
        """The inverse of ``blocked``, cut to ``shape`` if the blocks go beyond.

        Raises UserError for an odd number of modes, and for an entry outside the shape.
        """
        coordinates, values = self._entries()
        joined, whole = layouts.unblocked(coordinates, self.shape)
        return Tensor.from_coo(joined, values, whole if shape is None else shape, levels)

    def diagonals(self) -> Tensor:
        """A matrix as its diagonals (k, i, j), stored as DIA, ``"dro"``: see ``summed``.

        Each diagonal is stored whole (``layouts.diagonals``). Raises UserError unless there are
        two modes.
        """
        shape, levels, values = layouts.diagonals(*self._entries(), self.shape)
        return made(shape, (0, 1, 2), levels, values)

    def ell(self) -> Tensor:
        """A matrix as its slots (s, i, j), stored as ELL, ``"ddq"``: see ``summed``.

        Slot s has entry number s of each row, filled up with zeros (``layouts.slots``). Raises
        UserError unless there are two modes.
        """
        shape, levels, values = layouts.slots(*self._entries(), self.shape)
        return made(shape, (0, 1, 2), levels, values)

    def summed(self, mode: int, levels: str | None = None) -> Tensor:
        """The sum over a mode, zeros left out: over mode 0, the matrix of ``diagonals`` or ``ell``.

        Levels as in ``from_coo``. Raises UserError.
        """
        if not 0 <= mode < self.ndim:
            raise UserError(f"{mode} is not a mode of {counted(self.ndim, 'mode')}")
        coordinates, values = self._entries()
        others = [other for other in range(self.ndim) if other != mode]
        coordinates, values = sorted_entries(coordinates[others], values)
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
        above = positions(self.levels)
        for n, (level, parents) in enumerate(zip(self.levels, above, strict=False)):
            try:
                level.validate(parents, self.shape[self.mode_order[n]], self.levels[:n])
            except UserError as error:
                raise UserError(f"level {n} ({level.name}) is not valid: {error}") from error
        _scanned(self.levels)
        in_order = all(level.ordered and not level.appends_anywhere for level in self.levels)
        if in_order and all(level.unique for level in self.levels):
            return  # each level has looked at its own fibers, and no two have the same coordinates
        coordinates, _ = listed(self.levels, self.mode_order, self.values)
        stored = coordinates[list(self.mode_order)]
        if not in_order and self.ndim:
            stored = stored[:, np.lexsort(stored[::-1])]
        if not increase(stored):
            raise UserError("its entries are not in order, or two have the same coordinates")

    def validated(self) -> Tensor:
        """The tensor itself, validated if it is not known to be valid; raises UserError."""
        if not self._sound:
            self.validate()
            object.__setattr__(self, "_sound", True)
        return self

    @cached_property
    def _codes(self) -> str:
        return "".join(level.code for level in self._as_made)

    @property
    def _as_made(self) -> tuple[Level, ...]:
        """The levels, whose indices may still have 32 bits."""
        found: tuple[Level, ...] = self.__dict__.get("_narrow") or self.levels
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The parts without the copies of indices that ``narrow_levels`` keeps."""
        return {name: part for name, part in self.__dict__.items() if name != "narrow_levels"}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Widens the indices of levels when these are first asked for."""
            narrow = self.__dict__.get("_narrow") if name == "levels" else None
            if narrow is None:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}; the arrays that "
                    "to_numpy() and to_scipy() give may have it"
                )
            levels = tuple(map(widened, narrow))
            object.__setattr__(self, "levels", levels)
            self.__dict__.pop("_narrow", None)
            return levels

    def _entries(self) -> tuple[Ints, Array]:
        """The entries in storage order, with coordinates (modes, entries)."""
        return listed(self.validated().levels, self.mode_order, self.values)

    def _by_rows(self, codes: str, order: tuple[int, ...]) -> Tensor | None:
        """The tensor in another format of a matrix by rows, where scipy converts it fast.

        Scipy is not loaded for a few entries.
        """
        if not {codes, self._codes} <= {*BY_ROWS}:
            return None
        if len(self.values) < _FEW and "scipy.sparse" not in sys.modules:
            return None
        matrix = levels_as_rows(self.validated().levels, self.mode_order, self.values, self.shape)
        if matrix is None or not has_rows(matrix, format_of_rows(order)):
            return None
        return _of_rows(matrix, codes, order)

    def _is_pruned(self) -> bool:
        if not self._pruned:
            object.__setattr__(self, "_pruned", are_pruned(self.validated()._as_made))
        return self._pruned


def made(
    shape: tuple[int, ...],
    mode_order: tuple[int, ...],
    levels: tuple[Level, ...],
    values: Array,
    pruned: bool = False,
    narrow: bool = False,
) -> Tensor:
    """A tensor whose parts are valid by construction: nothing is checked.

    ``pruned``  whether each coordinate of theirs has an entry below it
    ``narrow``  whether indices may have 32 bits; they are widened when somebody asks for levels
    """
    tensor = object.__new__(Tensor)
    facts = tensor.__dict__
    facts["shape"], facts["mode_order"], facts["values"] = shape, mode_order, values
    facts["_narrow" if narrow else "levels"] = levels
    facts["_sound"], facts["_pruned"] = True, pruned
    return tensor


def _scanned(levels: Sequence[Level]) -> tuple[Fibers, ...]:
    """The fibers of each level, as ``Tensor.scanned_levels`` has them."""
    scanned: list[Fibers] = []
    group_ends = None
    for level in levels:
        fibers, group_ends = level.scanned(group_ends)
        scanned.append(fibers)
    return tuple(scanned)


def _stored(
    coordinates: Ints, values: Array, shape: tuple[int, ...], codes: str, order: tuple[int, ...]
) -> Tensor:
    """The tensor of entries in any order, whose coordinates are in range."""
    return made(shape, order, *stored(coordinates, values, shape, codes, order), pruned=True)


def _of_rows(matrix: Any, codes: str, order: tuple[int, ...]) -> Tensor:
    """The tensor of a scipy.sparse matrix by rows. Raises UserError for one that is not valid."""
    rows = canonical(matrix, format_of_rows(order))
    return made(rows.shape, order, *rows_as_levels(rows, codes), pruned=True)
