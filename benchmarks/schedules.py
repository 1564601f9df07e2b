"""Schedules compared in C: row against nonzero split, tiles, two threads against one.

    python benchmarks/schedules.py [--quick] [--work] [--runs N] [--output FILE]

SpMV and SpMM (32 columns) by rows, and by 32 shares of equal numbers of entries, which are dealt
out to the threads; tiled SpMM; MTTKRP; and the product of two sparse matrices by rows. Matrices are
uniform, banded and power-law (the numbers of entries of rows follow a power law, the longest rows
first), of about 200,000 entries, or 2,000,000 without ``--quick``. Each schedule runs with 1 and
with 2 threads, all of a kernel in turns; times are medians of ``--runs`` (7). Every result is
checked against scipy or numpy.

Prints the speed of two threads over one, and that of the nonzero split over the row split with two
threads. Writes ``out/benchmarks/schedules.csv``. On a machine whose processors others use, ratios
say little: ``--work`` counts the processor time of the longest path through the threads instead,
the least of the runs; where threads take shares in turn, one that starts late leaves its shares to
the other, so this is no more than a bound, and on small inputs a poor one. Exits with 1 where a
result is wrong.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import custard
from custard.to_c.call import Bound
from sam.support import c_compiler as cc
from sam.tensor import Tensor

COLUMNS = 32
ROWS = "parallelize(i,CPUThread,NoRaces)"


@dataclass(frozen=True)
class Case:
    """A kernel on inputs under schedules, by their names."""

    kernel: str
    data: str
    expression: str
    formats: Mapping[str, str]
    schedules: Mapping[str, str]
    inputs: Mapping[str, Any]
    due: np.ndarray


@dataclass(frozen=True)
class Timing:
    """The median in seconds of a schedule with a number of threads."""

    kernel: str
    data: str
    schedule: str
    threads: int
    seconds: float
    right: bool


def matrices(entries: int) -> Iterator[tuple[str, sp.csr_array]]:
    """Square matrices of about ``entries`` entries, with 10 to a row."""
    random = np.random.default_rng(1)
    n = entries // 10
    yield "uniform", sp.random_array((n, n), density=10 / n, format="csr", rng=random)
    bands = [np.ones(n)] * 11
    yield "banded", sp.csr_array(sp.diags_array(bands, offsets=range(-5, 6), shape=(n, n)))
    counts = np.minimum(n // 2, (n / (np.arange(n) + 1.0) ** 1.1).astype(int) + 1)
    counts = np.maximum(1, (counts * (entries / counts.sum())).astype(int))
    counts = np.minimum(counts, n)
    rows = np.repeat(np.arange(n), counts)
    columns = random.integers(0, n, len(rows))
    power = sp.coo_array((random.random(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    power.sum_duplicates()
    yield "power-law", power


def cases(entries: int) -> Iterator[Case]:
    """The kernels on their inputs."""
    random = np.random.default_rng(2)
    shared = "parallelize(p0,CPUThread,Atomics)"
    equal = f"fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,32);{shared}"
    for name, a in matrices(entries):
        n = a.shape[0]
        x, dense = random.random(n), random.random((n, COLUMNS))
        yield Case(
            *("SpMV", name, "y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"}),
            {"rows": ROWS, "nonzeros": equal},
            *({"A": a, "x": x}, a @ x),
        )
        tiled = f"split(i,i0,i1,64);reorder(i0,i1,k,j);{ROWS.replace('(i,', '(i0,')}"
        yield Case(
            *("SpMM", name, "X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "CSR", "B": "dd"}),
            {
                "rows": f"reorder(i,k,j);{ROWS}",
                "tiles": tiled,
                "nonzeros": "reorder(i,k,j);" + equal.replace("(i,j,f)", "(i,k,f)"),
            },
            *({"A": a, "B": dense}, a @ dense),
        )
        if name != "power-law":
            product = (a @ a).toarray() if n <= 4000 else a @ a
            yield Case(
                *("SpGEMM", name, "X(i,j) = A(i,k) * B(k,j)", dict.fromkeys("XAB", "CSR")),
                {"rows": f"reorder(i,k,j);{ROWS}"},
                *({"A": a, "B": a}, product),
            )
    side = 100 if entries < 1_000_000 else 300
    places = np.unique(random.integers(0, side, (entries, 3)), axis=0)
    values = random.random(len(places))
    tensor = Tensor.from_coo(places.T.copy(), values, (side,) * 3).convert("sss")
    c, d = random.random((side, COLUMNS)), random.random((side, COLUMNS))
    due = np.zeros((side, COLUMNS))
    np.add.at(due, places[:, 0], values[:, None] * c[places[:, 1]] * d[places[:, 2]])
    yield Case(
        *("MTTKRP", "uniform", "X(i,r) = A(i,j,k) * C(j,r) * D(k,r)"),
        {"X": "dd", "A": "sss", "C": "dd", "D": "dd"},
        {"rows": f"reorder(i,j,k,r);{ROWS}"},
        *({"A": tensor, "C": c, "D": d}, due),
    )


def longest_path() -> Callable[[Bound], float]:
    """A function that measures the processor time of a run: of the busiest thread, if several run.

    Kernels that are loaded from here on run on threads that tell.
    """
    text = Path(__file__).with_name("omp_on_threads.c").read_text()
    (library,) = cc.build([text], flags=("-std=gnu11", "-O2", "-shared", "-fPIC"))
    ctypes.CDLL(library._name, mode=ctypes.RTLD_GLOBAL)
    saved = ctypes.c_longlong.in_dll(library, "saved_ns")

    def seconds(bound: Bound) -> float:
        saved.value = 0
        begin = time.process_time()
        bound.seconds()
        return time.process_time() - begin - saved.value / 1e9

    return seconds


def measured(
    case: Case, runs: int, seconds_of: Callable[[Bound], float], work: bool
) -> list[Timing]:
    """The times of all schedules of a kernel with 1 and 2 threads, in turns."""
    bound = {}
    for name, schedule in case.schedules.items():
        program = custard.compile(case.expression, case.formats, schedule, "c")
        for threads in (1, 2):
            bound[name, threads] = program.bind(case.inputs, threads=threads)
    right = {key: _agrees(one.run(), case.due) for key, one in bound.items()}
    seconds: dict[Any, list[float]] = {key: [] for key in bound}
    for _ in range(runs):
        for key, one in bound.items():
            seconds[key].append(seconds_of(one))
    typical = min if work else statistics.median
    return [
        Timing(case.kernel, case.data, *key, typical(seconds[key]), right[key]) for key in bound
    ]


def _agrees(found: Tensor, due: Any) -> bool:
    if sp.issparse(due):
        difference = abs(found.to_scipy() - due)
        return bool(difference.max() <= 1e-9 * max(1.0, abs(due).max()))
    return bool(np.allclose(found.to_numpy(), due))


def main() -> int:
    """Runs the benchmark; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smaller inputs")
    parser.add_argument("--work", action="store_true", help="processor time of the longest path")
    parser.add_argument("--runs", type=int, default=7, metavar="N")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/schedules.csv"))
    arguments = parser.parse_args()
    table = Table("kernel", "data", "schedule", "1 thread, ms", "2 threads, ms", "speed of 2",
                  "over rows", title="two threads")  # fmt: skip
    timings: list[Timing] = []
    seconds_of = longest_path() if arguments.work else Bound.seconds
    for case in cases(200_000 if arguments.quick else 2_000_000):
        found = measured(case, arguments.runs, seconds_of, arguments.work)
        timings += found
        seconds = {(one.schedule, one.threads): one.seconds for one in found}
        for name in case.schedules:
            one, two = seconds[name, 1], seconds[name, 2]
            table.add_row(
                *(case.kernel, case.data, name, f"{1e3 * one:.2f}", f"{1e3 * two:.2f}"),
                *(f"{one / two:.2f}", f"{seconds['rows', 2] / two:.2f}"),
            )
    Console().print(table)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(timings[0])))
        writer.writeheader()
        writer.writerows(map(asdict, timings))
    wrong = [one for one in timings if not one.right]
    for one in wrong:
        print(f"wrong: {one.kernel} {one.data} {one.schedule} with {one.threads} threads")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
