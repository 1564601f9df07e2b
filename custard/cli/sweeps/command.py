"""The command ``custard sweep``: runs the points of a file, and makes tables and plots of them."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from custard.cli import run_record as record
from custard.cli.arguments import Parser, complain, parse, stdout, whole_number
from custard.cli.sweeps import description as sweep
from custard.cli.sweeps import plots as sweep_plots
from custard.cli.sweeps import table as sweep_table
from custard.cli.sweeps import workers
from custard.cli.sweeps.failures import by_kind
from custard.cli.sweeps.points import STATUSES, Point, Results, run, shard
from custard.cli.sweeps.table import Tables
from sam.support.errors import UserError

_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--jobs": {
        "type": whole_number,
        "default": 0,
        "metavar": "N",
        "help": "processes; one for each core by default",
    },
    "--dask": {"metavar": "ADDRESS", "help": "run on a Dask cluster, as in tcp://host:8786"},
    "--shard": {"metavar": "I/N", "help": "only the I-th of N parts of the points, as in 1/4"},
    "--retry": {"action": "store_true", "help": "run the points again that failed"},
    "--table": {"action": "store_true", "help": "the results as a table: CSV on stdout, or -o"},
    "-o": {"dest": "output", "metavar": "FILE", "help": "of the table: .csv or .parquet"},
    "--times": {"action": "store_true", "help": "wall time and memory in the table, too"},
    "--plot": {"action": "store_true", "help": "draw the plots of the file"},
}
_SHOWN_FAILURES = 5
_MOST_LINES = 4  # of an error: the mistake, its place in two lines, and a hint


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status, 1 where a point failed. Raises UserError."""
    parser = Parser(
        prog="custard sweep",
        description="Runs a program for each point of a file, or makes tables and plots.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="SWEEP.yaml", type=Path)
    for name, settings in _OPTIONS.items():
        parser.add_argument(name, **settings)
    arguments = parse(parser, argv, _OPTIONS)
    if (arguments.output or arguments.times) and not arguments.table:
        raise UserError("-o and --times are for a table", hint="add --table")
    asked = sweep.read(arguments.file)
    points = shard(asked.points, arguments.shard) if arguments.shard else asked.points
    results = Results(asked.folder, {"versions": record.versions()})
    if not (arguments.table or arguments.plot):
        return _run(arguments, asked, points, results)
    tables = Tables(points, results)
    if arguments.table:
        columns = tables.table(asked.metrics, arguments.times)
        if arguments.output:
            sweep_table.write(Path(arguments.output), columns)
        else:
            sys.stdout.write(sweep_table.to_csv(columns))
    return _plot(asked, tables) if arguments.plot else 0


def _run(
    arguments: argparse.Namespace, asked: sweep.Sweep, points: Sequence[Point], results: Results
) -> int:
    if arguments.dask is None:
        jobs = arguments.jobs or os.cpu_count() or 1
        start = partial(workers.run_local, jobs=jobs)
    else:
        start = partial(workers.run_on_dask, address=arguments.dask)
    start = partial(start, measure=asked.measure, limits=asked.limits, together=asked.together)
    try:
        run(points, results, start, arguments.retry, title=arguments.file.stem)
    except KeyboardInterrupt:
        _print_count(points, results)
        complain(f"interrupted; custard sweep {shlex.quote(str(arguments.file))} runs the rest")
        return 130
    _print_count(points, results)
    failed = _failures(points, results)
    for line in failed[:_SHOWN_FAILURES]:
        complain(line)
    if len(failed) > _SHOWN_FAILURES:
        more = len(failed) - _SHOWN_FAILURES
        complain(f"and {more} other kind{'s' * (more > 1)} of error: --table has them all")
    return 1 if failed else 0


def _print_count(points: Sequence[Point], results: Results) -> None:
    """How many points have which status, how many ran now, and where the results are."""
    found = Counter(map(results.status, points))
    counts = [f"{found[status]} {status}" for status in STATUSES if found[status]]
    ran = sum(point.hash in results.written for point in points)
    there = len(points) - found["not run"] - ran
    news = [f"{ran} ran"] * (ran > 0) + [f"{there} {'was' if there == 1 else 'were'} there"] * (
        there > 0
    )
    parts = [", ".join(part) for part in (counts, news) if part]
    s = "s" * (len(points) != 1)
    stdout().print(
        Text(f"{len(points)} point{s}: {'; '.join(parts)}; results in {_near(results.folder)}"),
        soft_wrap=True,
    )


def _failures(points: Sequence[Point], results: Results) -> list[str]:
    """An error of each kind, with the points that failed by it."""
    failed = []
    for point in points:
        found = results.read(point)
        if found is not None and found["status"] == "failed":
            given = {axis: value for axis, value in point.axes.items() if value is not None}
            name = ", ".join(f"{axis}={value}" for axis, value in given.items()) or "the point"
            failed.append((name, _short(found["error"])))
    return [f"{names}: {error}" for names, error in by_kind(failed)]


def _short(error: str) -> str:
    """An error with its hint and its place; a long list, such as a deadlock's, is left out."""
    lines = error.split("\n")
    if len(lines) <= _MOST_LINES:
        return error
    return "\n".join([lines[0], *(line for line in lines[-1:] if line.startswith("hint: "))])


def _plot(asked: sweep.Sweep, tables: Tables) -> int:
    """Draws all plots that can be drawn; the exit status, 2 where one cannot."""
    if not asked.plots:
        raise UserError(
            "the sweep has no plots",
            hint="as in plots: {depths.pdf: {x: set.queues.depth, y: cycles}}",
        )
    status = 0
    for name, plot in asked.plots.items():
        path = asked.folder / name
        try:
            sweep_plots.draw(plot, tables.of(plot.columns()), tables.axes, path)
        except UserError as mistake:
            complain(str(mistake.about(name)))
            status = 2
        else:
            stdout().print(Text(f"{_near(path)} is drawn"), soft_wrap=True)
    return status


def _near(path: Path) -> Path:
    """The path as seen from the current folder, if it is in there."""
    path, here = Path(os.path.normpath(path)), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
