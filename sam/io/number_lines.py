"""Lines of numbers, read and written at the speed of scipy's MatrixMarket reader and writer.

``scan`` reads well-formed lines alone, and gives None for all others: the caller then reads line
by line, in Python, and says which line is wrong.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from sam.levels import Ints

_CHUNK = 1 << 20
_SIZE = 2**62

# With each digit as 0, the lines of a file take few forms, so that each form is looked at once.
_TO_FORM = bytes.maketrans(b"0123456789\t\rdD", b"0000000000  ee")
_PLAIN = bytes.maketrans(b"\t\rdD", b"  ee")
_TO_LINES = bytes.maketrans(b" ", b"\n")

# A float64 holds integers of 15 digits exactly, and an int64 those of 18.
_COORDINATE = rb"0{1,15}"
_VALUES = {
    "real": rb"-?(?:(?:0+\.?0*|\.0+)(?:[eE][-+]?0{1,9})?|[nN][aA][nN]|[iI][nN][fF](?:inity)?)",
    "integer": rb"-?0{1,18}",
}


def scan(data: bytes, begin: int, modes: int, value: str) -> tuple[Ints, Any] | None:
    """Coordinates (modes, lines), as they stand there, and values of the lines from ``begin`` on.

    ``value`` is the type of the values: float64, int64, complex128, or none where it is empty, and
    1.0 is meant. Blank lines are passed over. None where some line is anything but as many plain
    numbers; the result is then not known to be wrong.
    """
    field = "integer" if value == "int64" else "real"
    numbers = modes + {"complex128": 2, "": 0}.get(value, 1)
    lines = _count_lines(data, begin, modes, field, numbers - modes)
    if not lines:
        return None
    if any(other in data for other in (b"\t", b"\r", b"d", b"D")):
        data, begin = data[begin:].translate(_PLAIN), 0
    body = memoryview(data)[begin:]
    try:
        table = _read(body, lines, modes, numbers, field)
    except Exception:  # of any kind: the slow reader finds out whether something is wrong
        return None
    if table is None:
        return None
    coordinates = np.empty((modes, lines), np.int64)
    for mode in range(modes):
        coordinates[mode] = table[mode]
    if not value:
        return coordinates, np.ones(lines)
    if value == "complex128":
        values = np.empty(lines, np.complex128)
        values.real, values.imag = table[modes], table[modes + 1]
        return coordinates, values
    return coordinates, np.ascontiguousarray(table[modes], value)


def entries(coordinates: Ints, values: Any) -> bytes:
    """A line for each entry: its coordinates, counted from 1, and its value.

    Values read back as they were. Beyond 100,000 entries, real values have the short form of
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
    if len(coordinates) >= 2 and len(values) > _FEW and kind != "c":
        inner = coordinates[-2:]
        shape = [int(mode.max()) + 1 for mode in inner]
        import scipy.sparse

        body = _body(scipy.sparse.coo_array((values, tuple(inner)), shape=shape))
        if len(coordinates) == 2:
            return body
        outer = [_texts(mode + 1) for mode in coordinates[:-2]]
        return _joined([*outer, np.array(body.split(b"\n")[:-1], "S")])
    parts = [values.real, values.imag] if kind == "c" else [values]
    return _joined([_texts(column) for column in (*(coordinates + 1), *parts)])


_FEW = 100_000


def _texts(values: Any) -> Any:
    """The values, real or integer, as an array of byte strings."""
    if len(values) <= _FEW:
        return np.array([repr(value).encode() for value in values.tolist()], "S")
    return np.array(_body(values.reshape(-1, 1)).split(b"\n")[:-1], "S")


def _body(matrix: Any) -> bytes:
    """The lines that scipy writes for a matrix, without the head."""
    packed = io.BytesIO()
    import scipy.io

    scipy.io.mmwrite(packed, matrix, symmetry="general")
    text = packed.getvalue()
    begin = 0
    for _ in range(3):  # the banner, an empty comment, the sizes
        begin = text.index(b"\n", begin) + 1
    return text[begin:]


def _joined(columns: Sequence[Any]) -> bytes:
    """Lines with one of each column's byte strings, set apart by spaces."""
    parts: list[Any] = []
    for column in columns:
        width = column.dtype.itemsize
        parts += [column.view(np.uint8).reshape(-1, width), np.full((len(column), 1), 32, np.uint8)]
    parts[-1] = np.full((len(columns[0]), 1), 10, np.uint8)
    # numpy pads its byte strings with zero bytes.
    return np.hstack(parts).tobytes().translate(None, b"\0")


def _count_lines(data: bytes, begin: int, modes: int, field: str, values: int) -> int:
    """The number of lines from ``begin`` on that are not blank; 0 where one is not what is due."""
    form = _form(modes, field, values)
    count = 0
    seen: set[bytes] = set()
    while begin < len(data):
        end = data.find(b"\n", begin + _CHUNK)
        end = len(data) if end < 0 else end
        chunk = data[begin:end].translate(_TO_FORM).split(b"\n")
        begin = end + 1
        forms = set(chunk)
        if not all(map(form.fullmatch, forms - seen)):
            return 0
        blank = [text for text in forms if not text.strip()]
        count += len(chunk) - sum(map(chunk.count, blank))
        seen |= forms
    return count


@functools.cache
def _form(modes: int, field: str, values: int) -> re.Pattern[bytes]:
    words = [_COORDINATE] * modes + [_VALUES[field]] * values
    return re.compile(rb" *(?:" + rb" +".join(words) + rb" *)?")


def _read(body: memoryview, lines: int, modes: int, numbers: int, field: str) -> Any:
    """The numbers of each column, by the layout of MatrixMarket that has as many on a line."""
    if numbers == 2 and field == "real":
        values = _market(f"array complex general\n{lines} 1", body)[:, 0]
        return values.real, values.imag
    if modes >= 2 and (numbers == 3 or (numbers == 4 and field == "real")):
        kind = field if numbers == 3 else "complex"
        found = _market(f"coordinate {kind} general\n{_SIZE} {_SIZE} {lines}", body)
        if len(found.data) != lines:
            return None
        columns = (found.data,) if numbers == 3 else (found.data.real, found.data.imag)
        return (found.row.astype(np.int64) + 1, found.col.astype(np.int64) + 1, *columns)
    table = _market(f"array {field} general\n{lines * numbers} 1", bytes(body).translate(_TO_LINES))
    return table.reshape(lines, numbers).T


def _market(head: str, body: memoryview | bytes) -> Any:
    # Without the last line end, scipy's reader reads beyond the end where a space is there.
    text = b"".join((b"%%MatrixMarket matrix ", head.encode(), b"\n", body, b"\n"))
    import scipy.io

    return scipy.io.mmread(io.BytesIO(text))
