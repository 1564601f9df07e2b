"""The cost of keeping the causes of firings in the compiled engine: the ratio of CPU times.

    python benchmarks/attribution.py [--quick]

The programs and inputs are those of ``benchmarks/engine.py``; times are CPU time of runs with
their statistics, the medians of runs that alternate. Half a minute; ``--quick`` takes the smallest
inputs alone.
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

from benchmarks.engine import Case
from sim.compiled import engine
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load

_FORMATS = {"B": "ss", "C": "ss", "X": "ss"}
_DEPTHS = ("unbounded", 2, 1024)


def cases(quick: bool) -> list[Case]:
    """The programs, each with inputs of a size."""
    shrink = 4 if quick else 1
    product = "X(i,j) = B(i,k) * C(k,j)"
    return [
        Case("SpM*SpM ikj", product, "i,k,j", _FORMATS, 4000 // shrink, 4),
        Case("SpM*SpM ijk", product, "i,j,k", _FORMATS, 400 // shrink, 4),
        Case("add", "X(i,j) = B(i,j) + C(i,j)", "i,j", _FORMATS, 20_000 // shrink, 8),
    ]


def seconds(bound: engine.Bound, depth: int | str, attribution: bool) -> float:
    """The CPU time of a run and of its statistics."""
    running = engine.CompiledRun(
        CompiledMachine(bound, load("ideal", {"queues.depth": depth}), attribution)
    )
    try:
        started = time.process_time()
        running.run(None)
        running.report()
        return time.process_time() - started
    finally:
        running.close()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    table = Table("program", "size", "depth", "seconds without", "ratio", box=None)
    for case in cases(parser.parse_args().quick):
        bound = case.bound()
        for depth in _DEPTHS:
            times: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(7):
                for attribution, found in times.items():
                    found.append(seconds(bound, depth, attribution))
            without, kept = (statistics.median(times[on]) for on in (False, True))
            ratio = f"{kept / without:.2f}"
            table.add_row(case.name, case.size, str(depth), f"{without:.3f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
