"""Tensors as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sam.support.html import table

if TYPE_CHECKING:
    from sam.tensor import Tensor

_GRID, _ENTRIES = 12, 8


def of_tensor(tensor: Tensor) -> str:
    """A tensor as HTML: its format, and all numbers of a small matrix or vector, else the first."""
    told = [
        ("shape", " x ".join(map(str, tensor.shape)) or "a scalar"),
        ("format", tensor.format or "-"),
        ("type", str(tensor.dtype)),
        ("stored", tensor.nnz),
    ]
    return table("Tensor", (), told) + _numbers(tensor)


def _numbers(tensor: Tensor) -> str:
    coordinates, values = tensor.to_coo()
    if 1 <= tensor.ndim <= 2 and max(tensor.shape) <= _GRID:
        rows, columns = tensor.shape if tensor.ndim == 2 else (1, tensor.shape[0])
        grid = [["" for _ in range(columns)] for _ in range(rows)]
        for n, value in enumerate(values):
            places = [int(mode[n]) for mode in coordinates]
            grid[places[0] if tensor.ndim == 2 else 0][places[-1]] = _number(value)
        heads = ["", *map(str, range(columns))]
        names = map(str, range(rows)) if tensor.ndim == 2 else iter([""])
        shown = [[name, *row] for name, row in zip(names, grid, strict=True)]
        return table("Stored entries by coordinate", heads, shown)
    entries = [
        (", ".join(str(mode[n]) for mode in coordinates) or "-", _number(values[n]))
        for n in range(min(_ENTRIES, len(values)))
    ]
    more = f"; {len(values) - len(entries):,} more" if len(values) > len(entries) else ""
    return table(f"The first entries{more}", ("coordinates", "value"), entries)


def _number(value: Any) -> str:
    return f"{value:.4g}" if value.dtype.kind == "f" else str(value)
