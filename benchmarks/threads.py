"""The speed of a run on several threads, over that on one thread.

    python benchmarks/threads.py [--threads N] [--runs N] [--only TEXT]

The programs are those of ``benchmarks/engine.py`` at their largest, with queues of 4 and of 16
places. Times are wall time of whole runs (the inputs are bound before), the median of N runs in
turn (5 by default), so the machine must do nothing else. ``work`` is how long the legs take one
after the other, over the time on one thread: cores of their own bring the number of threads over
that, less the start. The last line tells what as many threads of plain arithmetic bring on this
machine: two processors of a virtual machine may be one core.
Exits with 1 where a run on threads differs in a cycle or in any statistic.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.engine import cases
from benchmarks.processors import Processors
from sim.binding import BoundGraph
from sim.compiled import legs
from sim.config.hardware import load
from sim.stats import Run


class _AtOnce(Executor):
    """Does each task when it is submitted."""

    def __init__(self, threads: int) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()
        done.set_result(fn(*args, **kwargs))
        return done


def _run(bound: BoundGraph, depth: int, threads: int) -> tuple[float, Run]:
    """The wall seconds of a run, and the run."""
    began = time.perf_counter()
    run = legs.run(bound, load("ideal", {"queues.depth": depth}), threads=threads)
    return time.perf_counter() - began, run


def _told(run: Run) -> tuple[Any, ...]:
    return run.cycles, run.blocks, run.streams


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    options = parser.parse_args(arguments)
    largest = {case.name: case for case in cases() if options.only in case.name}
    table, differ = Table(title="One run on threads"), False
    for column in ("program", "size", "queues", "1 thread, s", f"{options.threads} threads, s"):
        table.add_column(column)
    table.add_column("times as fast", justify="right")
    table.add_column("work", justify="right")
    table.add_column("why not")
    for case in largest.values():
        bound = case.bound()
        for depth in (4, 16):
            found = []
            _run(bound, depth, options.threads)  # compiles what is missing
            for _ in range(options.runs):
                alone, together = (_run(bound, depth, n) for n in (1, options.threads))
                with patch.object(legs, "ThreadPoolExecutor", _AtOnce):
                    in_turn = _run(bound, depth, options.threads)
                found.append((alone, together, in_turn))
            runs = [run for times in found for _, run in times]
            differ = differ or any(_told(run) != _told(runs[0]) for run in runs)
            walls = [statistics.median(times[n][0] for times in found) for n in range(3)]
            seconds = [f"{wall:.3f}" for wall in walls[:2]]
            ratios = [f"{walls[0] / walls[1]:.2f}", f"x {walls[2] / walls[0]:.2f}"]
            notes = ", ".join(runs[1].notes)
            table.add_row(case.name, case.size, str(depth), *seconds, *ratios, notes)
    Console(highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
    processors = Processors(options.threads)
    many = statistics.median(processors.brought().arithmetic for _ in range(5 * options.runs))
    print(f"{options.threads} threads of plain arithmetic: {many:.2f} times one")
    if differ:
        print("a run on threads differs from that on one", file=sys.stderr)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
