"""Checks of the parts of tensors: formats, shapes, coordinates, values, levels made by hand."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sam.levels import LEVELS, Ints, Level
from sam.support.errors import UserError

Array = NDArray[Any]

# The types of values, by the kind of numpy type that widens to them.
_TYPES = {
    "b": ("bool",),
    "i": ("int32", "int64"),
    "u": ("int32", "int64"),
    "f": ("float32", "float64"),
    "c": ("complex64", "complex128"),
}
VALUE_TYPES = tuple(dict.fromkeys(np.dtype(name) for names in _TYPES.values() for name in names))


def checked_format(
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
            f'the format "{codes}" has {counted(len(codes), "level")}, '
            f"the tensor has {counted(ndim, 'mode')}"
        )
    if mode_order is None:
        return codes, tuple(range(ndim))
    require_mode_order(mode_order, ndim)
    return codes, tuple(int(mode) for mode in mode_order)


def require_mode_order(mode_order: Sequence[int], ndim: int) -> None:
    """Raises UserError unless each mode is listed once."""
    if not _is_listed(mode_order) or sorted(mode_order) != list(range(ndim)):
        told = tuple(mode_order) if isinstance(mode_order, Iterable) else mode_order
        raise UserError(
            f"{told!r} is not an order of {counted(ndim, 'mode')}",
            hint="each mode once, counted from 0",
        )


def _is_listed(numbers: Any) -> bool:
    """Whether this is a sequence of whole numbers."""
    return isinstance(numbers, Sequence | np.ndarray) and all(
        isinstance(one, int | np.integer) for one in numbers
    )


def checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The extents as Python's integers. Raises UserError unless they are a shape."""
    try:
        extents = tuple(operator.index(size) for size in shape)
    except TypeError as error:
        raise UserError(f"{tuple(shape)} is not a shape: extents are whole numbers") from error
    if min(extents, default=0) < 0:
        raise UserError(f"{extents} is not a shape: extents are at least 0")
    return extents


def checked_coordinates(coordinates: ArrayLike, values: Array, shape: tuple[int, ...]) -> Ints:
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


def numbers(values: Array) -> Array:
    """The values in one of the seven types; raises UserError."""
    if values.dtype.kind == "O" and all(isinstance(value, int) for value in values.flat):
        try:
            values = values.astype(np.int64)
        except OverflowError:
            largest = max(values.flat, key=abs)
            raise UserError(f"the value {largest} does not fit in 64 bits") from None
    if values.dtype.kind not in _TYPES:
        raise UserError(f"values of the type {values.dtype} are not numbers")
    if values.dtype == np.uint64 and (values > np.iinfo(np.int64).max).any():
        raise UserError(f"the value {values.max()} does not fit in 64 bits with a sign")
    types = _TYPES[values.dtype.kind]
    wide_enough = (name for name in types if np.can_cast(values.dtype, name))
    return values.astype(next(wide_enough, types[-1]), copy=False)


def require_parts(shape: Sequence[Any], levels: Sequence[Any], values: Any) -> None:
    """Raises UserError unless the parts of a tensor have their declared types."""
    if not _is_listed(shape) or any(extent < 0 for extent in shape):
        raise UserError(f"{shape!r} is not a shape", hint="whole numbers of at least 0")
    for level in levels:
        if not isinstance(level, Level):
            raise UserError(
                f"{type(level).__name__} is not a level", hint="as in sam.levels.Dense(5)"
            )
        for part in fields(level):
            _check_part(level, part.name, getattr(level, part.name), part.type == "int")
    if not isinstance(values, np.ndarray):
        raise UserError(f"the values are {type(values).__name__}, not a numpy array")


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


def plain(level: Level) -> Level:
    """The level with arrays where it was made of lists, and Python's numbers, which do not wrap
    around, where it was made of numpy's."""
    changed: dict[str, Any] = {}
    for part in fields(level):
        given = getattr(level, part.name)
        if isinstance(given, list | tuple):
            changed[part.name] = np.asarray(given, np.uint64 if part.name == "words" else np.int64)
        elif isinstance(given, np.integer):
            changed[part.name] = int(given)
    return replace(level, **changed) if changed else level


def widened(level: Level) -> Level:
    """The level with 64 bits for each index."""
    arrays = {part.name: getattr(level, part.name) for part in fields(level)}
    narrow = {
        name: array.astype(np.int64)
        for name, array in arrays.items()
        if isinstance(array, np.ndarray) and array.dtype == np.int32
    }
    return replace(level, **narrow) if narrow else level


def narrowed(levels: Sequence[Level], sizes: Sequence[int]) -> tuple[Level, ...]:
    """The levels with 32 bits for each index if ``sizes``, positions and offsets fit, else with 64;
    each array in one piece."""
    parts = [
        {name: part for name, part in vars(level).items() if isinstance(part, np.ndarray)}
        for level in levels
    ]
    positions = (len(array) for arrays in parts for array in arrays.values())
    offsets = (abs(one["offsets"]).max(initial=0) for one in parts if "offsets" in one)
    index = np.int64 if max([*sizes, *positions, *offsets]) > _MOST_NARROW else np.int32
    found = []
    for level, arrays in zip(levels, parts, strict=True):
        new = {
            name: np.ascontiguousarray(array, np.uint64 if name == "words" else index)
            for name, array in arrays.items()
        }
        same = all(new[name] is array for name, array in arrays.items())
        found.append(level if same else replace(level, **new))
    return tuple(found)


_MOST_NARROW = np.iinfo(np.int32).max


def counted(n: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
