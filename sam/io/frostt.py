"""FROSTT (http://frostt.io/tensors/file-formats.html): a line for each entry.

A line has the coordinates, counted from 1, and then the value. ParTI writes a header with the
number of modes and the shape; MLIR's extended FROSTT, announced by a comment, has the number of
modes and of entries, and the shape. Some programs write coordinates that count from 0, and some
no values: a reader must be told of both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sam.io import number_lines
from sam.io.text import Text
from sam.support.errors import UserError
from sam.tensor import Tensor

_GIVE_SHAPE = "give it: sam.io.read(path, shape=(3, 4)), or --dims i=3,j=4"
_SIZE = re.compile(r"[0-9]{1,18}")
_EXTENDED = re.compile(rb"\s*#\s*extended\s+frostt", re.IGNORECASE)
_IS_PATTERN = "sam.io.read(path, pattern=True), or -i A={}:pattern, gives each entry the value 1"
_FROM_0 = "sam.io.read(path, zero_based=True), or -i A={}:0-based, counts from 0"


@dataclass(frozen=True)
class _Header:
    """The number of lines of a header; the shape and the number of entries, where it tells them."""

    lines: int = 0
    shape: tuple[int, ...] | None = None
    entries: int | None = None


def read(
    name: str,
    data: bytes,
    shape: Sequence[int] | None = None,
    modes: int | None = None,
    pattern: bool = False,
    zero_based: bool = False,
) -> Tensor:
    """The tensor in a file's bytes; raises UserError, which names the file and the line.

    Without a header the shape is ``shape``, or else the smallest that holds the entries. ``modes``
    is the number of modes that the caller expects, if any; with ``pattern`` no line has a value,
    and 1.0 is meant; with ``zero_based`` coordinates count from 0.
    """
    text = Text(name, data)
    expected = modes if shape is None else len(shape)
    header = _header(text, _EXTENDED.match(data) is not None, expected, pattern)
    shape = shape if header.shape is None else header.shape
    first = text.first(header.lines + 1)[header.lines :]
    if shape is None and not first:
        raise UserError(f"{name} has no entries, so its shape is not known", hint=_GIVE_SHAPE)
    words = len(first[0].split()) if first else 0
    if shape is not None:
        expected = len(shape)
    if words and words == expected and not pattern and expected > 0:
        raise text.error(
            header.lines,
            f"a tensor of {expected} mode{'s' * (expected > 1)} has {words + 1} numbers on a line, "
            f"not {words}: its values are missing",
            hint=_IS_PATTERN.format(name),
        )
    modes = words - (not pattern) if shape is None else len(shape)
    coordinates, values = text.table(header.lines, modes, "" if pattern else "float64")
    if header.entries is not None:
        text.require_entries(len(values), header.entries, 0)
    base = 0 if zero_based else 1
    if shape is None:
        shape = tuple((coordinates.max(axis=1, initial=base - 1) + (1 - base)).tolist())
        if any(extent < 0 for extent in shape):  # 2^63 - 1, and one more
            raise UserError(f"{name} has a coordinate that does not fit in 64 bits")
    try:
        return Tensor.from_coo(
            text.zero_based(header.lines, coordinates, shape, base), values, shape
        )
    except UserError as mistake:
        if base == 1 and (coordinates == 0).any() and not (coordinates < 0).any():
            raise UserError(
                mistake.what,
                source=mistake.source,
                span=mistake.span,
                hint=_FROM_0.format(name),
            ) from None
        raise


def _header(text: Text, extended: bool, expected: int | None, pattern: bool) -> _Header:
    """The header in the first lines.

    Entries have one number more than modes, so that no plain file begins like one with a header,
    but for one of two lines of two numbers: the comment or the number of modes that is expected
    decides there.
    """
    lines = text.first(3)
    lengths = [len(line.split()) for line in lines]
    words = lines[0].split() if lines else []
    if not (1 <= len(words) <= 2 and all(map(_SIZE.fullmatch, words))):
        if extended:
            raise UserError(f"{text.name} has no line with the number of modes and of entries")
        return _Header()
    if extended and len(lengths) < 2:
        raise UserError(f"{text.name} ends before its shape")
    modes = int(words[0]) if len(words[0]) < 5 else -1
    numbers = modes + (not pattern)
    sized = len(lengths) > 1 and lengths[1] == modes
    fits = sized and lengths[2:] in ([], [numbers], [modes])
    if extended and not sized:
        raise text.error(
            1, f"expected {modes} sizes, not {lengths[1]}" if modes >= 0 else "no shape"
        )
    if extended and not fits:
        raise text.error(2, f"expected {numbers} numbers, not {lengths[2]}")
    if not fits or (not extended and expected not in (None, modes)):
        return _Header()
    told = _Header(2, tuple(text.integers(1, "a size")), int(words[1]) if words[1:] else None)
    if lengths == [2, 2] and not extended and expected is None:
        if told.entries != 0:
            return _Header()
        raise UserError(
            f"{text.name} is a vector of two entries, or the header of an empty matrix",
            hint="begin it with the line # extended FROSTT format, or give the number of modes: "
            "sam.io.read(path, modes=2)",
        )
    if lengths == [2, 2] and told.entries not in (0, None):
        return _Header()
    return told


def write(name: str, tensor: Tensor) -> bytes:
    """The file's bytes; raises UserError for complex values."""
    if tensor.dtype.kind == "c":
        raise UserError(f"{name}: a .tns file has no complex values", hint="write a .ttx file")
    coordinates, values = tensor.to_coo()
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    return number_lines.entries(coordinates, values)
