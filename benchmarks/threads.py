"""The speed of a run on several threads, over that on one thread.

    python benchmarks/threads.py [--threads N] [--runs N] [--only TEXT]

The programs are those of ``benchmarks/engine.py`` at their largest, with unbounded queues and with
a depth of 1024. Times are wall time of the firings, the median of N runs in turn (5 by default), so
the machine must do nothing else. The CPU time beside it tells what threads cost.
Exits with 1 where a run on threads differs in a cycle or in any statistic.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.engine import cases
from sim.binding import BoundGraph
from sim.compiled import engine
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from sim.stats import Run


def _run(bound: BoundGraph, depth: int | str, threads: int) -> tuple[float, float, Run]:
    """The wall and CPU seconds of the firings, and the run."""
    running = engine.CompiledRun(CompiledMachine(bound, load("ideal", {"queues.depth": depth})))
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        running.run(None, None, threads)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return wall, cpu, running.report()
    finally:
        running.close()


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
    table.add_column("CPU", justify="right")
    for case in largest.values():
        bound = case.bound()
        for depth in ("unbounded", 1024):
            found = [
                [_run(bound, depth, threads) for threads in (1, options.threads)]
                for _ in range(options.runs)
            ]
            for one, many in found:
                same = (one[2].cycles, one[2].blocks, one[2].streams) == (
                    many[2].cycles,
                    many[2].blocks,
                    many[2].streams,
                )
                differ = differ or not same
            walls = [statistics.median(pair[n][0] for pair in found) for n in (0, 1)]
            cpus = [statistics.median(pair[n][1] for pair in found) for n in (0, 1)]
            seconds = [f"{wall:.3f}" for wall in walls]
            ratios = [f"{walls[0] / walls[1]:.2f}", f"x {cpus[1] / cpus[0]:.2f}"]
            table.add_row(case.name, case.size, str(depth), *seconds, *ratios)
    Console(highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
    if differ:
        print("a run on threads differs from that on one", file=sys.stderr)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
