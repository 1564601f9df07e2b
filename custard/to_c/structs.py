"""The structs that a kernel is called with, and the arrays that it makes.

A kernel's parameters are pointers to structs of 64-bit members, so each struct is an array of int64
here: numbers, and the addresses of arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from struct import Struct
from typing import Any, TypeAlias

import numpy as np

Words: TypeAlias = "ctypes.Array[ctypes.c_int64]"
"""The members of a struct, which have 64 bits each."""


def words(count: int) -> Words:
    """The members of a struct, all 0."""
    return _array_type(max(1, count))()


class Packer:
    """Makes structs of some members, numbers and the addresses of arrays; these are not kept alive.

    To make bytes takes a third of the time of a ``Words``, but nobody may write to them.

    ``arrays``  the members that are arrays
    """

    def __init__(self, members: Sequence[str], arrays: Collection[str]) -> None:
        self.members = members
        self._arrays = [n for n, name in enumerate(members) if name in arrays]
        self._pack = Struct(f"{len(members)}q").pack

    def packed(self, values: Mapping[str, Any]) -> bytes:
        """The struct of these members."""
        found = [values[name] for name in self.members]
        for n in self._arrays:
            found[n] = address(found[n])
        return self._pack(*found)

    def unpacked(self, packed: bytes) -> dict[str, int]:
        """The members of a struct: numbers and addresses."""
        return dict(zip(self.members, Struct(f"{len(self.members)}q").unpack(packed), strict=True))


@cache
def _array_type(length: int) -> type[Words]:
    """The type of an array; to make one takes 10 microseconds, and ctypes itself keeps none."""
    return ctypes.c_int64 * length


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
