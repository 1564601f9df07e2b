"""The pattern of a matrix, as in the Deep Learning Matrix Collection.

The rows, columns and entries; the row offsets; the columns of each row, all counted from 0.
"""

from __future__ import annotations

import numpy as np

from sam.io.text import Text
from sam.support.errors import UserError
from sam.tensor import Tensor


def read(name: str, data: bytes) -> Tensor:
    """The matrix in a file's bytes; raises UserError, which names the file and the line."""
    text = Text(name, data.replace(b",", b" "))
    if len(text) < 2:
        raise UserError(f"{name} ends before its row offsets")
    sizes = text.integers(0, "a size")
    if len(sizes) != 3:
        raise text.error(0, f"expected rows, columns and entries, not {len(sizes)} numbers")
    rows, columns, entries = sizes
    offsets = np.array(text.integers(1, "a row offset"), np.int64)
    if len(offsets) != rows + 1:
        raise text.error(1, f"{len(offsets)} row offsets are listed for {rows} rows")
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != entries or (lengths < 0).any():
        raise text.error(1, f"the row offsets do not rise from 0 to {entries}")
    listed = text.integers(2, "a column") if len(text) > 2 else []
    if len(text) > 3:
        raise text.error(3, "expected nothing more")
    text.require_entries(len(listed), entries, 0)
    coordinates = np.stack([np.repeat(np.arange(rows), lengths), np.array(listed, np.int64)])
    outside = np.flatnonzero(coordinates[1] >= columns)
    if len(outside):
        n = int(outside[0])
        raise text.error(2, f"column {listed[n]} is outside the extent {columns}", n)
    tensor = Tensor.from_coo(coordinates, np.ones(entries), (rows, columns))
    if tensor.nnz != entries:
        raise text.error(2, "a row lists a column twice")
    return tensor


def write(name: str, tensor: Tensor) -> bytes:
    """The file's bytes; raises UserError where a value is not 1."""
    coordinates, values = tensor.to_coo()
    if (values != 1).any():
        raise UserError(
            f"{name}: a .smtx file holds the pattern of a matrix: every value is 1",
            hint="write a .mtx file",
        )
    offsets = np.searchsorted(coordinates[0], np.arange(tensor.shape[0] + 1))
    sizes = ", ".join(map(str, (*tensor.shape, len(values))))
    lines = [sizes, *(" ".join(map(str, row.tolist())) for row in (offsets, coordinates[1])), ""]
    return "\n".join(lines).encode()
