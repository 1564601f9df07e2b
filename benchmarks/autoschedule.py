"""The quality of the first choice of ``custard.autoschedule``, against all schedules that it rates.

    python benchmarks/autoschedule.py [--quick] [--target sam|c] [--data FOLDER] [--most N]
                                      [--lanes N] [--threads N] [--only TEXT] [--output FILE]

Thirty programs: those of the SAM paper's Table 1, and 18 that people typed with TACO, with some of
their formats. Each runs on a real matrix or tensor; a second sparse operand of the same shape is
the same matrix, other operands are random. All candidates are measured, on target sam by simulated
cycles, on target c by the least seconds of some runs in turns, on one thread. Where there are more
than ``--most``, the best estimates and a sample of the others are; the table says so.

Prints for each program the chosen schedule, the best one, and the ratio of their times, and then
how many ratios are at most 1.5. Measurements are kept in the cache, so that a run that was stopped
goes on. Matrices that are not shipped are looked for in ``--data``; without them, shipped ones take
their place. ``--quick`` takes six programs on small ones. Exits with 1 where more than a tenth of
the ratios are above 1.5.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import custard
from custard.autoscheduling.autoscheduler import MeasuringMachine
from custard.autoscheduling.measuring import measured
from custard.autoscheduling.ranking import Ranked
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from sam import io
from sam.inputs import as_tensor
from sam.tensor import Tensor

SHIPPED = Path(__file__).parents[1] / "experiments" / "data"
DATA = Path(__file__).parents[2] / "shared" / "data"
NEAR = 1.5

# Those of Table 1 have no formats; all tensors are compressed, or as the compiler has them.
TABLE1 = (
    "x(i) = B(i,j) * c(j)",
    "X(i,j) = B(i,k) * C(k,j)",
    "X(i,j) = B(i,j) * C(i,k) * D(j,k)",
    "x = B(i,j,k) * C(i,j,k)",
    "X(i,j) = B(i,j,k) * c(k)",
    "X(i,j,k) = B(i,j,l) * C(k,l)",
    "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)",
    "x(i) = b(i) - C(i,j) * d(j)",
    "x(i) = alpha * B(j,i) * c(j) + beta * d(i)",
    "X(i,j) = B(i,j) + C(i,j)",
    "X(i,j) = B(i,j) + C(i,j) + D(i,j)",
    "X(i,j,k) = B(i,j,k) + C(i,j,k)",
)
# Programs of TACO's users, with some of their formats, so that there is something to choose.
CORPUS = (
    ("y(i) = A(i,j) * x(j)", "A:ds x:d"),
    ("a(i) = B(i,j) * c(j)", "B:ds:1,0 c:d"),
    ("C(i,j) = A(i,k) * B(k,j)", "C:dd A:ds B:dd"),
    ("C(i,k) = A(i,j) * B(j,k)", "C:ss A:ss"),
    ("A(i,j) = B(i,k,l) * D(l,j) * C(k,j)", "A:dd D:dd C:dd"),
    ("A(i,j) = B(i,j) + C(i,j)", "B:ds"),
    ("A(i,j) = B(i,j,k) * c(k)", "B:sss c:s"),
    ("A(i,j) = B(i,j) * C(i,k) * D(k,j)", "B:ds C:dd D:dd"),
    ("y(i) = A(i,j,k) * x(j,k)", "y:d x:dd"),
    ("y(i,j) = A(i,k) * B(k,j)", "y:dd A:ds"),
    ("y(i) = A(i,j) * x(j) + z(i)", "A:ds x:s z:s"),
    ("y(i) = A(j,i) * x(j)", "A:ds x:d"),
    ("A(i,k) = B(i,j) * C(j,k)", "A:dd C:dd:1,0"),
    ("y(i) = A(i,j) * x(j) * z(i)", "A:ds x:d z:d"),
    ("y(i) = A(i,j) * B(i,j)", "y:d"),
    ("y(i) = A(i,j) * B(j,k)", "y:d A:ds"),
    ("C(i,j) = A(i,j) * B(i,j)", "B:dd"),
    ("ref1(i,k) = B(i,j) * C(j,k) * D(j,k)", "ref1:dd C:dd D:dd"),
)
QUICK = (
    "x(i) = B(i,j) * c(j)",
    "X(i,j) = B(i,k) * C(k,j)",
    "X(i,j) = B(i,j) + C(i,j)",
    "C(i,j) = A(i,k) * B(k,j)",
    "y(i) = A(i,j) * B(j,k)",
    "A(i,j) = B(i,j,k) * c(k)",
)
# By target, square matrices that programs take in turns, a tensor, and the extent of other
# variables.
MATRICES = {
    "sam": ("west0067", "suitesparse/curtis54", "suitesparse/cage5", "suitesparse/GD99_c"),
    "c": ("graphs/email-Eu-core", "suitesparse/1138_bus", "suitesparse/jagmesh7", "nist/mcca"),
}
TENSOR = "tensors/kg/nations"
ENDINGS = (".mtx", ".mtx.gz", ".tns")
HEADER = ("target", "expression", "matrix", "candidates", "tried", "ratio")
HEADER += ("chosen", "its estimate", "it takes", "best", "its estimate", "it takes")
COLUMNS = {"sam": 8, "c": 32}


@dataclass(frozen=True)
class Result:
    """The result for a program: the chosen schedule, and the best of all that were tried."""

    target: str
    expression: str
    matrix: str
    tried: int
    candidates: int
    chosen: Ranked
    best: Ranked

    @property
    def ratio(self) -> float:
        """The time of the chosen schedule over that of the best."""
        return _taken(self.chosen) / _taken(self.best)


def _taken(one: Ranked) -> float:
    assert one.measured is not None
    return one.measured


def programs(quick: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """The expressions, each with the formats that are given."""
    for text in TABLE1:
        if not quick or text in QUICK:
            yield text, {}
    for text, formats in CORPUS:
        if not quick or text in QUICK:
            yield text, dict(one.split(":", 1) for one in formats.split())


def inputs(
    expression: str, formats: Mapping[str, str], matrix: Tensor, tensor: Tensor, columns: int
) -> dict[str, Any]:
    """The inputs of a program: real ones where it has a sparse matrix or tensor."""
    random = np.random.default_rng(1)
    program = concretize(notation.parse(expression))
    accesses = [node for node in cin.walk(program.value) if isinstance(node, cin.Access)]
    extents: dict[str, int] = {}
    found: dict[str, Any] = {}
    # Sparse operands of most modes decide the extents.
    for access in sorted(accesses, key=lambda one: -len(one.variables)):
        order = len(access.variables)
        real = {2: matrix, 3: tensor}.get(order)
        is_full = set(formats.get(access.tensor, "s").partition(":")[0]) == {"d"}
        known = [extents.get(variable) for variable in access.variables]
        if real is not None and not is_full and all(
            extent in (None, size) for extent, size in zip(known, real.shape, strict=True)
        ):  # fmt: skip
            found[access.tensor] = real
            extents.update(zip(access.variables, real.shape, strict=True))
            continue
        shape = [extents.setdefault(variable, columns) for variable in access.variables]
        values = random.random(shape)
        if not is_full:
            values = np.where(random.random(shape) < 0.5, values, 0.0)
            found[access.tensor] = Tensor.from_numpy(values, "s" * order)
        else:
            found[access.tensor] = values
    return found


def tried(first: Sequence[Ranked], most: int) -> list[Ranked]:
    """The schedules to measure: all candidates, or the best estimates and a sample of others."""
    if len(first) <= most:
        return list(first)
    places = np.linspace(most // 2, len(first) - 1, most - most // 2).astype(int)
    return [*first[: most // 2], *(first[n] for n in places)]


def result(
    expression: str,
    formats: Mapping[str, str],
    matrix: str,
    target: str,
    options: argparse.Namespace,
) -> Result:
    """Ranks the schedules of a program, and measures them."""
    given = inputs(
        *(expression, formats, read(matrix, options.data), read(TENSOR, options.data)),
        columns=COLUMNS[target],
    )
    found = custard.autoschedule(
        expression,
        given,
        formats,
        target,
        threads=options.threads,
        lanes=options.lanes,
        most=10**6,
    )
    chosen = tried(found, options.most)
    tensors = {name: as_tensor(name, value) for name, value in given.items()}
    machine = MeasuringMachine(options.threads)
    programs = [one.program for one in chosen]
    taken = measured(programs, tensors, machine, options.again, lambda text: None)
    chosen = [replace(one, measured=each) for one, each in zip(chosen, taken, strict=True)]
    best = min(chosen, key=_taken)
    return Result(target, expression, matrix, len(chosen), len(found), chosen[0], best)


@cache
def read(name: str, folder: Path) -> Tensor:
    """A matrix or tensor of the data, or a shipped one in its place."""
    for path in (SHIPPED / f"{name}.mtx", *(folder / f"{name}{end}" for end in ENDINGS)):
        if path.is_file():
            return io.read(path)
    shipped = io.read(SHIPPED / "west0067.mtx")
    if "tensors" not in name:
        return shipped
    (rows, columns), values = shipped.to_coo()
    places = np.stack([rows % 14, columns % 14, (rows * 67 + columns) % 55])
    return Tensor.from_coo(places, values, (14, 14, 55))


def main() -> int:
    """Runs the benchmark; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="six programs on the smallest matrix")
    parser.add_argument("--target", choices=("sam", "c"), help="one of them; both by default")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    parser.add_argument("--most", type=int, default=60, metavar="N", help="measured of a program")
    parser.add_argument("--lanes", type=int, default=1, metavar="N")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="expressions that have it")
    parser.add_argument("--again", action="store_true", help="measure anew")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/autoschedule.csv"))
    options = parser.parse_args()
    results = []
    for target in [options.target] if options.target else ["sam", "c"]:
        matrices = MATRICES[target][:1] if options.quick else MATRICES[target]
        for n, (expression, formats) in enumerate(programs(options.quick)):
            if options.only in expression:
                matrix = matrices[n % len(matrices)]
                results.append(result(expression, formats, matrix, target, options))
                print(_line(results[-1]), flush=True)
    good = True
    for target in dict.fromkeys(one.target for one in results):
        ratios = [one.ratio for one in results if one.target == target]
        near = sum(ratio <= NEAR for ratio in ratios)
        good = good and 10 * near >= 9 * len(ratios)
        print(
            f"target {target}: {near} of {len(ratios)} first choices are within {NEAR} of the "
            f"best; the median ratio is {np.median(ratios):.3f}, the largest {max(ratios):.2f}"
        )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(HEADER)
        lines.writerows(map(_row, results))
    return 0 if good else 1


def _line(one: Result) -> str:
    of = f"all {one.tried}" if one.tried == one.candidates else f"{one.tried} of {one.candidates}"
    text = f"{one.ratio:5.2f}  {one.target:3}  {one.expression} on {one.matrix}, {of} tried: "
    text += f"{_name(one.chosen)} takes {_written(one, one.chosen)}"
    return text + ("" if one.ratio == 1 else f", {_name(one.best)} {_written(one, one.best)}")


def _name(one: Ranked) -> str:
    formats = " ".join(f"{name}:{form}" for name, form in one.formats.items())
    return f"[{' '.join(one.schedule) or 'no schedule'}; {formats}]"


def _written(of: Result, one: Ranked) -> str:
    return f"{_taken(one):,.0f} cycles" if of.target == "sam" else f"{1e6 * _taken(one):,.1f} us"


def _row(one: Result) -> tuple[Any, ...]:
    found = (one.target, one.expression, one.matrix, one.candidates, one.tried, f"{one.ratio:.3f}")
    for each in (one.chosen, one.best):
        found += (_name(each), f"{each.estimate:.4g}", f"{_taken(each):.4g}")
    return found


if __name__ == "__main__":
    sys.exit(main())
