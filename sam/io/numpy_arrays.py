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
from typing import Any

import numpy as np

from sam.io.compression import MOST_EXPANSION
from sam.io.text import short
from sam.support.errors import UserError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_MOST_MEMBERS = 1000
_MOST_MODES = 64
_ITEM = (
    r"""\s*['"](?:"""
    r"""descr['"]\s*:\s*(?P<descr>'[^'"]*'|"[^'"]*"|\[[^{}]*\])|"""
    r"""fortran_order['"]\s*:\s*(?P<fortran>True|False)|"""
    r"""shape['"]\s*:\s*\((?P<shape>[\d,L ]*)\))\s*"""
)
_ITEM_PATTERN = re.compile(_ITEM)


def load(name: str, data: bytes) -> Any:
    """The array in the file's bytes, or a dict of its arrays; raises UserError."""
    if data.startswith(_MAGIC):
        return _array(name, data)
    if data.startswith(b"PK"):
        return _archive(name, data)
    raise UserError(f"{name} is not a numpy file")


def _array(name: str, data: bytes) -> Any:
    """The array in the bytes of a .npy file."""
    version = data[6:8]
    width = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}.get(version)
    if width is None or len(data) < 8 + width:
        raise UserError(f"{name} is not a numpy file: its version is not known")
    length = int.from_bytes(data[8 : 8 + width], "little")
    begin = 8 + width + length
    if length > _LONGEST_HEADER or begin > len(data):
        raise UserError(f"{name} is not a numpy file: its header has {length} bytes")
    header = data[8 + width : begin].decode("utf-8" if width == 4 else "latin-1", "replace")
    dtype, fortran, shape = _header(name, header)
    size = math.prod(shape) * dtype.itemsize
    found = len(data) - begin
    if size != found:
        raise UserError(
            f"{name} is not valid: an array of {dtype} of the shape {shape} has {size} bytes, "
            f"and {found} follow its header"
        )
    if dtype.kind == "U" and _has_no_characters(dtype, data[begin:]):
        raise UserError(f"{name} is not valid: its text has codes that are no characters")
    try:
        flat = np.frombuffer(data, dtype, math.prod(shape), begin)
        array = flat.reshape(shape, order="F" if fortran else "C")
    except ValueError as error:
        raise UserError(f"{name} is not valid: {error}") from error
    return array.astype(dtype.newbyteorder("="))  # a copy, which can be written to


def _has_no_characters(dtype: np.dtype[Any], data: bytes) -> bool:
    """Whether a text of that type has codes beyond Unicode, on which Python fails."""
    codes = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
    return bool((codes > 0x10FFFF).any())


def _header(name: str, header: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
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


def _archive(name: str, data: bytes) -> dict[str, Any]:
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
                    stored = stream.read(member.file_size + 1)
                where = f"{name}, {short(key)}"
                if not stored.startswith(_MAGIC):
                    raise UserError(f"{where} is not a numpy array")
                arrays[key] = _array(where, stored)
    except UserError:
        raise
    except Exception as error:  # zipfile raises errors of a dozen types for damaged archives
        raise UserError(f"{name} is not a numpy file: {short(str(error))}") from error
    return arrays
