"""The cost of workspaces, and whether the compiler chooses the cheapest.

    python benchmarks/workspaces.py [--quick] [--runs N] [--only TEXT] [--plot FILE] [--output FILE]

Results that scatter, with each kind of workspace (``precompute(..., W:hash)``) and with the
compiler's choice, over the dimension and the density of the operands (workspace paper, Figures 14
to 24):

    SpGEMM by rows        X(i,j) = B(i,k) * C(k,j), loops i k j     a workspace of order 1
    outer-product SpGEMM  the same, loops k i j                     of order 2
    SpGEMM by columns     the same, loops j k i                     of order 2
    MTTKRP                X(i,j) = B(k,l,i) * C(k,j) * D(l,j)       of order 2
    SpTTM                 X(i,j,l) = B(k,i,j) * C(k,l)              of order 3
    SpTTM, k outside      X(k,j,l) = B(k,i,j) * C(i,l)              of order 2, in a loop

All tensors are sparse and uniform, or as the paper has them: few columns of B, each with many rows.
Times are CPU times of this process, the least of ``--runs`` (5) in turns; the kernels are the same
whether a schedule or the compiler chooses the workspace. Memory is the largest growth of the
resident set. Every result is checked against scipy. A dense workspace is left out where it has more
than 2^27 places.

Prints one line for each case, and the worst ratio of a chosen workspace to the best; writes
``out/benchmarks/workspaces.csv`` and ``.png``. Exits with 1 if a result is wrong, or if a chosen
workspace takes more than 1.3 times the best. Takes about 10 minutes.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from benchmarks.memory import with_memory
from custard.language.commands import WORKSPACES
from sam.tensor import Tensor

_MOST_PLACES = 2**27
_MOST_RATIO = 1.3
_ENOUGH = 0.5  # seconds that the runs of a case take, where they need not take more


@dataclass(frozen=True)
class Case:
    """A program on some inputs.

    ``over``    the variables of its workspace
    ``places``  the number of places for its values
    ``scipy``   whether scipy computes the same
    """

    kernel: str
    data: str
    expression: str
    formats: Mapping[str, str]
    order: str
    over: str
    places: int
    inputs: Mapping[str, Any]
    due: sp.csr_array
    scipy: bool = False

    @property
    def factors(self) -> str:
        return self.expression.split("=")[1].strip()


@dataclass(frozen=True)
class Timing:
    """The time of a policy on a case in milliseconds, and its peak memory in megabytes."""

    kernel: str
    data: str
    policy: str
    chosen: bool
    milliseconds: float
    megabytes: float
    over_best: float
    over_scipy: float | None
    right: bool


def matrix(rows: int, columns: int, entries: int, seed: int) -> sp.csr_array:
    """A uniform matrix of about ``entries`` entries."""
    random = np.random.default_rng(seed)
    places = random.integers(0, rows, entries), random.integers(0, columns, entries)
    found = sp.coo_array((random.random(entries) + 0.5, places), shape=(rows, columns)).tocsr()
    found.sum_duplicates()
    return found


def columns(rows: int, count: int, used: int, each: int) -> sp.csr_array:
    """A matrix with ``each`` entries in each of ``used`` columns."""
    random = np.random.default_rng(3)
    at = np.repeat(random.choice(count, used, replace=False), each)
    places = random.integers(0, rows, len(at)), at
    found = sp.coo_array((random.random(len(at)) + 0.5, places), shape=(rows, count)).tocsr()
    found.sum_duplicates()
    return found


def tensor(shape: tuple[int, int, int], entries: int) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """A uniform tensor of order 3, and its coordinates and values."""
    random = np.random.default_rng(4)
    places = np.unique(np.stack([random.integers(0, n, entries) for n in shape], 1), axis=0)
    values = random.random(len(places)) + 0.5
    return Tensor.from_coo(places.T.copy(), values, shape).convert("sss"), places, values


_ORDERS = {"SpGEMM by rows": "i,k,j", "outer-product SpGEMM": "k,i,j", "SpGEMM by columns": "j,k,i"}


def products(data: str, b: sp.csr_array, c: sp.csr_array, scipy: bool = True) -> Iterator[Case]:
    """The three orders of a product of matrices."""
    due = b @ c
    for kernel, order in _ORDERS.items():
        first = order[0]
        yield Case(
            *(kernel, data, "X(i,j) = B(i,k) * C(k,j)"),
            {
                "X": "CSR",
                "B": "CSR" if first == "i" else "CSC",
                "C": "CSC" if first == "j" else "CSR",
            },
            order,
            "j" if first == "i" else "i,j",
            c.shape[1] * (1 if first == "i" else b.shape[0]),
            {
                "B": b if first == "i" else b.tocsc(),
                "C": c.tocsc() if first == "j" else c,
            },
            due,
            scipy,
        )


def contractions(data: str, shape: tuple[int, int, int], entries: int, density: float,
                 free: int) -> Iterator[Case]:  # fmt: skip
    """MTTKRP and products of a tensor and a matrix; ``free`` is the extent of the variable that
    the matrix alone has."""
    b, places, values = tensor(shape, entries)
    first, second, third = shape
    count = len(values)

    def factor(rows: int, seed: int) -> sp.csr_array:
        return matrix(rows, free, max(1, int(rows * free * density)), seed)

    c, d = factor(first, 5), factor(second, 6)
    rows = c[places[:, 0]].multiply(d[places[:, 1]]).tocsr()
    which = sp.coo_array((values, (places[:, 2], np.arange(count))), shape=(third, count)).tocsr()
    sparse = dict.fromkeys("CD", "CSR")
    yield Case(
        *("MTTKRP", data, "X(i,j) = B(k,l,i) * C(k,j) * D(l,j)"),
        {"X": "CSR", "B": "sss", **sparse},
        *("k,l,i,j", "i,j", third * free, {"B": b, "C": c, "D": d}, which @ rows),
    )
    inner = sp.coo_array(
        (values, (places[:, 1] * third + places[:, 2], places[:, 0])), shape=(second * third, first)
    )
    yield Case(
        *("SpTTM", data, "X(i,j,l) = B(k,i,j) * C(k,l)"),
        {"X": "sss", "B": "sss", "C": "CSR"},
        *("k,i,j,l", "i,j,l", second * third * free, {"B": b, "C": c}, inner.tocsr() @ c),
    )
    side = sp.coo_array(
        (values, (places[:, 0] * third + places[:, 2], places[:, 1])), shape=(first * third, second)
    )
    yield Case(
        *("SpTTM, k outside", data, "X(k,j,l) = B(k,i,j) * C(i,l)"),
        {"X": "sss", "B": "sss", "C": "CSR"},
        *("k,i,j,l", "j,l", third * free, {"B": b, "C": d}, side.tocsr() @ d),
    )


def cases(quick: bool) -> Iterator[Case]:
    """The cases, over dimension and density."""
    sweep = [(1000, 2_000), (1000, 50_000), (20_000, 20_000), (20_000, 200_000), (200_000, 200_000)]
    if not quick:
        sweep += [
            *((300, 20_000), (3000, 3_000), (3000, 30_000), (3000, 300_000), (20_000, 500_000)),
            *((200_000, 20_000), (200_000, 1_000_000), (1_000_000, 10_000), (1_000_000, 1_000_000)),
        ]
    for n, entries in sweep:
        data = f"{n:,} squared, {entries:,} entries"
        yield from products(data, matrix(n, n, entries, 1), matrix(n, n, entries, 2))
    for used in (4, 64) if quick else (1, 4, 16, 64):
        b = columns(10_000, 10_000, used, 500)
        data = f"{used} columns of 500 in 10,000"
        yield from products(data, b, sp.csr_array(b.T))
    shapes = [((50, 60, 70), 5_000, 0.1, 32), ((300, 300, 2000), 20_000, 0.02, 500)]
    if not quick:
        shapes += [
            *(((50, 60, 70), 5_000, 0.1, free) for free in (4, 256, 2048)),
            *(((50, 60, 70), 50_000, density, 64) for density in (0.01, 0.3)),
            *(((2000, 3000, 4000), 100_000, 0.01, free) for free in (32, 1000)),
            ((100, 100, 200_000), 100_000, 0.05, 100),
        ]
    for shape, entries, density, free in shapes:
        size = " x ".join(f"{n:,}" for n in shape)
        data = f"{size}, {entries:,} entries; {free:,} columns, {density:.0%}"
        yield from contractions(data, shape, entries, density, free)


def measured(case: Case, runs: int) -> list[Timing]:
    """A case with all workspaces, in turns."""
    reorder = f"reorder({case.order})"
    own = custard.compile(case.expression, case.formats, reorder, "c").bind(case.inputs, threads=1)
    (chosen,) = own.types.policies.values()
    bound = {}
    for policy in WORKSPACES:
        if policy == "dense" and case.places > _MOST_PLACES:
            continue
        over = f"{{{case.over}}}"
        schedule = [reorder, f"precompute({case.factors},{over},{over},W:{policy})"]
        program = custard.compile(case.expression, case.formats, schedule, "c")
        bound[policy] = own if policy == chosen else program.bind(case.inputs, threads=1)
    right, megabytes = {}, {}
    for policy, one in bound.items():
        result, megabytes[policy] = with_memory(one.run)
        right[policy] = agrees(result, case.due)
        del result
    scipy = math.inf
    if case.scipy:
        left, others = sp.csr_array(case.inputs["B"]), sp.csr_array(case.inputs["C"])
        scipy = min(seconds_of(lambda: left @ others) for _ in range(2))
    least = fastest(bound, runs)
    return [
        Timing(
            *(case.kernel, case.data, policy, policy == chosen),
            round(1e3 * least[policy], 3),
            round(megabytes[policy], 2),
            round(least[policy] / min(least.values()), 2),
            round(least[policy] / scipy, 2) if case.scipy else None,
            right[policy],
        )
        for policy in bound
    ]


def fastest(bound: Mapping[str, Any], runs: int) -> dict[str, float]:
    """The least CPU seconds of each program, in turns: at least some runs, and more while they
    take less than half a second. After that, and after two turns, a program that takes twice as
    long as the best is left out."""
    least = dict.fromkeys(bound, math.inf)
    spent = 0.0
    for turn in range(5 * runs):
        if turn >= runs and spent > _ENOUGH:
            break
        best = min(least.values())
        for policy, one in bound.items():
            if turn < 2 or spent < _ENOUGH or least[policy] <= 2 * best:
                took = seconds_of(lambda one=one: one.run())
                spent, least[policy] = spent + took, min(least[policy], took)
    return least


def seconds_of(run: Callable[[], Any]) -> float:
    """The CPU seconds of a call."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def agrees(found: Tensor, due: sp.csr_array) -> bool:
    """Whether a result equals scipy's, with its first modes as one."""
    coordinates, values = found.to_coo()
    *first, last = coordinates
    row = np.zeros(len(values), np.int64)
    for mode, one in enumerate(first):
        row = row * found.shape[mode] + one
    due = due.copy()
    due.sort_indices()
    rows = np.repeat(np.arange(due.shape[0]), np.diff(due.indptr))
    order = np.lexsort((last, row))
    return (
        np.array_equal(row[order], rows)
        and np.array_equal(last[order], due.indices)
        and bool(np.allclose(values[order], due.data))
    )


