"""Draws a plot: its panels, a legend for all of them, and the notes under it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from custard.cli.sweeps.pictures import COLOURS, MARKS, label, scale
from custard.cli.sweeps.selection import MEAN, Panel, Selection, called, is_number

if TYPE_CHECKING:
    from custard.cli.sweeps.plots import Plot

_HATCHES = ("", "////", "....", "xxxx")
_MOST_TICKS = 8  # on a logarithmic axis, at the values themselves
_PANELS_IN_A_ROW = 3
_LONG_LEGEND, _LONG_NAME = 5, 18  # entries, and characters of one, from which on it goes outside
_LETTERS, _SMALL_LETTERS = 12, 14  # in an inch
_LINE, _SMALL_LINE = 0.2, 0.17  # of text: inches
_MARK = 6  # letters that the mark of a name in a legend is wide
_AT_A_SLANT = 28  # letters in a line of a name at a tick
_MEAN_GAP = 0.4  # on the x axis, before the place of the mean
_LARGE = 1e5  # from which on ticks say 100k


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other point beats, by x. A point beats another if it is no larger on both
    axes and smaller on one. Equal points are there once.
    """
    kept: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


def figure_of(make: Any, plot: Plot, chosen: Selection) -> Any:
    """The figure that ``make``, matplotlib's class of figures, makes of a selection."""
    layout = _FigureLayout(plot, chosen)
    figure = make(figsize=(layout.width, layout.height), layout="constrained")
    found = figure.subplots(layout.rows, layout.in_row, sharey=True, squeeze=False).flatten()
    used = found[: len(chosen.panels)]
    for axes in found[len(used) :]:
        axes.remove()
    panels = [_DrawnPanel(*both, plot, layout) for both in zip(used, chosen.panels, strict=True)]
    for panel in panels:
        panel.draw()
    for place, (axes, panel) in enumerate(zip(used, panels, strict=True)):
        panel.limit()  # when all are drawn, for they share y
        if place + layout.in_row < len(used):
            axes.set_xlabel("")
        if place % layout.in_row:
            axes.set_ylabel("")
    handles: dict[str, Any] = {}
    for axes in used:
        found, names = axes.get_legend_handles_labels()
        handles.update(zip(names, found, strict=True))
    if layout.has_legend:
        entries = list(handles.values()), [layout.in_legend(name) for name in handles]
        style: dict[str, Any] = {"fontsize": "small", "frameon": False}
        if layout.is_legend_outside:
            columns = layout.legend_columns
            figure.legend(*entries, loc="outside upper center", ncols=columns, **style)
        else:
            used[0].legend(*entries, **style)
    if layout.notes:
        figure.supxlabel("\n".join(layout.notes), fontsize="x-small", color="0.35")
    return figure


