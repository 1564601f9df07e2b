"""Many configs at one go: the time of 16 and 64 configs over the time of one config alone.

    python benchmarks/sweep.py [--quick] [--only TEXT] [--runs N] [--output FILE]

The programs are matrix multiplication in the orders ikj and ijk (2000 x 2000, 4 and 40 nonzeros per
row), SDDMM and MTTKRP. The configs have depths of 4 to unbounded, and latencies of 1 to 7 cycles.
The config alone has depth 4. Times are CPU time of whole runs in one process, with results and
statistics, the median of N runs in turn (3 by default); compilation is left out. The goal is 4
times for 16 configs, and 14 times for 64. Each run of a batch must have the cycles of the same
config alone, which is checked for three of them; exits with 1 where one has not. ``--quick`` has
matrices of 500 x 500 with 4 per row. Writes ``out/benchmarks/sweep.csv``.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.engine import Case, cases
from sim.binding import BoundGraph
from sim.compiled import engine
from sim.config.hardware import Config, load
from sim.retiming import batch

DEPTHS: Sequence[int | str] = (4, 6, 8, 12, 16, 32, 64, 128, 256, "unbounded")
GOALS = {16: 4.0, 64: 14.0}


@cache
def configs(count: int) -> Sequence[Config]:
    """Configs of different depths and latencies; the first is the config that runs alone."""
    pairs = [(DEPTHS[n % len(DEPTHS)], 1 + (n + n // len(DEPTHS)) % 7) for n in range(count)]
    return [
        load(None, {"queues.depth": depth, "queues.latency_cycles": latency})
        for depth, latency in pairs
    ]


@dataclass(frozen=True)
class Timing:
    """A program, with the seconds that it takes under one config, 16 and 64."""

    case: str
    size: str
    firings: int
    alone: float
    of_16: float
    of_64: float


def measure(case: Case, runs: int) -> Timing:
    """The times of one program; raises ValueError where cycles differ."""
    bound = case.bound()
    first = engine.run(bound, configs(1)[0])
    found = _batch(bound, 16)
    for n in (0, 7, 15):
        alone = engine.run(bound, configs(16)[n])
        if (alone.cycles, alone.blocks, alone.streams) != _facts(found[n]):
            raise ValueError(f"{case.name}, {case.size}: config {n} differs in a batch")
    took: list[list[float]] = [[], [], []]
    ways: list[Callable[[], Any]] = [
        lambda: engine.run(bound, configs(1)[0]),
        lambda: _batch(bound, 16),
        lambda: _batch(bound, 64),
    ]
    ways[2]()
    for _ in range(runs):
        for seconds, way in zip(took, ways, strict=True):
            started = time.process_time()
            way()
            seconds.append(time.process_time() - started)
    firings = sum(block.fired for block in first.blocks.values())
    return Timing(case.name, case.size, firings, *map(statistics.median, took))


def _batch(bound: BoundGraph, count: int) -> dict[int, Any]:
    """The runs of a batch."""
    found: dict[int, Any] = {}
    left = batch.run(bound, configs(count), [None] * count, found.__setitem__)
    if left:
        raise ValueError(f"the configs {left} are left out of the batch")
    return found


def _facts(run: Any) -> Any:
    return run.cycles, run.blocks, run.streams


def chosen(quick: bool, only: str) -> list[Case]:
    """The programs that are measured."""
    names = ("SpM*SpM ikj", "SpM*SpM ijk", "SDDMM", "MTTKRP")
    every = [case for case in cases() if case.name in names and only in case.name]
    if quick:
        return [case for case in every if case.size.startswith(("500 x 500, 4", "64 x"))]
    largest = {case.name: case for case in every}
    found = []
    for name, case in largest.items():
        per_row = (4, 40) if name.startswith("SpM") else (case.per_row,)
        found += [replace(case, per_row=number) for number in per_row]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--runs", type=int, default=3, help="runs of each kind")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/sweep.csv"))
    options = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    found: list[Timing] = []
    for case in chosen(options.quick, options.only):
        try:
            found.append(measure(case, options.runs))
        except ValueError as mistake:
            console.print(str(mistake))
            return 1
    table = Table(title="Many configs at one go / one of them alone, at depth 4")
    for name in ("program", "inputs"):
        table.add_column(name)
    for name in ("firings", "1, ms", "16, ms", "64, ms", "16 / 1", "64 / 1"):
        table.add_column(name, justify="right")
    for one in found:
        ratios = {16: one.of_16 / one.alone, 64: one.of_64 / one.alone}
        shown = [
            f"{ratio:.2f}" if ratio <= GOALS[count] else f"[bold red]{ratio:.2f}[/]"
            for count, ratio in ratios.items()
        ]
        times = (f"{1e3 * seconds:,.1f}" for seconds in (one.alone, one.of_16, one.of_64))
        table.add_row(one.case, one.size, f"{one.firings:,}", *times, *shown)
    console.print(table)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(Timing.__dataclass_fields__)
        rows.writerows(asdict(one).values() for one in found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
