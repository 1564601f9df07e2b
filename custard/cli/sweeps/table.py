"""The table of a sweep: a row for each point, in the order of the sweep; CSV or Parquet.

Columns are the axes, the status, metrics, the error's first line and the hash of each point. A
metric is a place in the record of a run, its keys joined by dots, as in ``blocks.scan_B_i.busy``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from custard.cli.sweeps.points import Point, Results
from sam.support.errors import UserError, one_of
from sam.support.files import write_whole

TIMES = ("seconds", "peak_memory_bytes")
_FIXED = ("status", "error", "hash")

_MISSING = object()

Table = dict[str, list[Any]]


def table(
    points: Sequence[Point], results: Results, metrics: Sequence[str], times: bool = False
) -> Table:
    """The values of each column. With ``times`` wall time and memory, which differ between runs.

    Raises UserError for a metric that no finished run has.
    """
    return Tables(points, results).table(metrics, times)


class Tables:
    """Tables of the same points, whose results are read once."""

    def __init__(self, points: Sequence[Point], results: Results) -> None:
        self.points = points
        self.axes = list(dict.fromkeys(axis for point in points for axis in point.axes))
        self.found = [results.read(point) or {"status": "not run"} for point in points]
        self.records = [result.get("record", {}) for result in self.found]

    def table(self, metrics: Sequence[str], times: bool = False) -> Table:
        """The columns of the axes, of all results, and of metrics. Raises UserError."""
        columns: Table = {
            axis: [_plain(point.axes.get(axis)) for point in self.points] for axis in self.axes
        }
        columns["status"] = [result["status"] for result in self.found]
        for metric in metrics:
            if not self._has(metric):
                hint = one_of(metric, self._metrics())
                raise UserError(f"no run has the metric {metric}", hint=hint)
            columns[metric] = [_plain(_find(record, metric)) for record in self.records]
        for time in TIMES if times else ():
            columns[time] = [result.get(time) for result in self.found]
        columns["error"] = [
            result.get("error", "").partition("\n")[0] or None for result in self.found
        ]
        columns["hash"] = [point.hash for point in self.points]
        return columns

    def of(self, names: Iterable[str]) -> Table:
        """A table that has at least the named columns, axes or metrics.

        Raises UserError for a name that is neither.
        """
        others = {*self.axes, *TIMES, *_FIXED}
        metrics = [name for name in names if name not in others]
        for name in metrics:
            if not self._has(name):
                hint = one_of(name, [*self.axes, *self._metrics()])
                raise UserError(f"no axis, label or metric is called {name}", hint=hint)
        return self.table(metrics, times=True)

    def _has(self, metric: str) -> bool:
        """Whether some run has the metric, or there is no run."""
        return not any(self.records) or any(
            _find(record, metric, _MISSING) is not _MISSING for record in self.records
        )

    def _metrics(self) -> Iterable[str]:
        return dict.fromkeys(name for record in self.records for name in _places(record))


def require_own_names(axes: Iterable[str], metrics: Iterable[str]) -> None:
    """Raises UserError for an axis with the name of another column of the table."""
    taken = {*metrics, *TIMES, *_FIXED}
    for axis in axes:
        if axis in taken:
            raise UserError(f"a column of the table is called {axis}", hint="rename the label")


def to_csv(columns: Table) -> str:
    """The table as CSV, with a header; empty where there is no value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def write(path: Path, columns: Table) -> None:
    """Writes the table to a file, by its suffix. Raises UserError."""
    if path.suffix == ".csv":
        write_whole(path, to_csv(columns))
    elif path.suffix == ".parquet":
        write_whole(path, _parquet(columns))
    else:
        raise UserError(
            f"the suffix of {path} is not that of a table", hint="one of .csv, .parquet"
        )


def _parquet(columns: Table) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            "Parquet needs the package pyarrow",
            hint='pip install "sparse-abstract-machine[parquet]", or write .csv',
        ) from None
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({k: _of_one_type(v) for k, v in columns.items()}), sink)
    return sink.getvalue().to_pybytes()


def _of_one_type(values: list[Any]) -> list[Any]:
    """The values, as text where some are numbers and others are not."""
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1 or types == {int, float}:
        return values
    return [None if value is None else str(value) for value in values]


def _find(data: Any, path: str, otherwise: Any = None) -> Any:
    """The value at a path of keys joined by dots; keys may have dots of their own."""
    if not isinstance(data, Mapping):
        return otherwise
    if path in data and not isinstance(data[path], Mapping):
        return data[path]
    for key in data:
        if path.startswith(f"{key}."):
            found = _find(data[key], path[len(key) + 1 :], _MISSING)
            if found is not _MISSING:
                return found
    return otherwise


def _places(data: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    """The places of all values that ``_find`` finds."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _places(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _plain(value: Any) -> Any:
    """A value that fits into a cell: lists and sections as text."""
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    return json.dumps(value) if isinstance(value, Mapping) else value
