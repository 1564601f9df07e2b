"""MATLAB's .mat files of versions 4 to 7.2: their one matrix, or SuiteSparse's ``Problem.A``.

scipy reads more of them, but its reader ends the process where a file is malformed; here every
size and index is checked first. The format: "MAT-File Format", MathWorks.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from sam.io.compression import MOST_EXPANSION
from sam.io.text import short
from sam.support.errors import UserError
from sam.tensor import Tensor

_HDF5 = b"\x89HDF"
# The types of stored numbers, and the classes of arrays, as version 5 numbers them.
_STORED = dict(enumerate(("i1", "u1", "i2", "u2", "i4", "u4", "f4"), 1))
_STORED |= {9: "f8", 12: "i8", 13: "u8", 16: "u1"}
_MATRIX, _COMPRESSED = 14, 15
_STRUCT, _SPARSE = 2, 5
_CLASSES = dict(enumerate(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), 6))
_COMPLEX, _LOGICAL = 0x0800, 0x0200
_VERSION_4 = ("f8", "f4", "i4", "i2", "u2", "u1")


def read(name: str, data: bytes) -> Tensor:
    """The one array of numbers in the file, or the field A of its struct Problem.

    A sparse matrix comes all compressed, any other array all dense. Raises UserError.
    """
    if data[512:516] == _HDF5 or data.startswith((_HDF5, b"MATLAB 7.3")):
        raise UserError(
            f"{name} is a MATLAB file of version 7.3, which is not read",
            hint="save('x.mat', 'A', '-v7') in MATLAB, or write a .mtx file",
        )
    try:
        arrays = _version_5(data) if data[124:128][-2:] in (b"IM", b"MI") else _version_4(data)
    except _Malformed as error:
        raise UserError(f"{name} is not a MATLAB file: {error}") from error
    if not arrays:
        raise UserError(f"{name} has no array of numbers")
    if len(arrays) > 1:
        listed = short(", ".join(label for label, _ in arrays))
        raise UserError(
            f"{name} has {len(arrays)} arrays of numbers, not 1: {listed}",
            hint=f"save('x.mat', '{short(arrays[0][0])}', '-v7') in MATLAB saves one",
        )
    [(_, found)] = arrays
    try:
        return found.tensor()
    except UserError as mistake:
        raise mistake.about(name) from None


class _Malformed(Exception):
    """A fault of the file, in words."""


@dataclass(frozen=True)
class _Sparse:
    """Coordinates that are not checked yet, and values."""

    shape: tuple[int, ...]
    rows: Any
    columns: Any
    values: Any

    def tensor(self) -> Tensor:
        return Tensor.from_coo(np.stack([self.rows, self.columns]), self.values, self.shape)


@dataclass(frozen=True)
class _Full:
    array: Any

    def tensor(self) -> Tensor:
        return Tensor.from_numpy(self.array)


_Array = _Sparse | _Full


class _ElementReader:
    """Goes through the elements in the bytes of a version 5 file."""

    def __init__(self, data: bytes, order: str) -> None:
        self._data, self._order, self._place = data, order, 0

    @property
    def at_end(self) -> bool:
        return self._place >= len(self._data)

    def element(self) -> tuple[int, bytes]:
        """The type and the bytes of the next element."""
        if self._place + 8 > len(self._data):
            raise _Malformed("it ends in an element")
        kind, size = struct.unpack_from(self._order + "II", self._data, self._place)
        begin = self._place + 8
        if kind >> 16:  # a small element, whose bytes are in its tag
            kind, size, begin = kind & 0xFFFF, kind >> 16, self._place + 4
            if size > 4:
                raise _Malformed(f"a small element has {size} bytes")
            self._place += 8
        else:
            padding = 0 if kind == _COMPRESSED else -size % 8
            self._place = begin + size + padding
        if begin + size > len(self._data):
            raise _Malformed(f"an element has {size} bytes, and {len(self._data) - begin} follow")
        return kind, self._data[begin : begin + size]

    def numbers(self) -> Any:
        """The numbers in the next element."""
        kind, data = self.element()
        if kind not in _STORED:
            raise _Malformed(f"numbers are of the unknown type {kind}")
        dtype = np.dtype(self._order + _STORED[kind])
        if len(data) % dtype.itemsize:
            raise _Malformed(f"{len(data)} bytes are no whole numbers of {dtype.itemsize} bytes")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))

    def text(self) -> str:
        return self.element()[1].decode("latin-1").rstrip("\0")


def _version_5(data: bytes) -> list[tuple[str, _Array]]:
    order = "<" if data[126:128] == b"IM" else ">"
    reader = _ElementReader(data[128:], order)
    arrays: list[tuple[str, _Array]] = []
    while not reader.at_end:
        kind, content = reader.element()
        if kind == _COMPRESSED:
            kind, content = _ElementReader(_inflated(content), order).element()
        if kind == _MATRIX:
            arrays += _arrays(content, order, 0)
    return arrays


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(data, MOST_EXPANSION * len(data) + 1)
    except zlib.error as error:
        raise _Malformed(str(error)) from error
    if not stream.eof:
        raise _Malformed("its compressed data end too early")
    return content


def _arrays(content: bytes, order: str, depth: int) -> list[tuple[str, _Array]]:
    """The array of numbers that a matrix element holds, or those of the struct Problem's A."""
    reader = _ElementReader(content, order)
    flags = reader.numbers()
    if len(flags) != 2:
        raise _Malformed("an array has no flags")
    word = int(flags[0])
    kind = word & 0xFF
    if kind not in (_STRUCT, _SPARSE, *_CLASSES):
        return []
    shape = tuple(int(extent) for extent in reader.numbers())
    name = reader.text()
    if len(shape) < 2 or min(shape) < 0 or len(shape) > 32:
        raise _Malformed(f"{short(name)} has the shape {short(str(shape))}")
    if kind == _STRUCT:
        if name != "Problem" or math.prod(shape) != 1 or depth:
            return []
        return _field_a(reader, order, depth)
    if kind == _SPARSE:
        return [(name, _sparse(reader, name, shape, word))]
    values = _values(reader, word, _CLASSES[kind])
    if len(values) != math.prod(shape):
        raise _Malformed(f"{short(name)} of the shape {shape} has {len(values)} values")
    return [(name, _full(values, name, shape))]


