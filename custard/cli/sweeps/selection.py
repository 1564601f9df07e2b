"""The part of a table that a plot shows: rows, ratios to a baseline, panels and series.

A column *tells* another one if each of its values stands beside only one value of the other, as the
name of a dataflow tells its schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from custard.cli.sweeps.failures import by_kind
from custard.cli.sweeps.pictures import named
from custard.cli.sweeps.table import Table
from sam.support.errors import UserError, one_of

if TYPE_CHECKING:
    from custard.cli.sweeps.plots import Plot

MEAN = "geomean"
"""The place of the mean on the x axis."""

_Row = Mapping[str, Any]
_SHOWN_FAILURES = 3
_SHOWN_CHARACTERS = 60  # of an error


@dataclass(frozen=True)
class Panel:
    """One panel.

    ``series``  by name its points, each an x and a y
    ``values``  the values of x in their order, even where all points failed; the mean is last
    """

    title: str
    series: dict[str, list[tuple[Any, float]]] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Selection:
    """The content of a plot.

    ``names``  the series of all panels, in the order of the table, also where points failed
    ``notes``  lines under the plot: points that failed, and points that a mean leaves out
    """

    panels: list[Panel]
    names: list[str]
    notes: list[str]


def select(plot: Plot, columns: Table, axes: Sequence[str]) -> Selection:
    """The content of a plot of a table, whose ``axes`` tell its points apart.

    Raises UserError for a column that the table does not have or that has no numbers, where there
    is nothing to show, where two points have one place, and for a mean or a ratio that does not
    exist.
    """
    _require_columns(plot, columns)
    if plot.mean == plot.x and plot.kind != "bar":
        raise UserError(f"the mean over {plot.x} needs a plot of bars", hint="kind: bar")
    if plot.inverse and not plot.baseline:
        raise UserError("inverse needs a ratio to a baseline", hint="as in baseline: {order: ikj}")
    every = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = _where(plot, every)
    done = [row for row in rows if row["status"] == "done"]
    if not done:
        waiting = any(row["status"] == "not run" for row in rows)
        hint = "custard sweep without --plot runs them" if waiting else "--table tells their errors"
        raise UserError("no point is done: there is nothing to plot", hint=hint)
    _require_numbers(plot, done)
    if "x" in plot.log and not any(is_number(row[plot.x]) for row in done):
        raise UserError(
            f"{plot.x} cannot be on a logarithmic axis: it has no numbers",
            hint="leave x out of log",
        )
    notes = _failures(rows, every, axes)
    if plot.baseline:
        done, lost = _relative(plot, done, every, axes)
        notes += lost
    taken = [plot.x, *filter(None, (plot.facets, plot.mean))]
    series = plot.series
    if series is None:
        series = [] if plot.kind == "pareto" else _telling(rows, axes, [(name,) for name in taken])
    if plot.mean is not None and plot.mean != plot.x:
        done, partial = _averaged(plot, done, [*filter(None, (plot.facets, plot.x)), *series])
        notes += partial
    panels: dict[Any, Panel] = {}
    for row in done:
        at = row[plot.facets] if plot.facets else None
        title = called({plot.facets: at}) if plot.facets else ""
        panel = panels.setdefault(at, Panel(title, values=_values(plot, rows, at)))
        name = _name(row, series)
        panel.series.setdefault(name, []).append((row[plot.x], row[plot.y]))
    if plot.kind != "pareto":
        _require_places(plot, panels.values())
    if plot.mean == plot.x:
        notes += _with_means(plot, panels.values())
    drawn = {name for panel in panels.values() for name in panel.series}
    names = dict.fromkeys(name for row in rows if (name := _name(row, series)) in drawn)
    return Selection(list(panels.values()), list(names), notes)


def is_number(value: Any) -> bool:
    """Whether a value has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _require_columns(plot: Plot, columns: Table) -> None:
    for column in plot.columns():
        if column not in columns:
            raise UserError(f"the table has no column {column}", hint=one_of(column, columns))


