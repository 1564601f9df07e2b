"""The inputs of a kernel: numbers and arrays in the storage that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from custard.to_c.builder import Types
from custard.to_c.index_arrays import RowArrays, is_list, rows_of, turned
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.loop_ir import INT, INT32, Type
from sam.graph import Slot
from sam.inputs import as_tensor
from sam.levels import Compressed
from sam.support.errors import UserError
from sam.tensor import VALUE_TYPES, Tensor, canonical, has_rows, is_scipy_sparse
from sam.tensor.scipy_arrays import BY_ROWS, are_few, format_of_rows

_INDEX_TYPES = {np.dtype(np.int32): INT32, np.dtype(np.int64): INT}


@dataclass(slots=True)  # frozen ones take three times as long to make
class StoredInput:
    """An input in its slot: the numbers and arrays of its struct, by member.

    ``index``      the type of its index arrays, None if it has none
    ``converted``  its storage before the conversion, if there was one
    """

    members: Mapping[str, Any]
    index: Type | None
    converted: str | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        found: np.dtype[Any] = self.members["values"].dtype
        return found

    def widened(self, index: Type) -> StoredInput:
        """This input with index arrays of a type, unless they are wider already."""
        if self.index in (None, INT, index):
            return self
        wide = {
            name: value.astype(np.int64)
            if isinstance(value, np.ndarray) and name != "values" and value.dtype == np.int32
            else value
            for name, value in self.members.items()
        }
        return StoredInput(wide, index, self.converted)


class Tensors(dict[str, Tensor]):
    """The inputs as tensors, each made when it is first asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def __missing__(self, name: str) -> Tensor:
        self[name] = as_tensor(name, self.given[name])
        return self[name]