def _field_a(reader: _ElementReader, order: str, depth: int) -> list[tuple[str, _Array]]:
    length = reader.numbers()
    names = reader.element()[1]
    if len(length) != 1 or int(length[0]) < 1 or len(names) % int(length[0]):
        raise _Malformed("a struct has no names of fields")
    size = int(length[0])
    for begin in range(0, len(names), size):
        kind, content = reader.element()
        field = names[begin : begin + size].rstrip(b"\0")
        if field == b"A" and kind == _MATRIX:
            return [("Problem.A", array) for _, array in _arrays(content, order, depth + 1)]
    return []


def _full(values: Any, name: str, shape: tuple[int, ...]) -> _Full:
    try:
        return _Full(values.reshape(shape, order="F"))
    except ValueError as error:
        raise _Malformed(f"{short(name)} has the shape {shape}: {error}") from error


def _values(reader: _ElementReader, word: int, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        values = reader.numbers().astype(dtype)
        if word & _COMPLEX:
            imaginary = reader.numbers().astype(dtype)
            if len(imaginary) != len(values):
                raise _Malformed("real and imaginary parts differ in number")
            return values + 1j * imaginary
    return values != 0 if word & _LOGICAL else values


def _sparse(reader: _ElementReader, name: str, shape: tuple[int, ...], word: int) -> _Sparse:
    rows, pointers = (reader.numbers() for _ in "ij")
    values = _values(reader, word, "f8")
    if rows.dtype.kind not in "iu" or pointers.dtype.kind not in "iu" or len(shape) != 2:
        raise _Malformed(f"the indices of {short(name)} are no integers")
    rows, pointers = rows.astype(np.int64), pointers.astype(np.int64)
    if len(pointers) != shape[1] + 1 or pointers[0] != 0 or (np.diff(pointers) < 0).any():
        raise _Malformed(f"the column pointers of {short(name)} do not rise from 0")
    entries = int(pointers[-1])
    if entries > min(len(rows), len(values)):
        raise _Malformed(f"{short(name)} has {len(values)} values, and {entries} are due")
    columns = np.repeat(np.arange(shape[1]), np.diff(pointers))
    return _Sparse(shape, rows[:entries], columns, values[:entries])


def _version_4(data: bytes) -> list[tuple[str, _Array]]:
    arrays: list[tuple[str, _Array]] = []
    place = 0
    while place < len(data):
        if place + 20 > len(data):
            raise _Malformed("it ends in a header")
        order = "<" if struct.unpack_from("<i", data, place)[0] in range(5000) else ">"
        code, rows, columns, imaginary, length = struct.unpack_from(order + "5i", data, place)
        precision, form = code // 10 % 10, code % 10
        good = code in range(5000) and precision < len(_VERSION_4) and form < 3
        if not good or min(rows, columns) < 0 or imaginary not in (0, 1) or length < 1:
            raise _Malformed("its header is not of version 4 or 5")
        begin = place + 20 + length
        name = data[place + 20 : begin].rstrip(b"\0").decode("latin-1")
        dtype = np.dtype(order + _VERSION_4[precision])
        count = rows * columns * (1 + imaginary)
        place = begin + count * dtype.itemsize
        if place > len(data):
            raise _Malformed(f"{short(name)} has {count} numbers, and the file ends before")
        numbers = np.frombuffer(data, dtype, count, begin).astype(dtype.newbyteorder("="))
        if form == 1:  # a text
            continue
        if imaginary:
            numbers = numbers[: rows * columns] + 1j * numbers[rows * columns :]
        full = _full(numbers, name, (rows, columns))
        arrays.append((name, _version_4_sparse(name, full.array) if form == 2 else full))
    return arrays


def _version_4_sparse(name: str, table: Any) -> _Sparse:
    """The matrix whose entries are the rows of the table: row, column, value; last, its shape."""
    if table.shape[1] not in (3, 4) or len(table) < 1:
        raise _Malformed(f"the entries of {short(name)} are not triples")
    indices = table[:, :2]
    if not (np.isfinite(indices).all() and (abs(indices) < 2**53).all()):
        raise _Malformed(f"the indices of {short(name)} are no integers")
    whole = indices.real.astype(np.int64)
    if (whole != indices).any() or (whole[-1] < 0).any():
        raise _Malformed(f"the indices of {short(name)} are no integers")
    values = table[:-1, 2] if table.shape[1] == 3 else table[:-1, 2] + 1j * table[:-1, 3]
    rows, columns = whole[:-1].T - 1
    return _Sparse((int(whole[-1][0]), int(whole[-1][1])), rows, columns, values)
