"""Schedules compared in C: row against nonzero split, tiles, two threads against one.

    python benchmarks/schedules.py [--quick] [--runs N] [--only TEXT] [--plot FILE] [--output FILE]

SpMV, SpMM and MTTKRP (32 columns) by rows, and by 32 shares of equal numbers of entries, which are
dealt out to the threads; tiled SpMM; and the product of two sparse matrices by rows. Matrices and
tensors are uniform, banded and power-law (the numbers of entries of rows follow a power law, the
longest rows first), of about 200,000 entries, or 2,000,000 without ``--quick``. Each schedule runs
with 1 and with 2 threads, all of a kernel in turns, ``--runs`` times (15), in caches that a run
before has filled and in memory that the process keeps: new pages would take up to a third of the
time. Every result is checked against scipy or numpy.

Prints three ratios of times: one thread over two; and the row split over each schedule, with one
thread and with two. They are medians of those of all rounds, and behind the stroke of the rounds in
which the machine had two cores: before, between and after all kernels of such a round, two threads
of plain arithmetic brought 1.9 times one or more (``processors``). The last columns have the number
of these rounds, what two threads brought in them: of arithmetic, and of reads from memory, which no
kernel that goes through large arrays once exceeds by much; and the largest growth of the resident
set in one run, with 1 and with 2 threads, the result included. Writes
``out/benchmarks/schedules.csv`` and ``.png``. Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from benchmarks.memory import with_memory
from benchmarks.processors import OF_TWO, Brought, Processors
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
class Round:
    """The seconds of each schedule with a number of threads, and what two threads brought before,
    between and after them."""

    seconds: Mapping[tuple[str, int], float]
    brought: Sequence[Brought]

    @property
    def on_two_cores(self) -> bool:
        return min(one.arithmetic for one in self.brought) >= OF_TWO


@dataclass(frozen=True)
class Measured:
    """The rounds of a kernel, the peak megabytes of each schedule with a number of threads, and
    whether all results are right."""

    rounds: Sequence[Round]
    megabytes: Mapping[tuple[str, int], float]
    right: bool


@dataclass(frozen=True)
class Ratios:
    """What a schedule brings, of all rounds or of those on two cores.

    ``milliseconds``, ``milliseconds2``  with 1 and with 2 threads
    ``speed``               of two threads over one
    ``over_rows``, ``over_rows2``  over the split by rows, with 1 and with 2 threads
    ``arithmetic``, ``reads``      what two threads bring
    ``megabytes``, ``megabytes2``  of peak memory, with 1 and with 2 threads
    """

    kernel: str
    data: str
    schedule: str
    rounds: int
    milliseconds: float
    milliseconds2: float
    speed: float
    over_rows: float
    over_rows2: float
    arithmetic: float
    reads: float
    megabytes: float
    megabytes2: float

    @classmethod
    def of(cls, case: Case, name: str, measured: Measured, rounds: Sequence[Round]) -> Ratios:
        def typical(found: Callable[[Mapping[tuple[str, int], float]], float]) -> float:
            return round(statistics.median([found(one.seconds) for one in rounds]), 3)

        brought = [one for each in rounds for one in each.brought]
        return cls(
            *(case.kernel, case.data, name, len(rounds)),
            *(typical(lambda one, n=n: 1e3 * one[name, n]) for n in (1, 2)),  # type: ignore[misc]
            typical(lambda one: one[name, 1] / one[name, 2]),
            *(typical(lambda one, n=n: one["rows", n] / one[name, n]) for n in (1, 2)),  # type: ignore[misc]
            round(statistics.median(one.arithmetic for one in brought), 2),
            round(statistics.median(one.reads for one in brought), 2),
            *(round(measured.megabytes[name, n], 2) for n in (1, 2)),  # type: ignore[misc]
        )


def power_law(rows: int, most: int, entries: int) -> np.ndarray:
    """The row of each of about ``entries`` entries, up to ``most`` in a row."""
    counts = np.minimum(rows // 2, (rows / (np.arange(rows) + 1.0) ** 1.1).astype(int) + 1)
    counts = np.maximum(1, (counts * (entries / counts.sum())).astype(int))
    return np.repeat(np.arange(rows), np.minimum(counts, most))


def matrices(entries: int) -> Iterator[tuple[str, sp.csr_array]]:
    """Square matrices of about ``entries`` entries, with 10 to a row."""
    random = np.random.default_rng(1)
    n = entries // 10
    yield "uniform", sp.random_array((n, n), density=10 / n, format="csr", rng=random)
    bands = [np.ones(n)] * 11
    yield "banded", sp.csr_array(sp.diags_array(bands, offsets=range(-5, 6), shape=(n, n)))
    rows = power_law(n, n, entries)
    columns = random.integers(0, n, len(rows))
    power = sp.coo_array((random.random(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    power.sum_duplicates()
    yield "power-law", power


def tensors(entries: int) -> Iterator[tuple[str, np.ndarray, tuple[int, int, int]]]:
    """The coordinates of about ``entries`` entries of tensors of order 3, and the shapes."""
    random = np.random.default_rng(3)

    def distinct(places: Sequence[np.ndarray], side: int) -> np.ndarray:
        flat = np.ravel_multi_index(tuple(places), (side,) * 3)
        return np.stack(np.unravel_index(np.unique(flat), (side,) * 3))

    side = 100 if entries < 1_000_000 else 300
    yield "uniform", distinct(random.integers(0, side, (3, entries)), side), (side,) * 3
    side = entries // 121
    band = np.stack(np.meshgrid(np.arange(side), *[np.arange(-5, 6)] * 2, indexing="ij"))
    band = band.reshape(3, -1)
    band[1:] += band[0]
    inside = ((band >= 0) & (band < side)).all(0)
    yield "banded", band[:, inside], (side,) * 3
    side = 1000 if entries < 1_000_000 else 3000
    rows = power_law(side, side**2, entries)
    others = random.integers(0, side, (2, len(rows)))
    yield "power-law", distinct([rows, *others], side), (side,) * 3


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
    fused = f"fuse(i,j,f);fuse(f,k,g);pos(g,p,A);divide(p,p0,p1,32);{shared}"
    for name, places, shape in tensors(entries):
        values = random.random(places.shape[1])
        c, d = (random.random((side, COLUMNS)) for side in shape[1:])
        i, j, k = places
        due = [np.bincount(i, values * c[j, r] * d[k, r], shape[0]) for r in range(COLUMNS)]
        tensor = Tensor.from_coo(places, values, shape).convert("sss")
        yield Case(
            *("MTTKRP", name, "X(i,r) = A(i,j,k) * C(j,r) * D(k,r)"),
            {"X": "dd", "A": "sss", "C": "dd", "D": "dd"},
            {
                "rows": f"reorder(i,j,k,r);{ROWS}",
                "nonzeros": f"reorder(i,j,k,r);{fused}",
            },
            *({"A": tensor, "C": c, "D": d}, np.stack(due, 1)),
        )


def measure(case: Case, runs: int, processors: Processors) -> Measured:
    """All schedules of a kernel with 1 and 2 threads, in turns."""
    bound = {}
    for name, schedule in case.schedules.items():
        program = custard.compile(case.expression, case.formats, schedule, "c")
        for threads in (1, 2):
            bound[name, threads] = program.bind(case.inputs, threads=threads)
    right, megabytes = True, {}
    for which, one in bound.items():
        one.seconds()
        found, megabytes[which] = with_memory(one.run)
        right &= _agrees(found, case.due)
        del found
    rounds = []
    for _ in range(runs):
        processors.warm()
        brought, seconds = [processors.brought()], {}
        for name in case.schedules:
            bound[name, 2].seconds()
            seconds |= {(name, threads): bound[name, threads].seconds() for threads in (1, 2)}
            brought.append(processors.brought())
        rounds.append(Round(seconds, brought))
    return Measured(rounds, megabytes, right)


def _keep_memory() -> None:
    """Has glibc keep what is freed, and take all memory from what it keeps."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(-4, 0)  # M_MMAP_MAX
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def _agrees(found: Tensor, due: Any) -> bool:
    if sp.issparse(due):
        difference = abs(found.to_scipy() - due)
        return bool(difference.max() <= 1e-9 * max(1.0, abs(due).max()))
    return bool(np.allclose(found.to_numpy(), due))