def main() -> int:
    """Runs the benchmark; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their lines")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a PNG or PDF of the times",
                        default=Path("out/benchmarks/workspaces.png"))  # fmt: skip
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/workspaces.csv"))
    arguments = parser.parse_args()
    timings: list[Timing] = []
    for case in cases(arguments.quick):
        if arguments.only not in f"{case.kernel}, {case.data}":
            continue
        found = {one.policy: one for one in measured(case, arguments.runs)}
        timings += found.values()
        print(line(found), flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(timings[0])))
        writer.writeheader()
        writer.writerows(map(asdict, timings))
    plot(timings, arguments.plot)
    wrong = [f"wrong: {one.kernel} {one.data} {one.policy}" for one in timings if not one.right]
    slow = [
        f"{one.policy} was chosen for {one.kernel} {one.data}: {one.over_best} of the best"
        for one in timings
        if one.chosen and one.over_best > _MOST_RATIO
    ]
    ratios = [one.over_best for one in timings if one.chosen]
    above = sum(one > _MOST_RATIO for one in ratios)
    worst = f"worst of {len(ratios)} chosen workspaces: {max(ratios)} of the best"
    print("\n".join([*wrong, *slow, f"{worst}; {above} above {_MOST_RATIO}"]))
    return 1 if wrong or slow else 0


def line(found: Mapping[str, Timing]) -> str:
    """The printed line of a case."""
    (chosen,) = (one for one in found.values() if one.chosen)
    times = ", ".join(f"{policy} {one.milliseconds:.2f}" for policy, one in found.items())
    scipy = "" if chosen.over_scipy is None else f", {chosen.over_scipy:.2f} of scipy"
    least = min(one.megabytes for one in found.values())
    return (
        f"{chosen.kernel}, {chosen.data}: {times} ms; {chosen.policy} was chosen, "
        f"{chosen.over_best:.2f} of the best{scipy}, {chosen.megabytes:.1f} MB (least {least:.1f})"
    )


def plot(timings: list[Timing], path: Path) -> None:
    """Draws the time of each policy over that of the best, by kernel."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kernels = list(dict.fromkeys(one.kernel for one in timings))
    figure, axes = plt.subplots(len(kernels), 1, figsize=(11, 2.6 * len(kernels)), squeeze=False)
    for axis, kernel in zip(axes[:, 0], kernels, strict=True):
        own = [one for one in timings if one.kernel == kernel]
        labels = list(dict.fromkeys(one.data for one in own))
        for policy in WORKSPACES:
            points = [(labels.index(one.data), one.milliseconds) for one in own
                      if one.policy == policy]  # fmt: skip
            axis.plot(*zip(*points, strict=True), "o-", label=policy) if points else None
        chosen = [(labels.index(one.data), one.milliseconds) for one in own if one.chosen]
        axis.plot(*zip(*chosen, strict=True), "k*", markersize=11, label="chosen")
        axis.set(title=kernel, yscale="log", ylabel="ms", xticks=range(len(labels)))
        axis.set_xticklabels(labels, rotation=12, fontsize=6)
        axis.legend(fontsize=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
