"""Plots of a sweep's table, as a paper prints them: lines, grouped bars, and Pareto fronts.

A line plot has a line for each combination of the values of its ``series``; a bar plot has a group
of bars at each x, and a bar for each series in it. A Pareto plot has a mark for each point and, as
steps, the front of points that no other point beats: smaller is better on both axes. The axes have
units, which come from the names of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from custard.cli.sweeps.drawing import figure_of
from custard.cli.sweeps.pictures import require_picture, save, styled
from custard.cli.sweeps.selection import select
from custard.cli.sweeps.table import Table
from sam.support.errors import UserError
from sam.support.yaml_sections import Section, Text, check_section, is_texts, must_be

_KINDS = ("line", "bar", "pareto")
_MOST_PANELS = 24


def _is_log(value: Any) -> bool:
    return is_texts(value) and {*value} <= {"x", "y"}


def _several(value: Any) -> Any:
    """A list where a text stands for the list of it alone."""
    return [value] if isinstance(value, str) else value


_SEVERAL = BeforeValidator(_several)


def _is_cell(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _is_cells(value: Any) -> bool:
    return _is_cell(value) or (
        isinstance(value, list) and value != [] and all(map(_is_cell, value))
    )


_SECTION = BeforeValidator(check_section)
_Cell = Annotated[Any, must_be("a value of the column", _is_cell)]
_Cells = Annotated[Any, must_be("a value of the column, or a list of them", _is_cells)]


class Plot(Section):
    """One plot.

    ``kind``      line, bar or pareto
    ``x``, ``y``  columns of the table, or metrics
    ``series``    columns that tell the lines, bars or marks apart; for lines and bars by default
                  all axes that vary, except those that x, facets, mean or another series tell
    ``where``     only the points that have these values, by column: one value, or several
    ``facets``    a column: each value has a panel
    ``baseline``  by column the value of the points by whose y others are divided, each by the point
                  that is equal in all other columns
    ``inverse``   the baseline divided by y, as a speedup is
    ``mean``      a column over which the geometric mean of y is taken; for x, the mean becomes one
                  more group of bars
    ``log``       which of x and y are logarithmic
    ``x_label``, ``y_label``  the axes' labels, in place of the column's name and unit
    """

    kind: Annotated[str, must_be(" or ".join(_KINDS), lambda value: value in _KINDS)] = "line"
    x: Text
    y: Text = "cycles"
    series: (
        Annotated[list[str], must_be("a column, or a list of columns", is_texts), _SEVERAL] | None
    ) = None
    where: Annotated[dict[str, _Cells], _SECTION] = Field(default_factory=dict)
    facets: Text | None = None
    baseline: Annotated[dict[str, _Cell], _SECTION] = Field(default_factory=dict)
    inverse: Annotated[bool, must_be("true or false", lambda v: isinstance(v, bool))] = False
    mean: Text | None = None
    log: Annotated[list[str], must_be("x, y or a list of them", _is_log), _SEVERAL] = Field(
        default_factory=list
    )
    x_label: Text | None = None
    y_label: Text | None = None

    def columns(self) -> list[str]:
        """The columns of the table that it needs."""
        named = (self.x, self.y, self.facets, self.mean)
        several = (*(self.series or ()), *self.where, *self.baseline)
        return list(dict.fromkeys([*filter(None, named), *several]))


def draw(plot: Plot, columns: Table, axes: Sequence[str], path: Path) -> None:
    """Draws a plot of a table to a file, by its suffix.

    Only points that are done are drawn; points that failed are named under the plot. ``axes`` are
    the columns that tell the points apart. Raises UserError as ``select`` does, and for too many
    panels.
    """
    require_picture(path)
    chosen = select(plot, columns, axes)
    if len(chosen.panels) > _MOST_PANELS:
        raise UserError(
            f"{plot.facets} has {len(chosen.panels)} values; {_MOST_PANELS} panels are the most",
            hint="choose some by where",
        )
    with styled() as make:
        save(figure_of(make, plot, chosen), path)