def plot(found: Sequence[Ratios], path: Path) -> None:
    """Draws the median times and the peak memory of each schedule, with 1 and with 2 threads, by
    kernel."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kernels = list(dict.fromkeys(one.kernel for one in found))
    figure, axes = plt.subplots(len(kernels), 2, figsize=(13, 2.8 * len(kernels)), squeeze=False)
    for row, kernel in zip(axes, kernels, strict=True):
        own = [one for one in found if one.kernel == kernel]
        places = np.arange(len(own))
        for axis, unit, members in (
            (row[0], "ms", ("milliseconds", "milliseconds2")),
            (row[1], "MB of peak memory", ("megabytes", "megabytes2")),
        ):
            for at, member in enumerate(members):
                heights = [getattr(one, member) for one in own]
                label = f"{at + 1} thread{'s' * at}"
                axis.bar(places + 0.4 * at - 0.2, heights, 0.4, label=label)
            axis.set(title=kernel, ylabel=unit, xticks=places)
            labels = [f"{one.data}\n{one.schedule}" for one in own]
            axis.set_xticklabels(labels, fontsize=7)
            axis.legend(fontsize=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> int:
    """Runs the benchmark; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smaller inputs")
    parser.add_argument("--runs", type=int, default=15, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels with this in the name")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a PNG or PDF of all schedules",
                        default=Path("out/benchmarks/schedules.png"))  # fmt: skip
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/schedules.csv"))
    arguments = parser.parse_args()
    table = Table("kernel", "data", "schedule", "1 thread, ms", "2 threads, ms", "speed of 2",
                  "over rows, 1", "over rows, 2", "rounds", "arithmetic", "reads", "MB, 1", "MB, 2",
                  title="of all rounds | on two cores")  # fmt: skip
    _keep_memory()
    found, typical, wrong, processors = [], [], [], Processors()
    for case in cases(200_000 if arguments.quick else 2_000_000):
        if arguments.only not in f"{case.kernel} {case.data}":
            continue
        measured = measure(case, arguments.runs, processors)
        wrong += [] if measured.right else [f"wrong: {case.kernel} {case.data}"]
        rounds = measured.rounds
        on_two = [one for one in rounds if one.on_two_cores]
        for name in case.schedules:
            both = [Ratios.of(case, name, measured, these) for these in (rounds, on_two) if these]
            found += both
            typical.append(both[0])
            *cells, one, two = [
                " | ".join([f"{getattr(one, key):.2f}" for one in both] + ["none"][len(both) - 1 :])
                for key in list(asdict(both[0]))[4:-2]
            ]
            memory = (f"{each:.1f}" for each in (both[0].megabytes, both[0].megabytes2))
            counted = f"{len(on_two)} of {len(rounds)}"
            table.add_row(case.kernel, case.data, name, *cells, counted, one, two, *memory)
    Console(width=None if sys.stdout.isatty() else 220).print(table)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(found[0])))
        writer.writeheader()
        writer.writerows(map(asdict, found))
    plot(typical, arguments.plot)
    print(*wrong, sep="\n", end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
