"""Our cycles beside the published simulator's, for every recorded graph that we can build.

    python experiments/cycles.py [--quick] [--only TEXT] [--reference CYCLES.json] [--out FOLDER]

The records are those of ``../shared/reference/cycles.json``: ideal machine, unbounded queues. Ours
agree where they differ by at most 1 % plus 10 cycles; fewer cycles have their reason beside them.
Without that file, the records of the published simulator's figures are compared, which are beside
this script. ``--quick`` has records of at most 6,000 cycles. Writes ``cycles.csv`` to ``out``;
exits with 1 where a count differs without a reason.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from experiments import figures
from sam.tensor import Tensor

REFERENCE = Path(__file__).parents[2] / "shared/reference/cycles.json"
QUICK_CYCLES = 6_000


@dataclass(frozen=True)
class Kernel:
    """The computation of the records whose names start with ``prefix``.

    ``order``   the loops; tensors without a format are all compressed in the order of their modes
    ``check``   the same with numpy, on the operands in the order in which they appear
    ``fewer``   why our count may be below the published one
    """

    prefix: str
    expression: str
    order: str
    formats: Mapping[str, str]
    check: Callable[..., Any]
    constants: Mapping[str, float] = field(default_factory=dict)
    schedule: tuple[str, ...] = ()
    fewer: str = ""


def _matmul(order: str, prefix: str = "matmul_") -> Kernel:
    def stored(modes: str) -> str:
        return "ss:0,1" if order.index(modes[0]) < order.index(modes[1]) else "ss:1,0"

    formats = {"X": stored("ij"), "B": stored("ik"), "C": stored("kj")}
    expression = "X(i,j)=B(i,k)*C(k,j)"
    return Kernel(f"{prefix}{order}", expression, ",".join(order), formats, np.matmul)


def _sddmm(prefix: str, *schedule: str) -> Kernel:
    return Kernel(
        prefix,
        "X(i,j)=B(i,j)*C(i,k)*D(k,j)",
        "i,j,k",
        {"C": "dd:0,1", "D": "dd:1,0"},
        lambda B, C, D: B * (C @ D),
        schedule=schedule,
    )


_ORDERS = ("ijk", "ikj", "jik", "jki", "kij", "kji")
_TERM = "the sum is reduced as a term of its own, not for rows that the other term alone has"
_MISSING = "a fiber that one operand lacks is empty here; there it is scanned as one zero"

KERNELS = (
    Kernel("mat_identity", "X(i,j)=B(i,j)", "i,j", {}, lambda B: B),
    Kernel("mat_elemadd3", "X(i,j)=B(i,j)+C(i,j)+D(i,j)", "i,j", {}, lambda B, C, D: B + C + D),
    Kernel("mat_elemadd", "X(i,j)=B(i,j)+C(i,j)", "i,j", {}, np.add),
    Kernel("mat_elemmul", "X(i,j)=B(i,j)*C(i,j)", "i,j", {}, np.multiply),
    Kernel("mat_vecmul_ij", "x(i)=B(i,j)*c(j)", "i,j", {}, np.matmul),
    Kernel("mat_vecmul_ji", "x(i)=B(i,j)*c(j)", "j,i", {"B": "ss:1,0"}, np.matmul),
    Kernel(
        "mat_residual", "x(i)=b(i)-C(i,j)*d(j)", "i,j", {}, lambda b, C, d: b - C @ d, fewer=_TERM
    ),
    Kernel(
        "mat_mattransmul",
        "x(i)=b*C(j,i)*d(j)+e*f(i)",
        "i,j",
        {"C": "ss:1,0"},
        lambda b, C, d, e, f: b * (C.T @ d) + e * f,
        constants={"b": 2, "e": 2},
        fewer=_TERM,
    ),
    Kernel("tensor3_ttv", "X(i,j)=B(i,j,k)*c(k)", "i,j,k", {}, np.matmul),
    Kernel(
        "tensor3_mttkrp",
        "X(i,j)=B(i,k,l)*C(j,k)*D(j,l)",
        "i,j,k,l",
        {},
        partial(np.einsum, "ikl,jk,jl->ij"),
    ),
    Kernel("tensor3_elemadd", "X(i,j,k)=B(i,j,k)+C(i,j,k)", "i,j,k", {}, np.add, fewer=_MISSING),
    Kernel("tensor3_innerprod", "x=B(i,j,k)*C(i,j,k)", "i,j,k", {}, np.vdot),
    Kernel("vec_elemmul", "x(i)=b(i)*c(i)", "i", {}, np.multiply),
    Kernel("vec_elemadd", "x(i)=b(i)+c(i)", "i", {}, np.add),
    Kernel("fig13_", "x(i)=b(i)*c(i)", "i", {}, np.multiply),
    *(_matmul(order) for order in _ORDERS),
    *(_matmul(order, "paper_spmspm_") for order in _ORDERS),
    _sddmm("mat_sddmm_locate"),
    _sddmm("paper_sddmm_locate"),
    _sddmm("paper_sddmm_coiter", "coiterate(C,i)", "coiterate(D,j)"),
)

# Endings of names of records that ``figure13.py`` compares.
_OF_FIGURE_13 = ("_skip", "_split_sf64", "_bv_w64", "_bittree_sf64", "_dense")


@dataclass(frozen=True)
class Comparison:
    """The cycles of one record, published and ours."""

    name: str
    kernel: Kernel
    published: int
    ours: int
    right: bool

    @property
    def verdict(self) -> str:
        """Agrees up to 1 % plus 10 cycles; else fewer, if the kernel says why, or differs."""
        if not self.right:
            return "WRONG VALUES"
        if abs(self.ours - self.published) <= 0.01 * self.published + 10:
            return "agrees"
        return "fewer" if self.ours < self.published and self.kernel.fewer else "differs"


def kernel_of(name: str) -> Kernel | None:
    """The kernel of a record, or None where another script compares it, or none does."""
    if name.endswith(_OF_FIGURE_13):
        return None
    return next((kernel for kernel in KERNELS if name.startswith(kernel.prefix)), None)


@dataclass(frozen=True)
class Record:
    """A run of the published simulator: its inputs, and its cycles."""

    name: str
    cycles: int
    inputs: Mapping[str, Tensor]


def records(path: Path) -> Iterator[Record]:
    """The published records; only those of its figures if the file of all is missing."""
    if figures.is_there(path, REFERENCE, "all records but those of the figures are"):
        reference = json.loads(path.read_text())
        for record in reference["records"]:
            inputs = reference["inputs"][record["inputs"]]
            tensors = {name: _tensor(data) for name, data in inputs.items()}
            yield Record(record["name"], record["cycles"], tensors)
        return
    for name in figures.recorded(""):
        cycles = figures.published(name)
        assert cycles is not None
        yield Record(name, cycles, figures.patterns(name))


def compare(record: Record, kernel: Kernel) -> Comparison:
    """Runs the kernel on the record's inputs, and checks its values with numpy."""
    program = custard.compile(
        kernel.expression, kernel.formats, [f"reorder({kernel.order})", *kernel.schedule]
    )
    tensors = {
        **record.inputs,
        **{name: Tensor.of(value) for name, value in kernel.constants.items()},
    }
    if "C" not in tensors and "sddmm" in record.name:
        tensors |= _ones(tensors["B"], int(record.name.rpartition("K")[2]))
    run = program.simulate(tensors, config="ideal")
    names = dict.fromkeys(slot.tensor for slot in program.graph.slots)
    due = kernel.check(*(tensors[name].to_numpy() for name in names))
    right = bool(np.allclose(run.output.to_numpy(), due))
    return Comparison(record.name, kernel, record.cycles, run.cycles, right)


