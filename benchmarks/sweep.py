"""Many configs at one go: the time of 16 and 64 configs over the time of one config alone.

    python benchmarks/sweep.py [--quick] [--memory] [--only TEXT] [--runs N] [--output FILE]

The programs are matrix multiplication in the orders ikj and ijk (2000 x 2000, 4 and 40 nonzeros per
row), SDDMM and MTTKRP. The configs have depths of 4 to unbounded, and latencies of 1 to 7 cycles.
The config alone has depth 4. Times are CPU time of whole runs in one process, with results and
statistics, the median of N runs in turn (3 by default), or of up to 21 while all take less than a
minute; compilation is left out. The goal is 4 times for 16 configs, and 14 times for 64. Each run
of a batch must have the cycles of the same config alone, which is checked for three of them; exits
with 1 where one has not. ``--quick`` has matrices of 500 x 500 with 4 per row. Writes
``out/benchmarks/sweep.csv``.

``--memory`` gives the configs a DRAM and a buffer of 64 KB to 1 MB, with a port of 64 GB/s or
unbounded, and compares 4 and 16 of them with the same run one by one. The products are those in the
order ikj, with 4 and 20 nonzeros per row: the accesses of the order ijk take more than is kept.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.engine import Case
from benchmarks.engine import cases as every_case
from sim.binding import BoundGraph
from sim.compiled import engine
from sim.config.hardware import Config, load
from sim.retiming import batch

DEPTHS: Sequence[int | str] = (4, 6, 8, 12, 16, 32, 64, 128, 256, "unbounded")
GOALS = {16: 4.0, 64: 14.0}
_MOST_RUNS, _ENOUGH = 21, 60.0
"""How often programs run that take little time, and the seconds after which they need not."""


@cache
def configs(count: int) -> Sequence[Config]:
    """Configs of different depths and latencies; the first is the config that runs alone."""
    pairs = [(DEPTHS[n % len(DEPTHS)], 1 + (n + n // len(DEPTHS)) % 7) for n in range(count)]
    return [
        load(None, {"queues.depth": depth, "queues.latency_cycles": latency})
        for depth, latency in pairs
    ]


@cache
def memory_configs(count: int) -> Sequence[Config]:
    """Configs of different depths, latencies and buffers."""
    dram = {"name": "DRAM", "bandwidth_gb_per_s": 64, "latency_cycles": 100}
    found = []
    for n, config in enumerate(configs(count)):
        buffer = {
            "name": "LLB",
            "capacity_bytes": 2 ** (16 + 2 * (n % 3)),
            "line_bytes": 64,
            "bandwidth_gb_per_s": 64 if n % 2 else "unbounded",
        }
        found.append(load(config, {"memory.levels": [dram, buffer]}))
    return found


@dataclass(frozen=True)
class Timing:
    """A program, with the seconds that it takes under one config, 16 and 64."""

    case: str
    size: str
    firings: int
    alone: float
    of_16: float
    of_64: float


@dataclass(frozen=True)
class MemoryTiming:
    """A program, with the seconds of 4 and 16 configs with memory: one by one, and as a batch."""

    case: str
    size: str
    firings: int
    of_4_alone: float
    of_4: float
    of_16_alone: float
    of_16: float


def measure(case: Case, runs: int) -> Timing:
    """The times of one program; raises ValueError where cycles differ."""
    bound = case.bound()
    first = _checked(case, bound, configs(16))
    ways: list[Callable[[], Any]] = [
        lambda: engine.run(bound, configs(1)[0]),
        lambda: _batch(bound, configs(16)),
        lambda: _batch(bound, configs(64)),
    ]
    ways[2]()
    return Timing(case.name, case.size, _firings(first), *_seconds(ways, runs))


def measure_memory(case: Case, runs: int) -> MemoryTiming:
    """The times of one program with memory; raises ValueError where cycles differ."""
    bound = case.bound()
    first = _checked(case, bound, memory_configs(16))
    ways: list[Callable[[], Any]] = [
        lambda: [engine.run(bound, config) for config in memory_configs(4)],
        lambda: _batch(bound, memory_configs(4)),
        lambda: [engine.run(bound, config) for config in memory_configs(16)],
        lambda: _batch(bound, memory_configs(16)),
    ]
    return MemoryTiming(case.name, case.size, _firings(first), *_seconds(ways, runs))


def _checked(case: Case, bound: BoundGraph, configs: Sequence[Config]) -> Any:
    """The run of the first config; raises ValueError where one differs from that in a batch."""
    found = _batch(bound, configs)
    for n in (0, 7, 15):
        if _facts(engine.run(bound, configs[n])) != _facts(found[n]):
            raise ValueError(f"{case.name}, {case.size}: config {n} differs in a batch")
    return found[0]


def _firings(run: Any) -> int:
    return sum(block.fired for block in run.blocks.values())


def _seconds(ways: Sequence[Callable[[], Any]], runs: int) -> list[float]:
    """The CPU time of each way, the median of runs in turn."""
    took: list[list[float]] = [[] for _ in ways]
    while len(took[0]) < runs or (len(took[0]) < _MOST_RUNS and sum(map(sum, took)) < _ENOUGH):
        for seconds, way in zip(took, ways, strict=True):
            started = time.process_time()
            way()
            seconds.append(time.process_time() - started)
    return [*map(statistics.median, took)]


def _batch(bound: BoundGraph, configs: Sequence[Config]) -> dict[int, Any]:
    """The runs of a batch."""
    found: dict[int, Any] = {}
    left = batch.run(bound, configs, [None] * len(configs), found.__setitem__)
    if left:
        raise ValueError(f"the configs {left} are left out of the batch")
    return found


def _facts(run: Any) -> Any:
    return run.cycles, run.blocks, run.streams, run.memory


def chosen(quick: bool, only: str, memory: bool = False) -> list[Case]:
    """The programs that are measured."""
    names = ("SpM*SpM ikj", "SpM*SpM ijk", "SDDMM", "MTTKRP")
    every = [case for case in every_case() if case.name in names and only in case.name]
    if quick:
        return [case for case in every if case.size.startswith(("500 x 500, 4", "64 x"))]
    largest = {case.name: case for case in every}
    found = []
    for name, case in largest.items():
        if memory and name == "SpM*SpM ijk":
            continue
        per_row = (4, 20 if memory else 40) if name.startswith("SpM") else (case.per_row,)
        found += [replace(case, per_row=number) for number in per_row]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--memory", action="store_true", help="configs with memory")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--runs", type=int, default=3, help="runs of each kind")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/sweep.csv"))
    options = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    cases = chosen(options.quick, options.only, options.memory)
    measured = measure_memory if options.memory else measure
    try:
        found = [measured(case, options.runs) for case in cases]
    except ValueError as mistake:
        console.print(str(mistake))
        return 1
    console.print(_table(found))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(field.name for one in found[:1] for field in fields(one))
        rows.writerows(asdict(one).values() for one in found)
    return 0


def _table(found: Sequence[Timing] | Sequence[MemoryTiming]) -> Table:
    """The times as a table."""
    if found and isinstance(found[0], MemoryTiming):
        table = Table(title="Configs with memory, one by one / from shared firings")
        times = ("4 alone, ms", "4, ms", "16 alone, ms", "16, ms", "4 alone / 4", "16 alone / 16")
    else:
        table = Table(title="Many configs at one go / one of them alone, at depth 4")
        times = ("1, ms", "16, ms", "64, ms", "16 / 1", "64 / 1")
    for name in ("program", "inputs"):
        table.add_column(name)
    for name in ("firings", *times):
        table.add_column(name, justify="right")
    for one in found:
        if isinstance(one, MemoryTiming):
            seconds = [one.of_4_alone, one.of_4, one.of_16_alone, one.of_16]
            shown = [f"{one.of_4_alone / one.of_4:.2f}", f"{one.of_16_alone / one.of_16:.2f}"]
        else:
            seconds = [one.alone, one.of_16, one.of_64]
            ratios = {16: one.of_16 / one.alone, 64: one.of_64 / one.alone}
            shown = [
                f"{ratio:.2f}" if ratio <= GOALS[count] else f"[bold red]{ratio:.2f}[/]"
                for count, ratio in ratios.items()
            ]
        milliseconds = (f"{1e3 * one:,.1f}" for one in seconds)
        table.add_row(one.case, one.size, f"{one.firings:,}", *milliseconds, *shown)
    return table


if __name__ == "__main__":
    sys.exit(main())
