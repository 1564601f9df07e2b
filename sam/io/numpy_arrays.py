"""The arrays in a .npy or .npz file, without trust in what their headers say.

A header is matched against the few forms that numpy writes; it is never evaluated. Its shape must
fill the bytes that follow it, and a member of a .npz file cannot be larger than deflate could
have packed into it, so that a small file never takes much memory.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from sam.io.compression import MOST_EXPANSION
from sam.io.text import short
from sam.support.errors import UserError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_LONGEST_START, _PIECE = 12 + _LONGEST_HEADER, 2**20
_MOST_MEMBERS = 1000
_MOST_MODES = 64
_ITEM = (
    r"""\s*['"](?:"""
    r"""descr['"]\s*:\s*(?P<descr>'[^'"]*'|"[^'"]*"|\[[^{}]*\])|"""
    r"""fortran_order['"]\s*:\s*(?P<fortran>True|False)|"""
    r"""shape['"]\s*:\s*\((?P<shape>[\d,L ]*)\))\s*"""
)
_ITEM_PATTERN = re.compile(_ITEM)


def load(name: str, data: bytes | bytearray) -> Any:
    """The array in the file's bytes, or a dict of its arrays; raises UserError.

    The array of a .npy file shares a bytearray.
    """
    if data.startswith(_MAGIC):
        return _array(name, data, _header(name, bytes(data[:_LONGEST_START]), len(data)))
    if data.startswith(b"PK"):
        return _archive(name, data)
    raise UserError(f"{name} is not a numpy file")


@dataclass(frozen=True)
class _ArrayHeader:
    """What comes before the bytes of an array, which ``begin`` at a place; ``fortran`` tells that
    the first mode is the fastest."""

    begin: int
    dtype: np.dtype[Any]
    fortran: bool
    shape: tuple[int, ...]


def _header(name: str, start: bytes, length: int) -> _ArrayHeader:
    """The header of a .npy file of that length, which begins with ``start``."""
    version = start[6:8]
    width = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}.get(version)
    if width is None or length < 8 + width:
        raise UserError(f"{name} is not a numpy file: its version is not known")
    size = int.from_bytes(start[8 : 8 + width], "little")
    begin = 8 + width + size
    if size > _LONGEST_HEADER or begin > length:
        raise UserError(f"{name} is not a numpy file: its header has {size} bytes")
    text = start[8 + width : begin].decode("utf-8" if width == 4 else "latin-1", "replace")
    header = _ArrayHeader(begin, *_parsed(name, text))
    due, found = math.prod(header.shape) * header.dtype.itemsize, length - begin
    if due != found:
        raise UserError(
            f"{name} is not valid: an array of {header.dtype} of the shape {header.shape} has "
            f"{due} bytes, and {found} follow its header"
        )
    return header


def _array(name: str, data: Any, header: _ArrayHeader) -> Any:
    """The array in a buffer, which it shares if it may write to it."""
    dtype, begin = header.dtype, header.begin
    if dtype.kind == "U" and _has_no_characters(dtype, data, begin):
        raise UserError(f"{name} is not valid: its text has codes that are no characters")
    try:
        flat = np.frombuffer(data, dtype, math.prod(header.shape), begin)
        array = flat.reshape(header.shape, order="F" if header.fortran else "C")
    except ValueError as error:
        raise UserError(f"{name} is not valid: {error}") from error
    return array.astype(dtype.newbyteorder("="), copy=not array.flags.writeable)


def _has_no_characters(dtype: np.dtype[Any], data: Any, begin: int) -> bool:
    """Whether a text of that type has codes beyond Unicode, on which Python fails."""
    codes = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder), offset=begin)
    return bool((codes > 0x10FFFF).any())


def _parsed(name: str, header: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    """The type, whether the first mode is the fastest, and the shape."""
    found: dict[str, str] = {}
    text = header.strip()
    inner = text[1:-1].strip().removesuffix(",") if text[:1] + text[-1:] == "{}" else ""
    place = 0
    while item := _ITEM_PATTERN.match(inner, place):
        found |= {key: value for key, value in item.groupdict().items() if value is not None}
        place = item.end()
        if place == len(inner) or inner[place] != ",":
            break
        place += 1
    if place != len(inner) or len(found) != 3:
        raise UserError(f"{name} is not a numpy file: its header is {short(text)}")
    if found["descr"].startswith("["):
        raise UserError(f"{name} has records, not numbers", hint="save one field: array['x']")
    try:
        dtype = np.dtype(found["descr"][1:-1])
    except (TypeError, ValueError, SyntaxError) as error:
        raise UserError(f"{name} is not a numpy file: {short(str(error))}") from error
    if dtype.hasobject:
        raise UserError(f"{name} is not a numpy file of numbers: it has Python objects")
    if dtype.kind not in "biufcSU":
        raise UserError(f"{name}: values of the type {dtype} are not numbers")
    extents = [word.strip().removesuffix("L") for word in found["shape"].split(",")]
    if len(extents) > 1 and not extents[-1]:
        extents.pop()
    if extents == [""]:
        extents = []
    if len(extents) > _MOST_MODES or not all(
        extent.isdecimal() and len(extent) < 19 for extent in extents
    ):
        raise UserError(f"{name} is not valid: ({short(found['shape'])}) is not a shape")
    return dtype, found["fortran"] == "True", tuple(map(int, extents))


def _archive(name: str, data: bytes | bytearray) -> dict[str, Any]:
    """The arrays in the bytes of a .npz file, by name."""
    arrays: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS:
                raise UserError(f"{name} has {len(members)} arrays")
            room = MOST_EXPANSION * len(data)
            for member in members:
                room -= member.file_size
                if room < 0 or member.compress_size > len(data):
                    raise UserError(f"{name} says that it has more bytes than it can hold")
                key = member.filename.removesuffix(".npy")
                if key in arrays:
                    raise UserError(f"{name} has two arrays named {short(key)}")
                with archive.open(member) as stream:
                    arrays[key] = _member(f"{name}, {short(key)}", stream, member.file_size)
    except (UserError, MemoryError):
        raise
    except Exception as error:  # zipfile raises errors of a dozen types for damaged archives
        raise UserError(f"{name} is damaged or cut off: {short(str(error))}") from error
    return arrays


def _member(name: str, stream: IO[bytes], length: int) -> Any:
    """The array in a stream of so many bytes, unpacked piece by piece into its own memory."""
    start = stream.read(_LONGEST_START)
    if not start.startswith(_MAGIC):
        raise UserError(f"{name} is not a numpy array")
    header = _header(name, start, length)
    data = np.empty(length, np.uint8)
    at, piece = 0, start
    while piece and at + len(piece) <= length:
        data[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
        piece = stream.read(_PIECE)
    if piece or at < length:
        raise UserError(f"{name} does not have {length} bytes")
    return _array(name, data, header)
