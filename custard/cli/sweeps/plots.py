"""Plots of a sweep's table, as a paper prints them: lines, and Pareto fronts.

A line plot has a line for each combination of the values of its ``series``. A Pareto plot has a
mark for each point and, as steps, the front of those that no other one beats: smaller is better
on both axes. The axes have units, which come from the names of the columns.
"""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from custard.cli.sweeps.table import Table
from sam.support.errors import UserError, one_of
from sam.support.files import write_whole
from sam.support.yaml_sections import Section, Text, is_texts, must_be

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = ("line", "pareto")

# The kinds of picture, each with what keeps the time of drawing out of it.
_PICTURES: Mapping[str, dict[str, Any]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}

# Units by the ending of a column's name, those that are part of a key first.
_KEY_UNITS = {
    "_cycles": "cycles",
    "_bytes": "bytes",
    "_gb_per_s": "GB/s",
    "_ghz": "GHz",
}
_UNITS = {
    ".depth": "tokens",
    ".peak": "tokens",
    ".capacity": "entries",
    ".busy": "cycles",
    ".memory": "cycles",
    ".done": "cycles",
    ".nnz": "values",
}

# Colours that the colour-blind tell apart (Okabe and Ito), and marks that print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
# The fonts of a picture: TrueType in a PDF, as publishers ask.
STYLE: Any = {"pdf.fonttype": 42, "svg.hashsalt": "sweep", "font.size": 9}
_MOST_TICKS = 8  # on a logarithmic axis, at the values themselves


def _is_log(value: Any) -> bool:
    return is_texts(value) and {*value} <= {"x", "y"}


class Plot(Section):
    """One plot.

    ``kind``     line or pareto
    ``x``, ``y``  columns of the table
    ``series``   columns that tell the lines, or the marks, apart; for lines by default all axes
                 that vary, but x
    ``log``      which of x and y are logarithmic
    ``x_label``, ``y_label``  what stands at the axes in place of the column's name and unit
    """

    kind: Annotated[str, must_be(" or ".join(_KINDS), lambda value: value in _KINDS)] = "line"
    x: Text
    y: Text = "cycles"
    series: Annotated[list[str], must_be("a list of columns", is_texts)] | None = None
    log: Annotated[list[str], must_be("a list of x and y", _is_log)] = Field(default_factory=list)
    x_label: Text | None = None
    y_label: Text | None = None


def require_picture(path: Path) -> None:
    """Raises UserError for a file whose suffix tells no kind of picture."""
    if path.suffix not in _PICTURES:
        hint = f"one of {', '.join(_PICTURES)}"
        raise UserError(f"the suffix of {path.name} tells no picture", hint=hint)


def draw(plot: Plot, columns: Table, axes: Sequence[str], path: Path) -> None:
    """Draws a plot of a table to a file, by its suffix; only points that are done are in it.

    ``axes`` are the columns that tell the points apart. Raises UserError for a column that the
    table does not have or that has no numbers, where there is nothing to draw, and where two
    points are at one place of a line.
    """
    require_picture(path)
    rows = _rows(plot, columns)
    varying = [axis for axis in axes if axis != plot.x and len({row[axis] for row in rows}) > 1]
    series = plot.series
    if series is None:
        series = varying if plot.kind == "line" else []
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(_name(row, series), []).append(row)
    with styled() as make:
        figure = make(figsize=(4.5, 3.2), layout="constrained")
        _fill(figure.subplots(), plot, groups)
        save(figure, path)


@contextmanager
def styled() -> Iterator[type[Figure]]:
    """matplotlib's class of figures, in our style, whatever the user's settings of matplotlib are.

    A backend of ``$MPLBACKEND`` that does not exist would break its import, and TeX in a
    ``matplotlibrc`` each picture where TeX is not installed.
    """
    found = importlib.util.find_spec("matplotlib")
    assert found is not None
    assert found.origin is not None
    own = {"MATPLOTLIBRC": str(Path(found.origin).parent / "mpl-data" / "matplotlibrc")}
    before = {name: os.environ.pop(name, None) for name in ("MPLBACKEND", "MATPLOTLIBRC")}
    os.environ.update(own)
    try:
        import matplotlib  # here, for it takes long, and few commands plot
        from matplotlib.figure import Figure
    finally:
        del os.environ["MATPLOTLIBRC"]
        os.environ.update({name: value for name, value in before.items() if value is not None})
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield Figure


