"""The inputs of a kernel: arrays in the storage that it reads, and the structs that point to them.

A kernel's parameters are pointers to structs of 64-bit members, so each struct is an array of int64
here: numbers, and the addresses of arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from custard.to_c.builder import Types
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.loop_ir import INT, INT32, Type
from sam.graph import Slot
from sam.inputs import as_tensor
from sam.support.errors import UserError
from sam.tensor import VALUE_TYPES, Tensor, canonical, has_rows, is_scipy_sparse
from sam.tensor.sorting import increase

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
        """This input with index arrays of a type."""
        if self.index in (None, index):
            return self
        wide = {
            name: value.astype(np.int64)
            if isinstance(value, np.ndarray) and name != "values" and value.dtype == np.int32
            else value
            for name, value in self.members.items()
        }
        return StoredInput(wide, index, self.converted)


Words: TypeAlias = "ctypes.Array[ctypes.c_int64]"
"""The members of a struct, which have 64 bits each."""


def words(count: int) -> Words:
    """The members of a struct, all 0."""
    return _array_type(max(1, count))()


@cache
def _array_type(length: int) -> type[Words]:
    """The type of an array; to make one takes 10 microseconds, and ctypes itself keeps none."""
    return ctypes.c_int64 * length


class StructLayout:
    """A struct; ``places`` tells where each member is, and ``members`` keeps the arrays alive."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self.places, self.words = places, words(len(places))
        self.members: Mapping[str, Any] = {}

    def fill(self, members: Mapping[str, Any]) -> None:
        """Puts numbers, and the addresses of arrays, into the members."""
        self.members = members
        found = map(members.__getitem__, self.places)
        self.words[:] = [address(one) if isinstance(one, np.ndarray) else one for one in found]


def address(values: np.ndarray[Any, Any]) -> int:
    """Where the memory of an array begins."""
    try:  # four times as fast as the way below
        return ctypes.addressof(_Byte(values))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read-only or empty
        found: int = values.__array_interface__["data"][0]
        return found


_Byte = ctypes.c_char.from_buffer