def _tensor(data: Mapping[str, Any]) -> Tensor:
    coordinates = np.array(data["coords"], int).reshape(-1, len(data["shape"])).T
    return Tensor.from_coo(coordinates, np.array(data["values"]), tuple(data["shape"]))


def _ones(sampled: Tensor, extent: int) -> dict[str, Tensor]:
    rows, columns = sampled.shape
    return {"C": Tensor.of(np.ones((rows, extent))), "D": Tensor.of(np.ones((extent, columns)))}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the comparison; the exit status tells whether every count agrees."""
    assert __doc__
    options = figures.arguments(
        __doc__,
        argv,
        ("--only", "", "records whose name contains this"),
        ("--reference", REFERENCE, "the published simulator's counts"),
    )
    work = [
        (record, kernel)
        for record in records(options.reference)
        if options.only in record.name
        and (kernel := kernel_of(record.name))
        and (not options.quick or record.cycles <= QUICK_CYCLES)
    ]
    found = [
        compare(record, kernel)
        for record, kernel in track(
            work, "Simulating", console=Console(stderr=True), transient=True
        )
    ]
    console = Console(width=120, highlight=False)
    console.print(_table(found))
    for kernel in dict.fromkeys(one.kernel.prefix for one in found if one.verdict == "fewer"):
        reason = next(known.fewer for known in KERNELS if known.prefix == kernel)
        console.print(f"fewer in {kernel}: {reason}")
    header = ("record", "expression", "published", "ours", "verdict")
    figures.write_csv(options.out / "cycles.csv", header, map(_line, found))
    return 0 if all(one.verdict in ("agrees", "fewer") for one in found) else 1


def _line(one: Comparison) -> tuple[str | int, ...]:
    return (one.name, one.kernel.expression, one.published, one.ours, one.verdict)


def _table(found: Sequence[Comparison]) -> Table:
    table = Table(title="Cycles: the published simulator's and ours")
    for name in ("record", "expression"):
        table.add_column(name, no_wrap=True)
    for name in ("published", "ours", "ratio"):
        table.add_column(name, justify="right")
    table.add_column("")
    for one in found:
        table.add_row(
            one.name,
            one.kernel.expression,
            f"{one.published:,}",
            f"{one.ours:,}",
            f"{one.ours / one.published:.3f}",
            one.verdict,
        )
    return table


if __name__ == "__main__":
    figures.leave(main)