@dataclass(frozen=True)
class _FigureLayout:
    """Sizes in inches, series and scales of all panels of a figure."""

    plot: Plot
    chosen: Selection

    @property
    def names(self) -> list[str]:
        """The series of all panels."""
        return self.chosen.names

    @property
    def in_row(self) -> int:
        count = len(self.chosen.panels)
        return 2 if count == 4 else min(count, _PANELS_IN_A_ROW)

    @property
    def rows(self) -> int:
        return math.ceil(len(self.chosen.panels) / self.in_row)

    @cached_property
    def width(self) -> float:
        usual = 4.5 if self.in_row == 1 else 2.7
        if self.plot.kind == "bar":  # which need room
            bars = max(len(panel.values) * (len(panel.series) + 1) for panel in self.chosen.panels)
            usual = min(max(usual, 0.1 * bars + 0.5), 9.0 / self.in_row)
        return usual * self.in_row

    @property
    def axes_width(self) -> float:
        """The width of the axes of a panel, about."""
        return self.width / self.in_row - 0.7

    @property
    def height(self) -> float:
        names = [self.in_legend(name).count("\n") + 1 for name in self.names]
        lines = math.ceil(sum(names) / self.legend_columns) * self.is_legend_outside
        panel = 3.0 if self.in_row == 1 else 2.4
        at_a_slant = max(map(self.letters_at_a_slant, self.chosen.panels))
        panel += 0.05 * min(at_a_slant, _AT_A_SLANT)
        panel += _LINE * max(self.title(panel).count("\n") for panel in self.chosen.panels)
        return panel * self.rows + 0.2 + _SMALL_LINE * lines + 0.12 * len(self.notes)

    def title(self, panel: Panel) -> str:
        """The title of a panel, no wider than its axes."""
        return textwrap.fill(panel.title, int(self.axes_width * _LETTERS))

    def in_legend(self, name: str) -> str:
        """The name of a series in the legend, no wider than the figure."""
        return textwrap.fill(name, int(self.width * _SMALL_LETTERS) - _MARK)

    def tick_names(self, panel: Panel) -> list[str]:
        """The labels of an x axis that has a tick for each value."""
        names = list(map(str, panel.values))
        if not self.letters_at_a_slant(panel):
            return names
        return [textwrap.fill(name, _AT_A_SLANT) for name in names]

    def letters_at_a_slant(self, panel: Panel) -> int:
        """The letters of the longest name at a tick, if names do not fit beside each other."""
        if self.plot.kind != "bar" and all(map(is_number, panel.values)):
            return 0
        names = list(map(str, panel.values))
        room = self.axes_width / len(names)
        most = max((len(a) + len(b) + 2 for a, b in pairwise(names)), default=0) / 2
        return max(map(len, names)) if most > room * _LETTERS else 0

    @cached_property
    def notes(self) -> list[str]:
        """The lines under the panels."""
        most = int(self.width * (_SMALL_LETTERS + 2))
        return [line for note in self.chosen.notes for line in textwrap.wrap(note, most)]

    @property
    def has_legend(self) -> bool:
        return any(self.names) or self.plot.kind == "pareto"

    @property
    def is_legend_outside(self) -> bool:
        """Whether the legend stands above the panels, where it hides nothing."""
        is_long = len(self.names) >= _LONG_LEGEND or self._longest_name >= _LONG_NAME
        is_outside = len(self.chosen.panels) > 1 or self.plot.kind == "bar" or is_long
        return self.has_legend and is_outside

    @property
    def legend_columns(self) -> int:
        """The number of entries of the legend in a row."""
        most = max(1, int(self.width * _SMALL_LETTERS / (self._longest_name + _MARK)))
        lines = math.ceil(len(self.names) / most)
        return math.ceil(len(self.names) / max(1, lines)) or 1

    @property
    def _longest_name(self) -> int:
        return max(map(len, self.names), default=0)

    @cached_property
    def x_scale(self) -> tuple[float, str]:
        """The unit of x, and its label."""
        values = [value for panel in self.chosen.panels for value in panel.values]
        is_numeric = self.plot.kind != "bar" and all(map(is_number, values))
        unit, text = scale(self.plot.x, values if is_numeric else [])
        return unit, self.plot.x_label or text

    @cached_property
    def y_scale(self) -> tuple[float, str]:
        """The unit of y, and its label."""
        plot = self.plot
        series = (points for panel in self.chosen.panels for points in panel.series.values())
        unit, text = scale(plot.y, [y for points in series for _, y in points])
        if plot.baseline:
            base = called(plot.baseline)
            name = label(plot.y).partition(" (")[0]
            is_time = plot.y.endswith(("cycles", "seconds"))
            unit, text = 1.0, f"{name}, relative to {base}"
            if plot.inverse:
                text = f"speedup over {base}" if is_time else f"{name} of {base}, relative"
        if plot.mean not in (None, plot.x):
            text += f",\ngeometric mean over {label(plot.mean)}"
        return unit, plot.y_label or text