def taken(at: int, count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The array that a kernel has made at an address, trimmed to its length.

    A short one is copied, which takes half as long. The memory of others is freed with the array.
    """
    size = count * dtype.itemsize
    if size <= _COPIED:
        copied = np.frombuffer(bytearray(_BYTES(at, size)), dtype) if size else np.empty(0, dtype)
        _FREE(at)
        return copied
    return np.asarray(_Owned(_REALLOC(at, size) or at, count, dtype))


_COPIED = 2**12
_BYTES = ctypes.string_at
_FREE, _REALLOC = ctypes.CDLL(None).free, ctypes.CDLL(None).realloc
_FREE.argtypes = (ctypes.c_void_p,)
_REALLOC.argtypes, _REALLOC.restype = (ctypes.c_void_p, ctypes.c_size_t), ctypes.c_void_p


class _Owned:
    """Memory of a kernel, which is freed with the array that is made of it."""

    def __init__(self, address: int, count: int, dtype: np.dtype[Any]) -> None:
        self.address, self.free = address, _FREE
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (count,),
            "typestr": dtype.str,
            "version": 3,
        }

    def __del__(self) -> None:
        self.free(self.address)


class Tensors(dict[str, Tensor]):
    """The inputs as tensors, each made when it is first asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.given = given

    def __missing__(self, name: str) -> Tensor:
        self[name] = as_tensor(name, self.given[name])
        return self[name]


def stored(slot: Slot, inputs: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> StoredInput:
    """An input in the storage that a slot asks for; raises UserError."""
    if slot.tensor is None:  # a vector of one place
        return StoredInput({"size0": 1, "values": np.array([slot.constant])}, None)
    name, levels, order = slot.tensor, slot.levels, _order(slot.modes)
    data = inputs[name]
    from_scipy = is_scipy_sparse(data)
    found = None
    try:
        if order is not None and from_scipy:
            found = _shared(levels, order, data)
        elif order is not None and type(data) is np.ndarray:
            found = _dense(levels, order, data)
    except UserError as mistake:
        raise mistake.about(name) from None
    if found is not None:
        return found
    tensor = tensors[name]
    if order is not None and tensor.is_arranged(levels, order):
        return _as_it_is(tensor, levels, data.format if from_scipy else None)
    try:
        arranged = tensor.arrange(levels, slot.modes)
    except UserError as mistake:
        raise mistake.about(name) from None
    return _as_it_is(arranged, levels, getattr(data, "format", None) or type(data).__name__)


@cache
def _order(modes: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """The mode of each level; None if a level has several."""
    return None if any(len(group) > 1 for group in modes) else tuple(mode for (mode,) in modes)


def _as_it_is(tensor: Tensor, codes: str, converted: str | None) -> StoredInput:
    """A tensor whose levels have these codes."""
    levels = tensor.narrow_levels
    members = {member: getattr(levels[n], part) for n, part, member in _parts(codes)}
    arrays = (one.dtype for one in members.values() if isinstance(one, np.ndarray))
    index = next((_INDEX_TYPES[dtype] for dtype in arrays if dtype in _INDEX_TYPES), None)
    for n, mode in enumerate(tensor.mode_order):
        members[f"size{n}"] = tensor.shape[mode]
    members["values"] = np.ascontiguousarray(tensor.values)
    return StoredInput(members, index, converted)


@cache
def _parts(codes: str) -> list[tuple[int, str, str]]:
    """The numbers and arrays of levels: the place of the level, the name there and in a struct."""
    functions = (LEVEL_FUNCTIONS[code] for code in codes)
    return [
        (n, part, f"{part}{n}")
        for n, one in enumerate(functions)
        for part in (*one.numbers, *one.arrays)
    ]


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


def _shared(levels: str, order: tuple[int, ...], data: Any) -> StoredInput | None:
    """A scipy.sparse matrix in a format that scipy (nearly) has too; None for all others.

    Its arrays are shared if it has that format; otherwise scipy converts it. Raises
    UserError for one that is not valid.
    """
    if data.dtype not in _VALUE_TYPES:
        return None
    if data.ndim == 2 and levels in ("ds", "ss", "uq"):
        if levels == "uq" and data.format == "coo":
            found = _listed(levels, order, data)
            if found is not None:
                return found
        wanted = "csr" if order == (0, 1) else "csc"
        if not has_rows(data, wanted):
            return None
        rows = canonical(data, wanted)
        converted = None if rows is data and levels == "ds" else data.format
        return _compressed(levels, order, rows, converted)
    return _listed(levels, order, data) if data.format == "coo" else None


def _compressed(
    levels: str, order: tuple[int, ...], data: Any, converted: str | None
) -> StoredInput:
    """A canonical CSR or CSC matrix: its rows as they are, those with entries, or all.

    ``converted``  its format before a conversion, if there was one
    """
    segments, coordinates, values = data.indptr, data.indices, data.data
    count, index = int(segments[-1]), coordinates.dtype
    if count < len(coordinates):
        coordinates, values = coordinates[:count], values[:count]
    arrays = {"segments1": segments, "coordinates1": coordinates, "values": values}
    if levels != "ds":
        lengths = np.diff(segments)
        rows = np.flatnonzero(lengths).astype(index)
        if levels == "ss":
            arrays["segments1"] = np.append(segments[rows], index.type(count)).astype(index)
            arrays["segments0"] = np.array([0, len(rows)], index)
            arrays["coordinates0"] = rows
        else:
            del arrays["segments1"]
            arrays["segments0"] = np.array([0, count], index)
            arrays["coordinates0"] = np.repeat(rows, lengths[rows])
    return _with_sizes(order, data.shape, arrays, index, converted)


def _listed(levels: str, order: tuple[int, ...], data: Any) -> StoredInput | None:
    """A list of coordinates in order, without duplicates."""
    chain = "u" + "c" * (data.ndim - 2) + "q"
    if data.ndim < 2 or levels != chain:
        return None
    coordinates = [np.asarray(data.coords[mode]) for mode in order]
    index = coordinates[0].dtype
    if index not in _INDEX_TYPES or any(one.dtype != index for one in coordinates):
        return None
    if any(one.shape != data.data.shape for one in coordinates):
        return None
    inside = all(
        len(one) == 0 or (one.min() >= 0 and one.max() < data.shape[mode])
        for one, mode in zip(coordinates, order, strict=True)
    )
    if not inside or not increase(coordinates):
        return None
    arrays = {f"coordinates{level}": one for level, one in enumerate(coordinates)}
    arrays |= {"segments0": np.array([0, len(data.data)], index), "values": data.data}
    return _with_sizes(order, data.shape, arrays, index)


def _with_sizes(
    order: tuple[int, ...],
    shape: Sequence[int],
    arrays: Mapping[str, Any],
    index: np.dtype[Any],
    converted: str | None = None,
) -> StoredInput:
    """An input of these arrays."""
    members: dict[str, Any] = {name: np.ascontiguousarray(one) for name, one in arrays.items()}
    for level, mode in enumerate(order):
        members[f"size{level}"] = shape[mode]
    return StoredInput(members, _INDEX_TYPES[index], converted)


# The least mean number of terms in a sum for which finding the end first pays; fewer suffice if the
# entries are so many that they come from memory (measured).
_LONG_RUN, _LONG_RUN_IN_MEMORY, _IN_MEMORY = 16, 8, 1 << 20


def has_runs(slot: Slot, stored: StoredInput) -> bool:
    """Whether an input repeats the coordinates of its first level many times."""
    entries, coordinates = len(stored.members["values"]), stored.members.get("size0", 0)
    long = _LONG_RUN if entries < _IN_MEMORY else _LONG_RUN_IN_MEMORY
    return slot.levels != "" and entries >= long * max(1, coordinates)


# Fibers of fewer entries (mean) than this are short. Fewer fibers than this take as long anyway. Of
# so many fibers and entries, processors learn the lengths in calls that are repeated. Of more, this
# share of a stretch of lengths must be repeated, or almost as many as there are fibers for which
# ``sparse_dot`` branches in the same way (measured).
_SHORT, _FEW, _LEARNT, _STRETCH, _REPEATED, _ALMOST = 12, 512, 1 << 15, 256, 0.45, 0.15


def is_steady(slot: Slot, stored: StoredInput) -> bool:
    """Whether the lengths of the innermost fibers of an input, which are short, are foreseen: since
    they are few, or since most are as long as one of the three before them, by a sample of them."""
    segments = stored.members.get(f"segments{len(slot.levels) - 1}")
    if segments is None or len(segments) < _FEW or segments[-1] >= _SHORT * len(segments):
        return False
    if len(segments) + segments[-1] <= _LEARNT:
        return True
    begins = np.linspace(0, len(segments) - 1 - _STRETCH, 4, dtype=np.int64)
    lengths = np.diff(segments[begins[:, None] + np.arange(_STRETCH + 1)])
    branches = lengths // 4 + (lengths > 0)
    return _repeated(lengths) >= min(_REPEATED, _repeated(branches) - _ALMOST)


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
