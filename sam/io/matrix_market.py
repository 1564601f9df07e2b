"""MatrixMarket (https://math.nist.gov/MatrixMarket/formats.html), and TACO's tensors in it.

A file is an object (matrix, vector, tensor), a layout (coordinate, array), a field (the type of
the values) and a symmetry; the sizes follow, and then a line for each entry. Entries that stand
twice are summed. Of a symmetric matrix either triangle may be listed, but no entry in both.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sam.io import number_lines
from sam.io.text import Text, count
from sam.levels import Ints
from sam.support.errors import UserError, one_of
from sam.tensor import Tensor

_log = logging.getLogger(__name__)

_OBJECTS = ("matrix", "vector", "tensor")
_FIELDS = {
    "real": "float64",
    "double": "float64",
    "integer": "int64",
    "unsigned-integer": "int64",
    "complex": "complex128",
    "pattern": "",
}
_MIRRORS: dict[str, Callable[[Any], Any]] = {
    "symmetric": lambda values: values,
    "skew-symmetric": lambda values: -values,
    "hermitian": np.conj,
}


def read(name: str, data: bytes) -> Tensor:
    """The tensor in a file's bytes; raises UserError, which names the file and the line."""
    line_end = data.find(b"\n")
    banner = Text(name, data if line_end < 0 else data[:line_end], comment="\0")
    kind, layout, field, symmetry = _read_banner(banner)
    text = Text(name, data, comment="%")
    if not text.first(1):
        raise UserError(f"{name} ends before its line of sizes")
    sizes = text.integers(0, "a size")
    shape = tuple(sizes if layout == "array" else sizes[:-1])
    modes = {"matrix": 2, "vector": 1}.get(kind, len(shape))
    if len(shape) != modes or len(sizes) == 0:
        sizes_due = modes + (layout == "coordinate")
        raise text.error(0, f"expected {count(sizes_due, 'size')}, not {len(sizes)}")
    if symmetry != "general" and (modes != 2 or shape[0] != shape[1]):
        raise text.error(0, f"a {symmetry} matrix is square")
    if field == "" and modes == 0:
        raise text.error(0, "a pattern needs modes")
    if layout == "array":
        return _read_array(text, shape, field, symmetry)
    coordinates, values = text.table(1, modes, field)
    text.require_entries(len(values), sizes[-1], 0)
    coordinates = text.zero_based(1, coordinates, shape)
    if symmetry != "general":
        _require_one_triangle(text, coordinates, symmetry)
        _tell_diagonal(text, coordinates[0] == coordinates[1], values, symmetry)
        off = coordinates[0] != coordinates[1]
        coordinates = np.hstack([coordinates, coordinates[::-1, off]])
        values = np.concatenate([values, _MIRRORS[symmetry](values[off])])
    return Tensor.from_coo(coordinates, values, shape)


def _require_one_triangle(text: Text, coordinates: Ints, symmetry: str) -> None:
    """Raises UserError where an entry and its mirror image are both listed."""
    rows, columns = coordinates
    lower, upper = np.flatnonzero(rows > columns), np.flatnonzero(rows < columns)
    if not (len(lower) and len(upper)):
        return
    mirrored = set(zip(columns[upper].tolist(), rows[upper].tolist(), strict=True))
    for n in lower.tolist():
        row, column = int(rows[n]), int(columns[n])
        if (row, column) in mirrored:
            raise text.error(
                1 + n,
                f"the matrix is {symmetry}, and lists both entry ({row + 1}, {column + 1}) "
                f"and entry ({column + 1}, {row + 1})",
                hint="list one triangle, or name the matrix general",
            )


_DIAGONALS = {"skew-symmetric": "zeros", "hermitian": "real values"}


def _tell_diagonal(text: Text, on_diagonal: Any, values: Any, symmetry: str) -> None:
    """Logs a warning where a value on the diagonal contradicts the symmetry.

    The value is kept, as other readers do.
    """
    contradicts = np.flatnonzero(on_diagonal & _contradicts_on_diagonal(values, symmetry))
    if len(contradicts):
        _log.warning(
            "%s, line %d: a %s matrix has %s on its diagonal, and this one has %s",
            text.name,
            text.number(1 + contradicts[0]),
            symmetry,
            _DIAGONALS[symmetry],
            values[contradicts[0]],
        )


def _contradicts_on_diagonal(values: Any, symmetry: str) -> Any:
    if symmetry == "skew-symmetric":
        return values != 0
    if symmetry == "hermitian" and values.dtype.kind == "c":
        return values.imag != 0
    return np.zeros(len(values), bool)


def _read_banner(header: Text) -> tuple[str, str, str, str]:
    """The object, the layout, the type of the values, and the symmetry."""
    words = "".join(header.first(1)).lower().split()
    if words[:1] != ["%%matrixmarket"]:
        raise UserError(
            f"{header.name} does not begin with %%MatrixMarket",
            hint="%%MatrixMarket matrix coordinate real general",
        )
    if len(words) != 5:
        raise header.error(0, "expected an object, a layout, a field and a symmetry")
    known = (_OBJECTS, ("coordinate", "array"), _FIELDS, ("general", *_MIRRORS))
    for n, (word, those) in enumerate(zip(words[1:], known, strict=True), 1):
        if word not in those:
            raise header.error(0, f'"{word}" is not known here', n, one_of(word, those))
    kind, layout, field, symmetry = words[1:]
    if field == "pattern" and (layout == "array" or symmetry not in ("general", "symmetric")):
        what = layout if layout == "array" else symmetry
        raise header.error(0, f"a pattern cannot be {what}", 3)
    return kind, layout, _FIELDS[field], symmetry


def _read_array(text: Text, shape: tuple[int, ...], field: str, symmetry: str) -> Tensor:
    """Every value, the first mode fastest; with a symmetry, those of the lower triangle."""
    _, values = text.table(1, 0, field)
    if symmetry == "general":
        text.require_entries(len(values), math.prod(shape), 0)
        try:
            return Tensor.from_numpy(values.reshape(shape, order="F"))
        except ValueError as error:
            raise text.error(0, f"the shape {shape} is too large") from error
    skew = symmetry == "skew-symmetric"
    text.require_entries(len(values), shape[0] * (shape[0] + (-1 if skew else 1)) // 2, 0)
    columns, rows = np.triu_indices(shape[0], k=int(skew))
    _tell_diagonal(text, rows == columns, values, symmetry)
    array = np.zeros(shape, values.dtype)
    array[columns, rows] = _MIRRORS[symmetry](values)
    array[rows, columns] = values
    return Tensor.from_numpy(array)


def write(tensor: Tensor) -> bytes:
    """The file's bytes: every value where all levels are dense, else the entries."""
    kind = "matrix" if tensor.ndim == 2 else "tensor"
    field = {"b": "integer", "i": "integer", "f": "real", "c": "complex"}[tensor.dtype.kind]
    if tensor.ndim and all(level.full for level in tensor.levels):
        banner = f"%%MatrixMarket {kind} array {field} general"
        sizes: tuple[int, ...] = tensor.shape
        coordinates, values = np.zeros((0, 0), np.int64), tensor.to_numpy().reshape(-1, order="F")
    else:
        coordinates, values = tensor.to_coo()
        banner = f"%%MatrixMarket {kind} coordinate {field} general"
        sizes = (*tensor.shape, len(values))
    head = f"{banner}\n{' '.join(map(str, sizes))}\n"
    return head.encode() + number_lines.entries(coordinates, values)