@dataclass
class _DrawnPanel:
    """A panel and the axes that it is drawn to."""

    axes: Any
    panel: Panel
    plot: Plot
    layout: _FigureLayout

    def draw(self) -> None:
        """Draws the panel, without the limits of the axes and their ticks."""
        axes, plot = self.axes, self.plot
        self.is_numeric = plot.kind != "bar" and all(map(is_number, self.panel.values))
        self.places = self._places()
        for axis in plot.log:
            if axis == "y" or self.is_numeric:
                axes.set(**{f"{axis}scale": "log"})
        if plot.kind == "bar":
            self._bars()
        else:
            self._lines()
        if plot.kind == "pareto":
            self._front()
        elif "y" not in plot.log:
            axes.axhline(0, linewidth=0)  # so that 0 is among the values
        if plot.baseline and plot.kind != "pareto":
            axes.axhline(1, color="0.4", linewidth=0.8, linestyle=":", zorder=1)
        axes.set_xlabel(self.layout.x_scale[1])
        axes.set_ylabel(self.layout.y_scale[1])
        axes.set_title(self.layout.title(self.panel), fontsize="medium")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)

    def _places(self) -> dict[Any, float]:
        """The place of each value on the x axis.

        Where some are no numbers, places are a step apart; on a logarithmic axis, the numbers have
        the distances of their logarithms, and as many steps in all.
        """
        values = self.panel.values
        if self.is_numeric:
            return {value: value / self.layout.x_scale[0] for value in values}
        places = {value: n + _MEAN_GAP * (value == MEAN) for n, value in enumerate(values)}
        numbers = [value for value in values if is_number(value)]
        if "x" in self.plot.log and len(numbers) > 1 and self.plot.kind != "bar":
            step = math.log(numbers[-1] / numbers[0]) / (len(numbers) - 1)
            places.update((value, math.log(value / numbers[0]) / step) for value in numbers)
        return places

    def _series(self) -> Iterable[tuple[int, str, list[tuple[float, float]]]]:
        """The number of each series in the figure, its name and its points, by x."""
        unit = self.layout.y_scale[0]
        for number, name in enumerate(self.layout.names):
            points = self.panel.series.get(name)
            if points is not None:
                yield number, name, sorted((self.places[x], y / unit) for x, y in points)

    def _lines(self) -> None:
        for number, name, points in self._series():
            self.axes.plot(
                *zip(*points, strict=True),
                linestyle="none" if self.plot.kind == "pareto" else "-",
                linewidth=1.2,
                marker=MARKS[number % len(MARKS)],
                markersize=4,
                color=COLOURS[number % len(COLOURS)],
                label=name,
            )
        self.axes.grid(alpha=0.3)

    def _front(self) -> None:
        best = front([point for _, _, points in self._series() for point in points])
        style = {"color": "0.4", "linewidth": 1, "zorder": 1, "label": "Pareto front"}
        self.axes.step(*zip(*best, strict=True), where="post", **style)

    def _bars(self) -> None:
        series = list(self._series())
        width = 0.8 / len(series)
        from_one = bool(self.plot.baseline) and "y" in self.plot.log
        for place, (number, name, points) in enumerate(series):
            shift = (place - (len(series) - 1) / 2) * width
            colour = COLOURS[number % len(COLOURS)]
            x, y = zip(*points, strict=True)
            self.axes.bar(
                [at + shift for at in x],
                [value - from_one for value in y],
                width * 0.95,
                bottom=1 if from_one else 0,
                color=colour,
                hatch=_HATCHES[number // len(COLOURS) % len(_HATCHES)],
                edgecolor="white",
                linewidth=0,
                label=name,
            )
            for at in {*self.places.values()} - {*x}:  # a point that failed, or is not there
                self.axes.text(
                    *(at + shift, 0.01, r"$\times$"),
                    transform=self.axes.get_xaxis_transform(),
                    color=colour,
                    ha="center",
                    fontsize="small",
                )
        if MEAN in self.places:
            self.axes.axvline(self.places[MEAN] - 0.5 - _MEAN_GAP / 2, color="0.7", linewidth=0.8)
        self.axes.grid(alpha=0.3, axis="y")

    def limit(self) -> None:
        """Sets the limits of the axes, and their ticks."""
        axes, log, kind = self.axes, self.plot.log, self.plot.kind
        low, high = axes.get_ylim()
        if "y" not in log and kind != "pareto":
            axes.set_ylim(low if self._has_negative() else 0, high)
        if "y" in log and kind == "bar" and not self.plot.baseline:
            axes.set_ylim(bottom=10 ** math.floor(math.log10(low)))
        if kind == "bar":
            axes.set_xlim(-0.6, max(self.places.values()) + 0.6)
        elif not self.is_numeric:
            axes.set_xlim(-0.2, len(self.places) - 0.8)
        few = "x" in log and len(self.places) <= _MOST_TICKS
        if not self.is_numeric or few:
            axes.set_xticks(list(self.places.values()), self.layout.tick_names(self.panel))
            axes.set_xticks([], minor=True)
            if not self.is_numeric and self.layout.letters_at_a_slant(self.panel):
                axes.tick_params(axis="x", labelrotation=40)
                for text in axes.get_xticklabels():
                    text.set(ha="right", rotation_mode="anchor")
        elif all(isinstance(value, int) for value in self.places):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if "y" not in log:
            _with_prefixes(axes.yaxis, high)
        if self.is_numeric and "x" not in log:
            _with_prefixes(axes.xaxis, axes.get_xlim()[1])

    def _has_negative(self) -> bool:
        return any(y < 0 for _, _, points in self._series() for _, y in points)


def _with_prefixes(axis: Any, most: float) -> None:
    """Has the ticks of large numbers say 100k instead of 100000."""
    if most >= _LARGE:
        from matplotlib.ticker import EngFormatter

        axis.set_major_formatter(EngFormatter(sep=""))