def _require_numbers(plot: Plot, rows: Sequence[_Row]) -> None:
    """Raises UserError where y, or x of a Pareto plot, is no number, or has no logarithm."""
    for row in rows:
        for axis, column in (("x", plot.x), ("y", plot.y)):
            value = row[column]
            if is_number(value):
                if axis in plot.log and not value > 0:
                    raise UserError(
                        f"{column} cannot be on a logarithmic axis: {value} is not positive"
                    )
            elif axis == "y" or plot.kind == "pareto":
                reason = "a point has none" if value is None else f"{value} is not a number"
                has_numbers = any(is_number(other[column]) for other in rows)
                raise UserError(
                    f"the column {column} cannot be plotted: {reason}",
                    hint="choose other points by where" if has_numbers else None,
                )


def _where(plot: Plot, rows: Sequence[_Row]) -> list[_Row]:
    """The rows that the plot asks for."""
    asked = {
        column: values if isinstance(values, list) else [values]
        for column, values in plot.where.items()
    }
    for column, values in asked.items():
        _require_value(column, values, rows)
    return [row for row in rows if all(row[column] in asked[column] for column in asked)]


def _require_value(column: str, values: Iterable[Any], rows: Iterable[_Row]) -> None:
    known = list(dict.fromkeys(row[column] for row in rows))
    for value in values:
        if value not in known:
            hint = one_of(str(value), map(str, known))
            raise UserError(f"no point has {column} = {value}", hint=hint)


def _failures(rows: Sequence[_Row], every: Sequence[_Row], axes: Sequence[str]) -> list[str]:
    """Notes on points that are not done."""
    names = _telling(every, axes, [])
    failed = (
        (called({name: row[name] for name in names}) or "the point", _head(row["error"]))
        for row in rows
        if row["status"] == "failed"
    )
    kinds = [f"{points} ({error})" for points, error in by_kind(failed)]
    missing = [row["status"] for row in rows].count("not run")
    not_run = [f"{missing} of {len(rows)} points are not run"] if missing else []
    return [*_listed("failed", kinds), *not_run]


def _listed(what: str, things: Sequence[str]) -> list[str]:
    if not things:
        return []
    more = len(things) - _SHOWN_FAILURES
    return [f"{what}: {'; '.join(things[:_SHOWN_FAILURES])}" + f"; {more} more" * (more > 0)]


def _head(error: str) -> str:
    """The beginning of an error."""
    text = error.partition(": ")[0].partition(", ")[0]
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def _telling(
    rows: Sequence[_Row], axes: Iterable[str], taken: Sequence[tuple[str, ...]]
) -> list[str]:
    """The axes that vary, without those that the ``taken`` columns or earlier axes tell."""
    found: list[str] = []
    for axis in axes:
        told = [*taken, *((name,) for name in found)]
        if not any(_tells(rows, columns, axis) for columns in [(), *told]):
            found.append(axis)
    return found


def _tells(rows: Iterable[_Row], columns: tuple[str, ...], other: str) -> bool:
    """Whether the values of columns leave one value of another column."""
    seen: dict[tuple[Any, ...], Any] = {}
    return all(
        seen.setdefault(tuple(row[column] for column in columns), row[other]) == row[other]
        for row in rows
    )


def _relative(
    plot: Plot, rows: Iterable[_Row], every: Sequence[_Row], axes: Sequence[str]
) -> tuple[list[_Row], list[str]]:
    """The rows with y as a ratio to the baseline's, and notes on rows without one."""
    for column, value in plot.baseline.items():
        _require_value(column, [value], every)
    others = _telling(every, axes, [tuple(plot.baseline)])
    bases: dict[tuple[Any, ...], float] = {}
    for row in every:
        if any(row[column] != value for column, value in plot.baseline.items()):
            continue
        at = tuple(row[column] for column in others)
        if at in bases:
            raise UserError(f"a point has two baselines {called(plot.baseline)}")
        if row["status"] == "done":
            _require_numbers(plot, [row])
            bases[at] = row[plot.y]
    found: list[_Row] = []
    lost = []
    for row in rows:
        base = bases.get(tuple(row[column] for column in others))
        if base is None:
            telling = [name for name in axes if name in others or name in plot.baseline]
            lost.append(called({name: row[name] for name in telling}))
            continue
        above, below = (base, row[plot.y]) if plot.inverse else (row[plot.y], base)
        if below == 0:
            raise UserError(f"a ratio to {called(plot.baseline)} divides by 0: {plot.y} is 0")
        found.append({**row, plot.y: above / below})
    if not found:
        raise UserError(f"no point has a baseline {called(plot.baseline)} that is done")
    return found, _listed("no baseline for", lost)


