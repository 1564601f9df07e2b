"""The memories of blocks as C has them: arrays, and the structures of ``memories.h``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from sam.blocks.block_memory import Accumulator, Growing, Stored
from sim.compiled.residual import COMPLEX, INT, REAL, c_type
from sim.machine import Part

TYPES = {INT: np.int64, REAL: np.float64, COMPLEX: np.complex128}


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


class Objects:
    """The objects of block memories in C; two halves of a block share them.

    ``runtime``  the library that has ``append`` and ``release``
    """

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self.runtime = runtime
        self.grown: list[tuple[Any, CGrowing | CAccumulator, str]] = []
        self.made: dict[int, CGrowing | CAccumulator] = {}

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
            made = CAccumulator(dimensions=found.dimensions, capacity=limit)
        else:
            made = CGrowing()
        self.grown.append((found, made, c_type(part.dtype)))
        self.made[id(found)] = made
        for value in found if isinstance(found, Growing) else ():
            self.runtime.append(ctypes.byref(made), ctypes.c_int64(value))
        return made

    def copy_back(self) -> None:
        """Copies the numbers that C has stored into the memories."""
        for found, made, values in self.grown:
            if not isinstance(found, Accumulator):
                of_values = not found.integers if isinstance(found, Stored) else found.values
                kind = TYPES[values if of_values else INT]
                size = made.length * np.dtype(kind).itemsize
                stored = (ctypes.c_char * size).from_address(made.items) if size else b""
                found.whole = np.frombuffer(stored, kind).copy()

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for _, made, _ in self.grown:
            for growing in _arrays(made):
                self.runtime.release(ctypes.byref(growing))


def _arrays(made: Any) -> list[CGrowing]:
    if isinstance(made, CGrowing):
        return [made]
    return [getattr(made, name) for name, kind in made._fields_ if kind is CGrowing]


def pointers(kept: list[Any], objects: list[Any]) -> int:
    """The address of an array of pointers to objects; array and objects are added to ``kept``."""
    addresses = [
        one.ctypes.data if isinstance(one, np.ndarray) else ctypes.addressof(one) for one in objects
    ]
    array = (ctypes.c_void_p * len(addresses))(*addresses)
    kept += [array, *objects]
    return ctypes.addressof(array)


def at(memory: Any, path: tuple[str, ...]) -> Any:
    """The object at a path in a memory."""
    for name in path:
        memory = memory[int(name)] if isinstance(memory, tuple) else getattr(memory, name)
    return memory
