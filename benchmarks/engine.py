"""The speed of the compiled engine: nanoseconds per token, beside SimPy and the published figures.

    python benchmarks/engine.py [--quick] [--only TEXT] [--output FILE]

The programs are matrix multiplication in three orders of the loops, addition, SDDMM (16 dense
columns) and MTTKRP (two square factors, 16 nonzeros per row). A token is one put on a used stream,
stop and done tokens included. Times are CPU time, the median of 3 to 7 runs, from the first firing
to the last; bringing back the result and the statistics has a column of its own (SimPy's time is
that of the whole run). The conversion of inputs and the compilation of kernels are left out.
Measured apart: how long the first use takes in an empty cache, how long a fresh process needs to
its first cycle count, and how much memory it takes at most with 80,000 nonzeros in each matrix.
Writes ``out/benchmarks/engine.csv``. A few minutes; ``--quick`` takes the smallest inputs alone,
and half a minute. Exits with 1 where the engines do not give the same cycles.

The published figures are of one run, matrices of 2000 x 2000 with 4 nonzeros per row, multiplied
in the order ikj, 4.0 M cycles and 8.5 M tokens: 94.7 CPU seconds in the published simulator, which
is in Python, and 0.90 in Comal, in Rust. Their authors give about 4 us per token for the first
(which favours it: 94.7 s are 11 us per token of this run), and 0.1 us for the second.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse
from rich.console import Console
from rich.progress import track
from rich.table import Table

import custard
from sam.tensor import Tensor
from sim import Run
from sim.binding import BoundGraph, bind
from sim.compiled import engine as compiled_engine
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from sim.reference import engine as simpy_engine

DEPTHS: Sequence[int | str] = ("unbounded", 2, 4, 16, 1024)

SIMULATOR, COMAL = 4000.0, 100.0
"""Nanoseconds per token, published."""

PUBLISHED = ("SpM*SpM ikj", "2000 x 2000, 4 per row")
SIMULATOR_SECONDS, COMAL_SECONDS = 94.7, 0.90
"""CPU seconds of the published run."""


@dataclass(frozen=True)
class Case:
    """A program on one size of inputs: ``n`` rows and columns, ``per_row`` nonzeros per row."""

    name: str
    expression: str
    order: str
    formats: Mapping[str, str]
    n: int
    per_row: int
    smallest: bool = False

    @property
    def size(self) -> str:
        """The size, in words."""
        if self.name == "MTTKRP":
            return f"{self.n} x {self.n} x {self.n}, {self.per_row} per slice"
        return f"{self.n} x {self.n}, {self.per_row} per row"

    def bound(self) -> BoundGraph:
        """Its graph with inputs that its size determines."""
        program = custard.compile(self.expression, self.formats, [f"reorder({self.order})"])
        return bind(program.graph, self._inputs())

    def _inputs(self) -> dict[str, Any]:
        if self.name == "SDDMM":
            shapes = {"C": (self.n, 16), "D": (16, self.n)}
            dense = {name: np.ones(shape) for name, shape in shapes.items()}
            return {"B": matrix(self.n, self.per_row, 1), **dense}
        if self.name == "MTTKRP":
            factors = {name: matrix(self.n, 16, seed) for seed, name in enumerate("CD", 1)}
            return {"B": _third_order(self.n, self.per_row), **factors}
        return {"B": matrix(self.n, self.per_row, 1), "C": matrix(self.n, self.per_row, 2)}


@dataclass(frozen=True)
class Timing:
    """A case with queues of one depth: cycles, tokens, and the CPU time of a run.

    ``seconds``   of the firings
    ``telling``   seconds, from the last firing to the result and its statistics
    """

    case: str
    size: str
    engine: str
    depth: int | str
    cycles: int
    tokens: int
    runs: int
    seconds: float
    telling: float

    @property
    def ns_per_token(self) -> float:
        """Nanoseconds per token."""
        return self.seconds / self.tokens * 1e9


@cache
def matrix(n: int, per_row: int, seed: int) -> scipy.sparse.csr_matrix:
    """A square matrix with ``per_row`` nonzeros in each row."""
    generator = np.random.default_rng([n, per_row, seed])
    columns = np.concatenate([generator.choice(n, per_row, replace=False) for _ in range(n)])
    values = generator.random(n * per_row) + 0.5
    return scipy.sparse.csr_matrix((values, (np.repeat(np.arange(n), per_row), columns)), (n, n))


def _third_order(n: int, per_row: int) -> Tensor:
    """A tensor of n x n x n with ``per_row`` nonzeros in each slice."""
    rows = matrix(n, per_row, 3).tocoo()
    depths = np.random.default_rng(n).integers(0, n, rows.nnz)
    return Tensor.from_coo(np.stack([rows.row, rows.col, depths]), rows.data, (n, n, n))


def cases() -> list[Case]:
    """The cases, each program from its smallest size up."""
    found: list[Case] = []

    def add(name: str, expression: str, order: str, formats: Any, *sizes: tuple[int, int]) -> None:
        found.extend(
            Case(name, expression, order, formats, n, per_row, size == 0)
            for size, (n, per_row) in enumerate(sizes)
        )

    for order in ("ikj", "ijk", "kij"):

        def stored(modes: str, order: str = order) -> str:
            return "ss:0,1" if order.index(modes[0]) < order.index(modes[1]) else "ss:1,0"

        formats = {"X": stored("ij"), "B": stored("ik"), "C": stored("kj")}
        sizes = [(100, 4), (500, 4), (2000, 4), *([(2000, 40)] if order == "ikj" else [])]
        add(f"SpM*SpM {order}", "X(i,j)=B(i,k)*C(k,j)", ",".join(order), formats, *sizes)
    add("addition", "X(i,j)=B(i,j)+C(i,j)", "i,j", {}, (1000, 4), (10_000, 4), (100_000, 4))
    dense = {"C": "dd:0,1", "D": "dd:1,0"}
    add("SDDMM", "X(i,j)=B(i,j)*C(i,k)*D(k,j)", "i,j,k", dense, (100, 4), (500, 4), (2000, 4))
    expression = "X(i,j)=B(i,k,l)*C(j,k)*D(j,l)"
    factors = {"C": "ss:0,1", "D": "ss:0,1"}
    add("MTTKRP", expression, "i,j,k,l", factors, (32, 8), (64, 8), (128, 8))
    return found


# Measuring


def measure(case: Case, quick: bool) -> Iterator[Timing]:
    """A case on the compiled engine with each depth of queues, and the smallest on SimPy too."""
    bound = case.bound()
    if case.smallest:
        started = time.process_time()
        run = simpy_engine.run(bound, load("ideal"))
        yield _timing(case, run, "unbounded", [(time.process_time() - started, 0.0)])
    for depth in DEPTHS:
        took: list[tuple[float, float]] = []
        while len(took) < (3 if quick or (took and took[0][0] > 0.3) else 7):
            firing, telling, run = _run(bound, depth)
            took.append((firing, telling))
        yield _timing(case, run, depth, took)


def _run(bound: BoundGraph, depth: int | str) -> tuple[float, float, Run]:
    """The seconds of the firings, the seconds of the report, and the run."""
    running = compiled_engine.CompiledRun(
        CompiledMachine(bound, load("ideal", {"queues.depth": depth}))
    )
    try:
        started = time.process_time()
        running.run(None)
        fired = time.process_time()
        run = running.report()
        return fired - started, time.process_time() - fired, run
    finally:
        running.close()


def _timing(case: Case, run: Run, depth: int | str, took: Sequence[tuple[float, float]]) -> Timing:
    seconds, telling = map(statistics.median, zip(*took, strict=True))
    counts = (run.cycles, run.tokens, len(took))
    return Timing(case.name, case.size, run.engine, depth, *counts, seconds, telling)


def first_use(smallest: Sequence[Case]) -> tuple[float, int]:
    """The seconds that an empty cache costs all cases, and the number of kernels compiled."""
    machines = [
        (case.bound(), load("ideal", {"queues.depth": depth}))
        for case in smallest
        for depth in ("unbounded", 2)
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"SAM_CACHE": folder}),
    ):
        started = time.perf_counter()
        for bound, config in machines:
            compiled_engine.run(bound, config)
        took = time.perf_counter() - started
        return took, len(list(Path(folder).rglob("*.so")))


_FRESH = """
import resource, scipy.sparse, custard
B = scipy.sparse.random(2000, 2000, {density}, format="csr", random_state=1)
C = scipy.sparse.random(2000, 2000, {density}, format="csr", random_state=2)
program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule="reorder(i,k,j)")
run = program.simulate({{"B": B, "C": C}}, engine="compiled")
print(run.cycles, run.tokens, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def fresh_process(density: float) -> tuple[float, int, float]:
    """A fresh process: seconds from its start to its cycle count, its tokens, its memory in MB."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _FRESH.format(density=density)],
        check=True,
        capture_output=True,
        text=True,
    )
    took = time.perf_counter() - started
    _, tokens, peak = map(int, done.stdout.split())
    return took, tokens, peak / (1e6 if sys.platform == "darwin" else 1e3)


# Tables


def table(found: Sequence[Timing]) -> Table:
    """A row for each timing; ``SimPy /`` and the like is that time over ours."""
    shown = Table(title="The compiled engine, CPU time per token")
    for name in ("program", "size"):
        shown.add_column(name, no_wrap=True)
    for name in ("queues", "cycles", "tokens", "ms", "result ms", "ns/token", "/ unbounded"):
        shown.add_column(name, justify="right")
    for name in ("SimPy /", "4 us /", "0.1 us /"):
        shown.add_column(name, justify="right")
    simpy = {(one.case, one.size): one for one in found if one.engine == "simpy"}
    unbounded = {
        (one.case, one.size): one
        for one in found
        if one.engine == "compiled" and one.depth == "unbounded"
    }
    for one in found:
        if one.engine == "simpy":
            continue
        same = one.case, one.size
        rival = simpy.get(same) if one.depth == "unbounded" else None
        shown.add_row(
            one.case,
            one.size,
            str(one.depth),
            f"{one.cycles:,}",
            f"{one.tokens:,}",
            f"{one.seconds * 1e3:.2f}",
            f"{one.telling * 1e3:.2f}",
            f"{one.ns_per_token:.1f}",
            f"{one.seconds / unbounded[same].seconds:.2f}",
            f"{rival.seconds / one.seconds:,.0f}" if rival else "",
            f"{SIMULATOR / one.ns_per_token:,.0f}",
            f"{COMAL / one.ns_per_token:.1f}",
            end_section=one.depth == DEPTHS[-1],
        )
    return shown


def write(path: Path, found: Sequence[Timing], apart: Mapping[str, float]) -> None:
    """Writes all timings, and below them the separate measurements, in seconds or MB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow((*Timing.__dataclass_fields__, "ns_per_token"))
        for one in found:
            rows.writerow((*asdict(one).values(), round(one.ns_per_token, 2)))
        for name, value in apart.items():
            rows.writerow((name, "", "", "", "", "", "", round(value, 3)))


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smallest inputs alone")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/engine.csv"))
    options = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 168)

    chosen = [case for case in cases() if options.only in case.name]
    smallest = [case for case in chosen if case.smallest]
    apart: dict[str, float] = {}
    seconds, kernels = first_use(smallest)
    apart["first use, seconds"] = seconds
    console.print(f"first use, with an empty cache: {kernels} kernels in {seconds:.1f} s")
    fresh_process(0.002)
    seconds, _, _ = fresh_process(0.002)
    apart["fresh process to its first cycle count, seconds"] = seconds
    console.print(f"a fresh process, to its first cycle count: {seconds:.2f} s")
    if not options.quick:
        _, tokens, peak = fresh_process(0.02)
        apart["80,000 nonzeros each, MB"] = peak
        console.print(f"80,000 nonzeros each, {tokens:,} tokens: {peak:.0f} MB at most")

    found = [
        timing
        for case in track(
            smallest if options.quick else chosen,
            "Measuring",
            console=Console(stderr=True),
            transient=True,
        )
        for timing in measure(case, options.quick)
    ]
    console.print(table(found))
    for one in found:
        if (one.case, one.size) == PUBLISHED and one.depth == "unbounded":
            console.print(
                f"{one.case}, {one.size}: {one.cycles:,} cycles, {one.tokens:,} tokens, "
                f"{one.seconds:.3f} CPU seconds; the published simulator {SIMULATOR_SECONDS} "
                f"({SIMULATOR_SECONDS / one.seconds:,.0f} times that), Comal {COMAL_SECONDS:.2f} "
                f"({COMAL_SECONDS / one.seconds:.0f} times)"
            )
    write(options.output, found, apart)
    console.print(f"written: {options.output}", soft_wrap=True)
    return 0 if _agree(found) else 1


def _agree(found: Sequence[Timing]) -> bool:
    """Whether the engines count the same cycles wherever both ran."""
    counts: dict[Any, set[int]] = {}
    for one in found:
        counts.setdefault((one.case, one.size, one.depth), set()).add(one.cycles)
    return all(len(cycles) == 1 for cycles in counts.values())


if __name__ == "__main__":
    sys.exit(main())
