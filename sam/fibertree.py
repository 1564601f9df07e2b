"""Tensors drawn as fibertrees (SAM paper, Figure 2): a row for each level, a box for each fiber
with its coordinates, below each coordinate its fiber, and the values as leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sam.dot_text import label
from sam.drawing import form_of, in_words, laid_out
from sam.picture import COLOURS
from sam.support.errors import UserError
from sam.support.files import require_folder, write_whole
from sam.tensor import Tensor

MOST_COORDINATES = 8
"""The coordinates of a fiber that are drawn; the rest is an ellipsis."""

_MOST_FIBERS, _MOST_VALUES = 12, 32


@dataclass
class _TreeDrawing:
    """The DOT of a tree while it grows; ``left`` counts the fibers that levels may still draw."""

    most: int
    lines: list[str] = field(default_factory=list)
    left: dict[int, int] = field(default_factory=dict)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"


def draw_fibertree(
    tensor: Tensor, path: str | os.PathLike[str], name: str = "", most: int = MOST_COORDINATES
) -> None:
    """Draws the storage of a tensor to ``path``: .svg, .png or .pdf by suffix.

    ``most``  the coordinates of a fiber that are drawn; more are elided with "...", as are fibers
              beyond the first few of a level

    Raises UserError as ``sam.drawing.draw`` does.
    """
    target = Path(path)
    form = form_of(target)
    require_folder(target)
    write_whole(target, laid_out(fibertree_dot(tensor, name, most), form))


def svg_or_words(tensor: Tensor) -> str:
    """The fibertree of a tensor as SVG for a notebook; or, as SVG, why there is none."""
    try:
        return laid_out(fibertree_dot(tensor), "svg").decode()
    except UserError as mistake:
        return in_words(f"a tensor of shape {tensor.shape}; {mistake.what}")


def fibertree_dot(tensor: Tensor, name: str = "", most: int = MOST_COORDINATES) -> str:
    """The fibertree of a tensor as DOT."""
    if most < 1:
        raise UserError(f"{most} coordinates of a fiber cannot be drawn; at least 1 can")
    drawing = _TreeDrawing(most)
    drawing.left = dict.fromkeys(range(len(tensor.levels)), _MOST_FIBERS)
    drawing.left[len(tensor.levels)] = _MOST_VALUES
    shape = " x ".join(map(str, tensor.shape)) or "a number"
    title = f"{name + ': ' if name else ''}{shape}, stored as {tensor.format}"
    drawing.lines += [
        "digraph fibertree {",
        f"  label={label(title)}; labelloc=t; nodesep=0.15; ranksep=0.3; fontsize=13;",
        '  fontname="DejaVu Sans";',
        '  node [fontname="DejaVu Sans", fontsize=11, shape=plaintext, height=0.3, margin="0.02"];',
        "  edge [arrowsize=0.6];",
    ]
    _fiber(drawing, tensor, 0, 0)
    rows = [
        f"  level{n} [label={label(_row(tensor, n))}, fontcolor=gray40];"
        for n in range(len(tensor.levels))
    ]
    chain = " -> ".join(f"level{n}" for n in range(len(tensor.levels)))
    order = [f"  {chain} [style=invis];"] if len(tensor.levels) > 1 else []
    return "\n".join([*drawing.lines, *rows, *order, "}"]) + "\n"


def _row(tensor: Tensor, n: int) -> str:
    return f"mode {tensor.mode_order[n]}: {tensor.levels[n].name}"


def _fiber(drawing: _TreeDrawing, tensor: Tensor, level: int, parent: int) -> str:
    """Draws the fiber of a parent with all below it; gives its node."""
    node = drawing.name()
    drawing.left[level] -= 1
    if level == len(tensor.levels):
        drawing.lines.append(f"  {node} [label={label(_number(tensor, parent))}];")
        return node
    found = list(_steps(tensor, level, parent, drawing.most))
    cells, below = [], []
    for port, (coordinate, position) in enumerate(found[: drawing.most]):
        cells.append(f'<td port="p{port}">{coordinate}</td>')
        below.append((port, position))
    if len(found) > drawing.most:
        cells.append('<td border="0">…</td>')
    if not cells:
        cells.append('<td border="0"> </td>')
    colour = COLOURS[level % len(COLOURS)]
    table = (
        f'<table border="0" cellborder="1" cellspacing="0" bgcolor="{colour}">'
        f"<tr>{''.join(cells)}</tr></table>"
    )
    drawing.lines.append(f"  {node} [label=<{table}>];")
    drawing.lines.append(f"  {{ rank=same; level{level}; {node}; }}")
    for port, position in below:
        if drawing.left[level + 1] > 0:
            child = _fiber(drawing, tensor, level + 1, position)
        else:
            child = drawing.name()
            drawing.lines.append(f"  {child} [label={label('…')}];")
        drawing.lines.append(f"  {node}:p{port} -> {child};")
        if drawing.left[level + 1] <= 0 and port + 1 < len(below):
            break
    return node


def _steps(tensor: Tensor, level: int, parent: int, most: int) -> Iterator[tuple[int, int]]:
    """The first coordinates of a fiber with their positions, one more than are drawn."""
    fibers = tensor.scanned_levels()[level]
    step, end = fibers.fiber(parent)
    found = 0
    while step < end and found <= most:
        coordinate = int(fibers.coordinate(parent, step))
        if coordinate >= 0:
            found += 1
            yield coordinate, int(fibers.position(parent, step))
        step += 1


def _number(tensor: Tensor, position: int) -> str:
    value = tensor.values[position].item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)
