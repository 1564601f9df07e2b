"""Checks of index arrays, and the transposition of rows, in C: a call or two each.

numpy goes through the arrays several times, each of which is a call, and scipy makes and checks a
matrix on the way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import resources
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from custard.to_c.structs import address
from sam.support import c_compiler
from sam.support.errors import UserError
from sam.tensor.sorting import increase

Array = NDArray[Any]

_INDICES = {np.dtype(np.int32): "int32_t", np.dtype(np.int64): "int64_t"}
_VALUES = {1: "uint8_t", 4: "uint32_t", 8: "uint64_t", 16: "uint128"}


class RowArrays(NamedTuple):
    """A matrix by rows: the entries of row i are ``segments[i]:segments[i + 1]``, in order of their
    coordinates, without duplicates."""

    segments: Array
    coordinates: Array
    values: Array


def rows_of(
    segments: Array, coordinates: Array, values: Array, extents: tuple[int, int]
) -> RowArrays | None:
    """Arrays as ``RowArrays``, without what lies behind the last entry.

    None where they are not valid for the extents (of rows and of columns) or not in order; also
    where they have gaps or indices of several types, and where no compiler makes the check.
    """
    if not type(segments) is type(coordinates) is type(values) is np.ndarray:
        return None
    rows, columns = extents
    index, room = segments.dtype, len(coordinates)
    if (
        coordinates.dtype != index
        or segments.shape != (rows + 1,)
        or not coordinates.shape == values.shape == (room,)
        or not (segments.flags.c_contiguous and coordinates.flags.c_contiguous)
    ):
        return None
    check = _row_check(index)
    if check is None:
        return None
    count = check(address(segments), address(coordinates), rows, columns, room)
    if count < 0:
        return None
    if count < room:
        coordinates, values = coordinates[:count], values[:count]
    return RowArrays(segments, coordinates, values)


def turned(rows: RowArrays, columns: int) -> RowArrays | None:
    """The columns of a valid matrix, as rows of its transpose; None where no compiler makes it."""
    segments, coordinates, values = map(np.ascontiguousarray, rows)
    turn = _turn(segments.dtype, values.itemsize)
    if turn is None:
        return None
    found = RowArrays(
        np.empty(columns + 1, segments.dtype),
        np.empty(len(coordinates), segments.dtype),
        np.empty(len(values), values.dtype),
    )
    given = address(segments), address(coordinates), address(values)
    turn(*given, len(segments) - 1, columns, *map(address, found))
    return found


def is_list(coordinates: Sequence[Array], extents: Sequence[int]) -> bool:
    """Whether the coordinates of entries, an array for each mode, are valid for the extents, and
    come after those of the entry before. The arrays have one length and one type of index, and are
    each in one piece."""
    check = _list_check(coordinates[0].dtype)
    if check is None:
        inside = (
            len(one) == 0 or (one.min() >= 0 and one.max() < extent)
            for one, extent in zip(coordinates, extents, strict=True)
        )
        return all(inside) and increase(coordinates)
    modes = len(coordinates)
    numbers = Struct(f"{modes}q").pack
    places = numbers(*map(address, coordinates))
    return bool(check(places, numbers(*extents), modes, len(coordinates[0])))


_PLACE, _NUMBER = ctypes.c_void_p, ctypes.c_int64


@cache
def _row_check(index: np.dtype[Any]) -> Any:
    arguments = (_PLACE, _PLACE, _NUMBER, _NUMBER, _NUMBER)
    return _function(f"rows_{_INDICES.get(index)}", arguments, _NUMBER)


@cache
def _list_check(index: np.dtype[Any]) -> Any:
    return _function(f"list_{_INDICES[index]}", (_PLACE, _PLACE, _NUMBER, _NUMBER), ctypes.c_int)


@cache
def _turn(index: np.dtype[Any], size: int) -> Any:
    arguments = (*[_PLACE] * 3, _NUMBER, _NUMBER, *[_PLACE] * 3)
    return _function(f"turned_{_INDICES[index]}_{_VALUES[size]}", arguments, None)


def _function(name: str, arguments: tuple[Any, ...], result: Any) -> Any:
    """A function of ``index_arrays.c``; None where it has none, or no compiler makes it."""
    found = getattr(_library(), f"custard_{name}", None)
    if found is not None:
        found.argtypes, found.restype = arguments, result
    return found


@cache
def _library() -> Any:
    source = resources.files("custard.to_c").joinpath("index_arrays.c").read_text()
    try:
        (library,) = c_compiler.build([source])
    except UserError:
        return None
    return library