def save(figure: Any, path: Path) -> None:
    """Writes a figure of matplotlib as the picture that the suffix tells.

    Always the same bytes for the same figure. Raises UserError where it cannot be written.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:], dpi=300, metadata=_PICTURES[path.suffix])
    write_whole(path, picture.getvalue())


def label(column: str) -> str:
    """What stands at an axis: the column's name, and its unit."""
    name = column.removeprefix("set.")
    for ending, unit in _KEY_UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} ({unit})"
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    return name.replace("_", " ") + (f" ({unit})" if unit else "")


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats, by x: none is as small on both axes and smaller on one.

    Equal points are there once.
    """
    kept: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


def _rows(plot: Plot, columns: Table) -> list[dict[str, Any]]:
    """The rows that a plot shows, with its columns checked."""
    for column in (plot.x, plot.y, *(plot.series or ())):
        if column not in columns:
            raise UserError(f"the table has no column {column}", hint=one_of(column, columns))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = [row for row in rows if row["status"] == "done"]
    if not rows:
        raise UserError("no point is done: there is nothing to plot")
    numeric_x = plot.kind == "pareto" or "x" in plot.log
    for column in (plot.x, plot.y) if numeric_x else (plot.y,):
        for row in rows:
            if not _is_number(row[column]):
                raise UserError(
                    f"the column {column} cannot be plotted: {row[column]} is no number"
                )
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name(row: Mapping[str, Any], series: Sequence[str]) -> str:
    """What the legend calls the row's series: its value, or several with their columns."""
    if len(series) == 1:
        return str(row[series[0]])
    return ", ".join(f"{column.rpartition('.')[2]} = {row[column]}" for column in series)


def _fill(axes: Any, plot: Plot, groups: Mapping[str, list[dict[str, Any]]]) -> None:
    styles = cycle((COLOURS[n % 7], MARKS[n % 8]) for n in range(56))
    lines = plot.kind == "line"
    values = list(dict.fromkeys(row[plot.x] for rows in groups.values() for row in rows))
    places = _places(values)
    for (name, rows), (colour, mark) in zip(groups.items(), styles, strict=False):
        points = sorted((places.get(row[plot.x], row[plot.x]), row[plot.y]) for row in rows)
        x, y = zip(*points, strict=True)
        if lines and len({*x}) < len(x):
            raise UserError(
                f"two points of a line have the same {plot.x}", hint="name more axes in series"
            )
        line = "-" if lines else "none"
        axes.plot(
            *(x, y),
            linestyle=line,
            linewidth=1.2,
            marker=mark,
            markersize=4,
            color=colour,
            label=name,
        )
    if not lines:
        best = front([(row[plot.x], row[plot.y]) for rows in groups.values() for row in rows])
        x, y = zip(*best, strict=True)
        axes.step(x, y, where="post", color="0.4", linewidth=1, zorder=1, label="Pareto front")
    for axis in plot.log:
        axes.set(**{f"{axis}scale": "log"})
    if places or ("x" in plot.log and len(values) <= _MOST_TICKS):
        axes.set_xticks([places.get(value, value) for value in values], list(map(str, values)))
        axes.set_xticks([], minor=True)
    if "y" not in plot.log and lines:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(plot.x_label or label(plot.x))
    axes.set_ylabel(plot.y_label or label(plot.y))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if any(groups) or not lines:
        axes.legend(fontsize="small", frameon=False)


def _places(values: Sequence[Any]) -> dict[Any, int]:
    """Where distinct values stand on the x axis in their order, unless all are numbers."""
    if all(map(_is_number, values)):
        return {}
    return {value: place for place, value in enumerate(values)}