def stored(slot: Slot, inputs: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> StoredInput:
    """An input in the storage that a slot asks for; raises UserError."""
    if slot.tensor is None:  # a vector of one place
        return StoredInput({"size0": 1, "values": np.array([slot.constant])}, None)
    name, order = slot.tensor, _order(slot.modes)
    data = inputs[name]
    try:
        found = None if order is None else _shared(slot.levels, order, data)
    except UserError as mistake:
        raise mistake.about(name) from None
    if found is not None:
        return found
    tensor = tensors[name]
    try:
        return _of_tensor(slot, order, tensor, data)
    except UserError as mistake:
        raise mistake.about(name) from None


@cache
def _order(modes: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """The mode of each level; None if a level has several."""
    return None if any(len(group) > 1 for group in modes) else tuple(mode for (mode,) in modes)


def _of_tensor(slot: Slot, order: tuple[int, ...] | None, tensor: Tensor, data: Any) -> StoredInput:
    """A tensor, which ``data`` is given as. Raises UserError."""
    levels = slot.levels
    if order is not None:
        if tensor.is_arranged(levels, order):
            return _as_it_is(tensor, levels, data.format if is_scipy_sparse(data) else None)
        if levels in BY_ROWS and tensor.is_arranged("ds", order[::-1]):
            rows = _turned(tensor)
            if rows is not None:
                return _compressed(levels, order, rows, tensor.shape, _format(data))
    return _as_it_is(tensor.arrange(levels, slot.modes), levels, _format(data))


def _format(data: Any) -> str:
    """The format of an input, or what it is, for notes."""
    return getattr(data, "format", None) or type(data).__name__


def _turned(tensor: Tensor) -> RowArrays | None:
    """The columns of a matrix by rows; None where they are many, most of them empty."""
    _, inner = tensor.narrow_levels
    columns = tensor.shape[tensor.mode_order[1]]
    if not are_few(columns, len(tensor.values)) or not isinstance(inner, Compressed):
        return None
    segments, coordinates = np.asarray(inner.segments), np.asarray(inner.coordinates)
    return turned(RowArrays(segments, coordinates, tensor.values), columns)


def _as_it_is(tensor: Tensor, codes: str, converted: str | None) -> StoredInput:
    """A tensor whose levels have these codes.

    ``converted``  its format before a conversion, if there was one
    """
    levels = tensor.narrow_levels
    parts, first = _parts(codes)
    members = {member: getattr(levels[n], part) for n, part, member in parts}
    index = None if first is None else members[first].dtype
    return _with_values(members, tensor.values, tensor.mode_order, tensor.shape, index, converted)


@cache
def _parts(codes: str) -> tuple[list[tuple[int, str, str]], str | None]:
    """The numbers and arrays of levels: the place of the level, the name there and in a struct.
    With them, the name in a struct of the first array of indices."""
    functions = [LEVEL_FUNCTIONS[code] for code in codes]
    parts = [
        (n, part, f"{part}{n}")
        for n, one in enumerate(functions)
        for part in (*one.numbers, *one.arrays)
    ]
    indices = {part for one in functions for part in one.arrays if part != "words"}
    return parts, next((member for _, part, member in parts if part in indices), None)


def _shared(levels: str, order: tuple[int, ...], data: Any) -> StoredInput | None:
    """A number, or a numpy array or a scipy.sparse matrix whose own arrays a kernel reads, or
    nearly; None for all others. Raises UserError for a matrix that is not valid."""
    if type(data) is np.ndarray:
        return _dense(levels, order, data)
    if type(data) in NUMBERS:
        values = np.array([data])  # of another type if it needs more than 64 bits
        known = levels == "" and values.dtype in _VALUE_TYPES
        return StoredInput({"values": values}, None) if known else None
    return _of_scipy(levels, order, data) if is_scipy_sparse(data) else None


NUMBERS = frozenset((bool, int, float, complex))
"""The types of Python's numbers."""


def _dense(levels: str, order: tuple[int, ...], data: np.ndarray[Any, Any]) -> StoredInput | None:
    """An array whose memory is in the order of dense levels: the array itself, or a copy."""
    if levels != "d" * data.ndim or data.dtype not in _VALUE_TYPES:
        return None
    flat = data if data.ndim < 2 else data.transpose(order)
    converted = None if flat.flags.c_contiguous else "ndarray"
    members: dict[str, Any] = {"values": flat.ravel()}
    for n, extent in enumerate(flat.shape):
        members[f"size{n}"] = extent
    return StoredInput(members, None, converted)


_VALUE_TYPES = frozenset(VALUE_TYPES)


def _of_scipy(levels: str, order: tuple[int, ...], data: Any) -> StoredInput | None:
    """A scipy.sparse matrix in a format that scipy (nearly) has too; None for all others.

    Its arrays are shared if it has that format; otherwise they are converted. Raises UserError for
    one that is not valid.
    """
    if data.dtype not in _VALUE_TYPES:
        return None
    if data.ndim == 2 and levels in BY_ROWS:
        if levels == "uq" and data.format == "coo":
            found = _listed(levels, order, data)
            if found is not None:
                return found
        wanted = format_of_rows(order)
        if not has_rows(data, wanted):
            return None
        rows, new = _rows(data, wanted)
        converted = data.format if new or levels != "ds" else None
        return _compressed(levels, order, rows, data.shape, converted)
    return _listed(levels, order, data) if data.format == "coo" else None


def _rows(data: Any, wanted: str) -> tuple[RowArrays, bool]:
    """The rows ("csr") or columns ("csc") of a scipy.sparse matrix; whether they are made anew.

    Raises UserError for one that is not valid.
    """
    if data.format in ("csr", "csc"):
        extents = data.shape if data.format == "csr" else data.shape[::-1]
        found = rows_of(data.indptr, data.indices, data.data, extents)
        if found is not None and data.format == wanted:
            return found, False
        other = found and turned(found, extents[1])
        if other is not None:
            return other, True
    matrix = canonical(data, wanted)
    count = int(matrix.indptr[-1])
    parts = matrix.indptr, matrix.indices[:count], matrix.data[:count]
    return RowArrays(*map(np.ascontiguousarray, parts)), matrix is not data


def _compressed(
    levels: str,
    order: tuple[int, ...],
    rows: RowArrays,
    shape: Sequence[int],
    converted: str | None,
) -> StoredInput:
    """A matrix by rows: all of them, those with entries, or the list of its entries.

    ``converted``  its format before a conversion, if there was one
    """
    segments, coordinates, values = rows
    index = segments.dtype
    members = {"segments1": segments, "coordinates1": coordinates}
    if levels != "ds":
        lengths = np.diff(segments)
        used = np.flatnonzero(lengths).astype(index)
        if levels == "ss":
            members["segments1"] = np.append(segments[used], segments[-1:])
            members["segments0"] = np.array([0, len(used)], index)
            members["coordinates0"] = used
        else:
            del members["segments1"]
            members["segments0"] = np.array([0, len(values)], index)
            members["coordinates0"] = np.repeat(used, lengths[used])
    return _with_values(members, values, order, shape, index, converted)


def _listed(levels: str, order: tuple[int, ...], data: Any) -> StoredInput | None:
    """A list of coordinates in order, without duplicates."""
    chain = "u" + "c" * (data.ndim - 2) + "q"
    if data.ndim < 2 or levels != chain:
        return None
    coordinates = [np.ascontiguousarray(data.coords[mode]) for mode in order]
    index, shape = coordinates[0].dtype, coordinates[0].shape
    if index not in _INDEX_TYPES or data.data.shape != shape:
        return None
    for one in coordinates:
        if one.dtype != index or one.shape != shape:
            return None
    if not is_list(coordinates, [data.shape[mode] for mode in order]):
        return None
    members = {f"coordinates{level}": one for level, one in enumerate(coordinates)}
    members["segments0"] = np.array([0, len(data.data)], index)
    return _with_values(members, data.data, order, data.shape, index)


def _with_values(
    members: dict[str, Any],
    values: np.ndarray[Any, Any],
    order: tuple[int, ...],
    shape: Sequence[int],
    index: np.dtype[Any] | None,
    converted: str | None = None,
) -> StoredInput:
    """An input of index arrays, each in one piece, with values and sizes put to them."""
    members["values"] = np.ascontiguousarray(values)
    for level, mode in enumerate(order):
        members[f"size{level}"] = shape[mode]
    return StoredInput(members, index and _INDEX_TYPES[index], converted)


# Fibers of fewer entries (mean) than this are short. Fewer fibers than this take as long anyway. Of
# so few fibers and entries processors learn the lengths. If there are more, this share of the
# lengths in a sample must be repeated, or almost as many as there are fibers for which
# ``sparse_dot`` branches in the same way (measured).
_SHORT, _FEW, _LEARNT, _REPEATED, _ALMOST = 12, 512, 1 << 15, 0.45, 0.15
# A long array is sampled in stretches of so many pairs of neighbours.
_STRETCH = 256


def is_steady(slot: Slot, stored: StoredInput) -> bool:
    """Whether the lengths of the innermost fibers of an input, which are short, are foreseen: since
    they are few, or since most are as long as one of the three before them, by a sample of them."""
    segments = stored.members.get(f"segments{len(slot.levels) - 1}")
    if segments is None or len(segments) < _FEW or segments[-1] >= _SHORT * len(segments):
        return False
    if len(segments) + segments[-1] <= _LEARNT:
        return True
    lengths = np.diff(_sampled(segments, 4))
    branches = lengths // 4 + (lengths > 0)
    return _repeated(lengths) >= min(_REPEATED, _repeated(branches) - _ALMOST)


def _sampled(numbers: np.ndarray, stretches: int) -> np.ndarray:
    """An array as a row, or stretches of a long one as rows."""
    if len(numbers) <= stretches * (_STRETCH + 1):
        return numbers[None]
    begins = np.linspace(0, len(numbers) - 1 - _STRETCH, stretches, dtype=np.int64)
    found: np.ndarray = numbers[begins[:, None] + np.arange(_STRETCH + 1)]
    return found


def _repeated(numbers: np.ndarray) -> float:
    """The share of numbers in rows that are as one of the three before, always the same one."""
    return max(float(np.mean(numbers[:, lag:] == numbers[:, :-lag])) for lag in (1, 2, 3))


def types_of(slots: Sequence[Slot], stored: Mapping[str, StoredInput]) -> Types:
    """The types that the kernel for these inputs is specialised for."""
    values = {slot.tensor or "": stored[slot.name].members["values"].dtype for slot in slots}
    indices: dict[str, Type] = {}
    for slot in slots:
        index = stored[slot.name].index
        if index is not None and indices.setdefault(slot.tensor or "", index) != index:
            indices[slot.tensor or ""] = INT
    return Types(values, indices, INT if INT in indices.values() else INT32)
