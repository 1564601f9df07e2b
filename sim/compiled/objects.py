"""The memories of blocks as C has them: arrays, and the structures of ``memories.h``."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from sam.blocks.block_memory import Accumulator, Growing, Stored
from sim.compiled.residual import COMPLEX, INT, REAL, c_type
from sim.machine import Part

TYPES = {INT: np.int64, REAL: np.float64, COMPLEX: np.complex128}
BYTES = {name: np.dtype(kind).itemsize for name, kind in TYPES.items()}


_Data = TypeVar("_Data", bound="ctypes.Structure | ctypes.Array[Any]")

_PIECE, _LINE = 1 << 14, 128
"""Bytes of a piece of memory; the most that processors hand to each other at once."""


class CGrowing(ctypes.Structure):
    """``Growing`` in ``memories.h``."""

    _fields_ = [
        ("items", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("length", "room", "mapped")),
    ]


class CAccumulator(ctypes.Structure):
    """``Accumulator`` in ``memories.h``."""

    _fields_ = [
        ("dimensions", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        *(
            (name, CGrowing)
            for name in (
                *("points", "values", "table", "bits", "tops"),
                *("order", "out_points", "out_values"),
            )
        ),
    ]


class Room:
    """Memory for the small structures of one machine.

    ``apart``  whether they lie side by side, apart from all others: two threads that write to one
               cache line, each to its own machine, would wait for each other
    ``kept``   what pointers in it point to, among others
    """

    def __init__(self, apart: bool = False) -> None:
        self.apart, self.piece, self.at = apart, bytearray(), 0
        self.kept: list[Any] = []

    def hold(self, made: _Data) -> _Data:
        """A structure or an array, as it is or like it in this memory."""
        if not self.apart:
            return made
        size = ctypes.sizeof(made)
        if self.at + size + _LINE > len(self.piece):
            self.piece, self.at = bytearray(max(_PIECE, size) + 2 * _LINE), _LINE
        held = type(made).from_buffer(self.piece, self.at)
        ctypes.memmove(ctypes.addressof(held), ctypes.addressof(made), size)
        self.at += (size + 15) & -16
        return held  # type: ignore[return-value]

    def pointers(self, objects: Sequence[Any]) -> int:
        """The address of an array of pointers to objects, which are kept as long as this."""
        addresses = [
            one.ctypes.data if isinstance(one, np.ndarray) else ctypes.addressof(one)
            for one in objects
        ]
        array = self.hold((ctypes.c_void_p * len(addresses))(*addresses))
        self.kept += [array, *objects]
        return ctypes.addressof(array)

    def numbers(self, count: int, values: Sequence[int] = ()) -> ctypes.Array[Any]:
        """Whole numbers: the values, then zeros."""
        return self.hold((ctypes.c_int64 * count)(*values))


class Objects:
    """The objects of block memories in C; two halves of a block share them.

    ``runtime``  the library that has ``append`` and ``release``
    ``room``     where the structures lie
    ``grown``    the memories that C fills, each with its structure in C and the type of values
    ``joined``   by number: what is to be brought back in place of what this machine has stored
    """

    def __init__(self, runtime: ctypes.CDLL, room: Room) -> None:
        self.runtime, self.room = runtime, room
        self.grown: list[tuple[Any, CGrowing | CAccumulator, str]] = []
        self.made: dict[int, CGrowing | CAccumulator] = {}
        self.joined: dict[int, np.ndarray] = {}

    def of(self, part: Part, path: tuple[str, ...]) -> Any:
        """An object of a part's memory: an array, or a structure."""
        found = at(part.memory, path)
        if isinstance(found, np.ndarray):
            return np.ascontiguousarray(found, TYPES[c_type(found.dtype)])
        if id(found) in self.made:
            return self.made[id(found)]
        made: CAccumulator | CGrowing
        if isinstance(found, Accumulator):
            limit = -1 if found.capacity is None else found.capacity
            made = self.room.hold(CAccumulator(dimensions=found.dimensions, capacity=limit))
        else:
            made = self.room.hold(CGrowing())
        self.grown.append((found, made, c_type(part.dtype)))
        self.made[id(found)] = made
        for value in found if isinstance(found, Growing) else ():
            self.runtime.append(ctypes.byref(made), ctypes.c_int64(value))
        return made

    def filled(
        self, part: Part, paths: Iterable[tuple[str, ...]]
    ) -> list[tuple[Any, CGrowing | CAccumulator, str]]:
        """Those of the memories that C fills which lie at some paths in the memory of a part."""
        found = {id(at(part.memory, path)) for path in paths}
        return [one for one in self.grown if id(one[0]) in found]

    def bring_back(self) -> None:
        """Brings the numbers that C has stored into the memories; C may not store more."""
        for n, (found, made, values) in enumerate(self.grown):
            if n in self.joined:
                found.whole = self.joined[n]
            elif isinstance(made, CGrowing):
                found.whole = self._given_up(made, dtype_of(found, values))

    def _given_up(self, made: CGrowing, dtype: np.dtype[Any]) -> np.ndarray:
        """The items of an array of C, as an array of its own: in place where they are many."""
        length, address = made.length, made.items
        size = self.runtime.give_up(ctypes.byref(made), ctypes.c_int64(dtype.itemsize))
        if not size:
            return items(made, dtype).copy()
        octets = (ctypes.c_uint8 * (length * dtype.itemsize)).from_address(address)
        unmap = partial(self.runtime.unmap, ctypes.c_void_p(address), ctypes.c_int64(size))
        weakref.finalize(octets, unmap).atexit = False
        return np.frombuffer(octets, dtype)

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for _, made, _ in self.grown:
            for growing in _arrays(made):
                self.runtime.release(ctypes.byref(growing))


def size_of(made: CGrowing | CAccumulator) -> int:
    """How many numbers a memory holds; of an accumulator, for how many points it has room."""
    if isinstance(made, CGrowing):
        return int(made.length)
    return int(made.points.room + made.values.room + made.out_values.room)


def dtype_of(found: Growing | Stored, values: str) -> np.dtype[Any]:
    """The type in which C stores the numbers of a memory; ``values`` is that of values."""
    of_values = not found.integers if isinstance(found, Stored) else found.values
    return np.dtype(TYPES[values if of_values else INT])


def items(made: CGrowing, dtype: np.dtype[Any], length: int | None = None) -> np.ndarray:
    """The items of an array of C, in place; by default as many as have been appended."""
    return array_at(made.items, dtype, made.length if length is None else length)


def array_at(address: int, dtype: np.dtype[Any], length: int) -> np.ndarray:
    """Numbers of C, in place."""
    if not length:
        return np.zeros(0, dtype)
    octets = (ctypes.c_uint8 * (length * dtype.itemsize)).from_address(address)
    return np.ctypeslib.as_array(octets).view(dtype)


def _arrays(made: Any) -> list[CGrowing]:
    if isinstance(made, CGrowing):
        return [made]
    return [getattr(made, name) for name, kind in made._fields_ if kind is CGrowing]


def at(memory: Any, path: tuple[str, ...]) -> Any:
    """The object at a path in a memory."""
    for name in path:
        memory = memory[int(name)] if isinstance(memory, tuple) else getattr(memory, name)
    return memory