def _averaged(
    plot: Plot, rows: Iterable[_Row], kept: Sequence[str]
) -> tuple[list[_Row], list[str]]:
    """One row for rows that differ in the column of the mean alone, and notes on others.

    All means are of the same values of the column, so that they can be compared.
    """
    assert plot.mean is not None
    groups: dict[tuple[Any, ...], dict[Any, _Row]] = {}
    for row in rows:
        group = groups.setdefault(tuple(row[column] for column in kept), {})
        if row[plot.mean] in group:
            raise UserError(
                f"two points of a mean have the same {plot.mean}", hint="name more axes in series"
            )
        group[row[plot.mean]] = row
    common, notes = _common(plot, groups.values())
    means: list[_Row] = []
    for group in groups.values():
        y = _mean(plot, [group[value][plot.y] for value in common])
        means.append({**group[common[0]], plot.y: y})
    return means, notes


def _with_means(plot: Plot, panels: Iterable[Panel]) -> list[str]:
    """Puts the mean of each series behind its points; gives notes on points left out."""
    notes = []
    for panel in panels:
        common, partial = _common(plot, map(dict, panel.series.values()))
        notes += [f"{panel.title}: {note}" if panel.title else note for note in partial]
        for points in panel.series.values():
            points.append((MEAN, _mean(plot, [y for x, y in points if x in common])))
        panel.values.append(MEAN)
    return notes


def _common(plot: Plot, groups: Iterable[Mapping[Any, Any]]) -> tuple[list[Any], list[str]]:
    """The values of which all groups have a point, and notes on other values."""
    groups = list(groups)
    values = dict.fromkeys(value for group in groups for value in group)
    common = [value for value in values if all(value in group for group in groups)]
    if not common:
        raise UserError(f"no {plot.mean} has all points that the geometric mean needs")
    without = ", ".join(str(value) for value in values if value not in common)
    return common, [f"the geometric mean is without {without}"] if without else []


def _mean(plot: Plot, values: Sequence[float]) -> float:
    for value in values:
        if not value > 0:
            raise UserError(f"{plot.y} has no geometric mean: {value} is not positive")
    return math.inf if math.inf in values else geometric_mean(values)


def _require_places(plot: Plot, panels: Iterable[Panel]) -> None:
    for panel in panels:
        for points in panel.series.values():
            if len({x for x, _ in points}) < len(points):
                what = "bar" if plot.kind == "bar" else "line"
                raise UserError(
                    f"two points of a {what} have the same {plot.x}",
                    hint="name more axes in series",
                )


def called(values: Mapping[str, Any]) -> str:
    """The name of points with these values; numbers come with the name of their column, and so do
    values of keys in a section, such as ``queues.depth``.
    """
    return ", ".join(
        value if isinstance(value, str) and "." not in column else named(column, value)
        for column, value in values.items()
    )


def _name(row: _Row, series: Sequence[str]) -> str:
    """The name of the series that a row belongs to."""
    return called({column: row[column] for column in series})


def _values(plot: Plot, rows: Iterable[_Row], facet: Any) -> list[Any]:
    """The values of x in a panel: numbers by size, then others in the order of the table.

    Points that failed have a value of an axis, but none of a metric.
    """
    values = dict.fromkeys(
        row[plot.x]
        for row in rows
        if (plot.facets is None or row[plot.facets] == facet)
        and (row["status"] == "done" or row[plot.x] is not None)
    )
    numbers = sorted(value for value in values if is_number(value))
    return [*numbers, *(value for value in values if not is_number(value))]
