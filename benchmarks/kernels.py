"""The speed of generated C: nanoseconds per stored entry, beside scipy or numpy in the same run.

    python benchmarks/kernels.py [--quick] [--only TEXT] [--runs N] [--taco COMMAND] [--output FILE]

Kernels of target ``c`` (``benchmarks/kernel_cases.py``), numpy and scipy, all on one thread.
Matrices are uniform (10 entries to a row at random places) or banded (65 diagonals), of about
200,000 and 2,000,000 entries or a share of these; tensors have 1,000,000 at random places in
1000 x 1000 x 1000 and 200 x 200 x 200. Ours and the other take turns. Times are medians of
``--runs`` (9) CPU times of each, or of up to 101 while all take less than a second, inputs
converted before. Assembly of a sparse result is counted; so is the sorting that scipy's product
needs to be canonical. For transpositions, and for products with a transposed matrix, our time
includes the conversion of inputs.

With ``--taco`` the kernels that TACO, the published compiler, prints for the same expressions and
formats take turns too, where they take at most 20 times as long as ours and have the right values.
Else its ratio to the other, where one is known, is of another such machine. Every result is checked
against the other's. Writes ``out/benchmarks/kernels.csv``. Some minutes; ``--quick`` takes the
smaller matrices alone. Exits with 1 where a result is wrong.

``SAM_CFLAGS=-march=x86-64-v3`` measures kernels that have AVX2 and no AVX-512, ``-march=x86-64``
such without either: matrix times vector took as long with AVX2, and 1.3 to 1.6 times as long with
neither (2.2 times on banded matrices, 0.8 of scipy).
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from benchmarks import taco
from benchmarks.kernel_cases import Case, cases
from custard.language.formats import Format
from sam.inputs import as_tensor
from sam.tensor import Tensor

_MOST_RUNS, _ENOUGH = 101, 1.0
"""How often kernels run that take little time, and the seconds after which they need not."""
_MOST_OF_OURS = 20
"""How many times our time a kernel of TACO may take, and half a second in any case."""


@dataclass(frozen=True)
class Timing:
    """Medians in CPU seconds, with the number of entries that the first input stores."""

    kernel: str
    data: str
    entries: int
    ours: float
    other: float
    asked: float
    published: float | None
    right: bool
    without_taco: str

    @property
    def ratio(self) -> float:
        """Our time as a share of the other's."""
        return self.ours / self.other

    @property
    def to_better(self) -> float:
        """Our time as a share of the better one of the other's and TACO's."""
        return self.ratio / min(1.0, self.published or 1.0)


def measure(case: Case, runs: int, command: str | None = None) -> Timing:
    """Ours, the other's and that of TACO's command in turn, after one run of each that is not
    counted."""
    given = case.inputs()
    program = custard.compile(case.expression, case.formats, target="c")
    bound = program.bind(given)
    run = (lambda: program.bind(given).seconds()) if case.converts else bound.seconds
    other = case.other(given)
    due = other()
    found = bound.run()
    right, shape = _same(found, due), found.shape
    del found
    begin = time.process_time()
    run()
    most = max(0.5, _MOST_OF_OURS * (time.process_time() - begin))
    turns = {"ours": run, "other": other}
    released: Callable[[], None] = lambda: None  # noqa: E731
    share, why = case.published, ""
    if command is not None:
        try:
            kernel = _published(command, case, program.formats, given, shape, due, most)
            turns["taco"], released = kernel, kernel.release
        except taco.Refused as refused:
            share, why = None, str(refused)
    times: dict[str, list[float]] = {name: [] for name in turns}
    while len(times["ours"]) < runs or (
        len(times["ours"]) < _MOST_RUNS and sum(map(sum, times.values())) < _ENOUGH
    ):
        for name, call in turns.items():
            begin = time.process_time()
            call()
            times[name].append(time.process_time() - begin)
            released()
    median = {name: statistics.median(each) for name, each in times.items()}
    first = given.get("A", given.get("B"))
    return Timing(
        case.kernel,
        case.data,
        first.size if isinstance(first, np.ndarray) else first.nnz,
        median["ours"],
        median["other"],
        case.asked,
        median["taco"] / median["other"] if "taco" in median else share,
        right,
        why,
    )


