"""Lines of numbers, read in C, and written at the speed of scipy's MatrixMarket writer.

``scan`` reads well-formed lines of large files alone, and gives None for all others: the caller
then reads line by line, in Python, and says which line is wrong.
"""

from __future__ import annotations

import ctypes
import io
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from sam.levels import Ints
from sam.support import c_compiler
from sam.support.errors import UserError

# Fewer bytes are read in Python before the functions in C are loaded.
_LEAST_BYTES = 1 << 18
# How many numbers make a value of a type, and whether those are integers.
_VALUES = {"": (0, False), "int64": (1, True), "float64": (1, False), "complex128": (2, False)}


def scan(data: bytes, begin: int, modes: int, value: str) -> tuple[Ints, Any] | None:
    """Coordinates (modes, lines), as they stand there, and values of the lines from ``begin`` on.

    ``value`` is the type of the values: float64, int64, complex128, or none where it is empty, and
    1.0 is meant. Blank lines are passed over. None where there is little to read or no C compiler,
    and where some line is anything but as many plain numbers: coordinates of 1 to 15 digits,
    integers of 1 to 18, decimals, infinity and nan, the values with or without a minus.
    """
    if len(data) - begin < _LEAST_BYTES or (functions := _functions()) is None:
        return None
    if not data.endswith(b"\n"):
        data = data[begin:] + b"\n"
        begin = 0
    body = np.frombuffer(data, np.uint8, offset=begin)
    text = body.ctypes.data, len(body)
    numbers, are_integers = _VALUES[value]
    room = functions.sam_line_ends(*text)
    coordinates = np.empty((modes, room), np.int64)
    values = np.empty(room, value) if value else np.ones(room)
    lines = functions.sam_read_lines(
        *text,
        _powers_of_five().ctypes.data,
        modes,
        coordinates.ctypes.data,
        room,
        numbers,
        are_integers,
        values.ctypes.data,
    )
    if lines < 1:
        return None
    return coordinates[:, :lines], values[:lines]


@cache
def _powers_of_five() -> Any:
    """5^n for n from -342 to 308: the first 128 bits, as two words each, the high one first.

    Those of -27 to -1 are rounded up, as Eisel and Lemire's algorithm has it.
    """
    words = []
    for power in range(-342, 309):
        five = 5 ** abs(power)
        bits = five.bit_length()
        if power < 0:
            found = 2 ** (bits + 127) // five + (power >= -27)
        else:
            found = five << (128 - bits) if bits <= 128 else five >> (bits - 128)
        words += [found >> 64, found & (2**64 - 1)]
    return np.array(words, np.uint64)


def entries(coordinates: Ints, values: Any) -> bytes:
    """A line for each entry: its coordinates, counted from 1, and its value.

    Values read back as they were. Beyond 10,000 entries, real values have the short form of
    scipy's writer (5E-1).
    """
    kind = values.dtype.kind
    if kind == "b":
        values = values.astype(np.int64)
    elif kind == "f":
        values = values.astype(np.float64)
    elif kind == "c":
        values = values.astype(np.complex128)
    if len(values) == 0:
        return b""
    if len(values) > _FEW:
        return _behind(coordinates, _values(values))
    parts = [values.real, values.imag] if kind == "c" else [values]
    columns = [*(coordinates + 1).tolist(), *([repr(v) for v in part.tolist()] for part in parts)]
    line = " ".join(["%s"] * len(columns)) + "\n"
    return "".join([line % numbers for numbers in zip(*columns, strict=True)]).encode()


_FEW = 10_000


def _behind(coordinates: Ints, values: memoryview) -> bytes:
    """Lines of coordinates, counted from 1, in front of the lines of values."""
    if len(coordinates) == 0:
        return values.tobytes()
    functions = _functions()
    if functions is None:
        columns = [*(coordinates + 1).astype("S"), np.array(values.tobytes().split(b"\n")[:-1])]
        return b"".join([b" ".join(words) + b"\n" for words in zip(*columns, strict=True)])
    coordinates = np.ascontiguousarray(coordinates)
    width = sum(len(str(int(mode.max()) + 1)) + 1 for mode in coordinates)
    lines = np.empty(coordinates.shape[1] * width + len(values), np.uint8)
    body = np.frombuffer(values, np.uint8)
    size = functions.sam_write_lines(
        *coordinates.shape, coordinates.ctypes.data, body.ctypes.data, lines.ctypes.data
    )
    return lines[:size].tobytes()


def _values(values: Any) -> memoryview:
    """A line for each value, as scipy writes them."""
    packed = io.BytesIO()
    import scipy.io

    scipy.io.mmwrite(packed, values.reshape(-1, 1), symmetry="general")
    text = packed.getvalue()
    begin = 0
    for _ in range(3):  # the banner, an empty comment, the sizes
        begin = text.index(b"\n", begin) + 1
    return memoryview(text)[begin:]


@cache
def _functions() -> ctypes.CDLL | None:
    """The functions of ``number_lines.c``; None where no compiler makes them."""
    source = resources.files("sam.io").joinpath("number_lines.c").read_text()
    try:
        (library,) = c_compiler.build([source])
    except UserError:
        return None
    place, number = ctypes.c_void_p, ctypes.c_int64
    library.sam_line_ends.argtypes = (place, number)
    library.sam_read_lines.argtypes = (
        *(place, number, place, number, place, number, number, number, place),
    )
    library.sam_write_lines.argtypes = (number, number, place, place, place)
    for function in (library.sam_line_ends, library.sam_read_lines, library.sam_write_lines):
        function.restype = number
    return library