def _published(
    command: str,
    case: Case,
    formats: Mapping[str, Format],
    given: Mapping[str, Any],
    shape: tuple[int, ...],
    due: Any,
    most: float,
) -> taco.Kernel:
    """TACO's kernel, whose values are right; raises Refused."""
    tensors = {name: as_tensor(name, one) for name, one in given.items()}
    for functions in (("evaluate",), ("assemble", "compute")):
        kernel = taco.Kernel(command, case.expression, formats, tensors, shape, most, functions)
        kernel()
        right = _same(kernel.result.read(), due)
        kernel.release()
        if right:
            return kernel
    raise taco.Refused("its values are wrong")


def _same(ours: Tensor, other: Any) -> bool:
    """Whether two results are equal, up to rounding."""
    if sp.issparse(other):
        found = ours.to_scipy()
        found = found if found.shape == other.shape else found.reshape(other.shape)
        return abs(found - other).max() < 1e-9
    return bool(np.allclose(ours.to_numpy(), other))


def table(timings: list[Timing]) -> Table:
    """The timings, one to a line; ratios above the limit are red."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("kernel", "inputs"):
        found.add_column(column, no_wrap=True)
    for column in ("entries", "ns per entry", "other's", "ratio", "asked", "TACO's ratio"):
        found.add_column(column, justify="right", no_wrap=True)
    for one in timings:
        color = "green" if one.ratio <= one.asked else "red"
        found.add_row(
            one.kernel,
            one.data + ("" if one.right else "  [red]WRONG[/]"),
            f"{one.entries:,}",
            f"{one.ours / one.entries * 1e9:.2f}",
            f"{one.other / one.entries * 1e9:.2f}",
            f"[{color}]{one.ratio:.2f}[/]",
            f"{one.asked:.2f}",
            one.without_taco if one.published is None else f"{one.published:.2f}",
        )
    return found


def main() -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smaller matrices alone")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels with this in the name")
    parser.add_argument("--runs", type=int, default=9, metavar="N", help="runs of each, at least")
    parser.add_argument("--taco", metavar="COMMAND", help="TACO's command, to measure its kernels")
    parser.add_argument(
        "--output", type=Path, default=Path("out/benchmarks/kernels.csv"), metavar="FILE"
    )
    options = parser.parse_args()
    chosen = [
        case
        for case in cases()
        if options.only.lower() in f"{case.kernel} {case.data}".lower()
        and not (options.quick and (case.large or "³" in case.data))
    ]
    console = Console(width=None if sys.stdout.isatty() else 120)
    timings = [
        measure(case, options.runs, options.taco)
        for case in track(chosen, "kernels", console=Console(stderr=True), transient=True)
    ]
    console.print(table(timings))
    if timings:
        worst = max(timings, key=lambda one: one.ratio)
        console.print(f"the largest ratio is {worst.ratio:.2f}: {worst.kernel}, {worst.data}")
    if options.taco and timings:
        worst = max(timings, key=lambda one: one.to_better)
        told = f"{worst.to_better:.2f}: {worst.kernel}, {worst.data}"
        console.print(f"the largest ratio to the better of both is {told}")
        beside = [one.ratio / one.published for one in timings if one.published]
        if beside:
            mean = statistics.geometric_mean(beside)
            console.print(f"the geometric mean of {len(beside)} ratios to TACO is {mean:.2f}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        rows = [{**asdict(timing), "ratio": timing.ratio} for timing in timings]
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["kernel"])
        writer.writeheader()
        writer.writerows(rows)
    return 0 if all(timing.right for timing in timings) else 1


if __name__ == "__main__":
    sys.exit(main())
