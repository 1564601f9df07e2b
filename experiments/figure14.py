"""Figure 14 of the SAM paper: the kinds of tokens in the streams of a matrix.

    python experiments/figure14.py [--quick] [--data FOLDER] [--out FOLDER]

X(i,j) = B(i,j) with all levels compressed, for the 15 matrices of Table 3: in each cycle, the
coordinate stream of the outer level (i) and of the inner level (j) has data, a control token (stop,
empty, done), or nothing (Section 6.4). Ten matrices are real. Five are not available: synthetic
ones of the same size and number of nonzeros, marked with a star, take their place: a nonzero in
each row, the rest uniformly random. The shares follow from the number of nonzeros and of nonempty
rows, so a stand-in has the shares of its original if that has no empty row.

Five small matrices are beside this script; the other real ones are read from ``../shared/data``,
and left out where they are not there. ``--quick`` has the five small ones only. Writes
``figure14.csv``, ``.png`` and ``.pdf`` to ``out``; exits with 1 where a result is wrong or a claim
of the paper does not hold.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.cli.sweeps.pictures import COLOURS
from experiments import figures
from experiments.figures import Claim
from sam import io
from sam.tensor import Tensor

SHARED = Path(__file__).parents[2] / "shared/data"
TABLES = json.loads((figures.DATA / "sam_paper_tables.json").read_text())
SMALL = ("relat3", "lpi_itest6", "LFAT5", "ch4-4-b1", "ch7-6-b1")
LARGE = {
    "bwm2000": "suitesparse_reconstructed/bwm2000.mtx",
    "G32": "suitesparse/G32.mtx",
    "lp_maros": "lp/lp_maros.mtx",
    "G42": "suitesparse/G42.mtx",
    "rail507": "lp/rail507.mtx.gz",
}
LEVELS = {"outer": "scan_B_i", "inner": "scan_B_j"}
NAMES = {"outer": "outer $B_i$", "inner": "inner $B_j$"}
CONTROL = ("stop", "empty", "done")
TOKENS = ("data", *CONTROL, "idle")
# Colour and hatching of each kind of token.
STYLES = {
    "data": (COLOURS[0], ""),
    "stop": (COLOURS[1], "////"),
    "empty": (COLOURS[3], "xx"),
    "done": ("k", ""),
    "idle": ("0.8", ""),
}


@dataclass(frozen=True)
class Breakdown:
    """The content of the coordinate streams of a matrix, in percent of all cycles.

    ``shares``  by level (outer, inner), by kind of token; idle is no token
    """

    name: str
    real: bool
    matrix: Tensor
    cycles: int
    right: bool
    shares: Mapping[str, Mapping[str, float]]

    @property
    def label(self) -> str:
        """The name, with a star where the matrix is a stand-in."""
        return self.name + "*" * (not self.real)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all matrices; returns the exit status."""
    assert __doc__
    where = ("--data", SHARED, "the folder of the larger matrices")
    options = figures.arguments(__doc__, argv, where)
    names = SMALL if options.quick else list(TABLES["table3"]["rows"])
    found = [measure(name, options.data) for name in names if is_there(name, options.data)]
    header = ("matrix", "kind", "rows", "columns", "nonzeros", "cycles", "level")
    figures.write_csv(
        options.out / "figure14.csv", (*header, *(f"{token} %" for token in TOKENS)), _rows(found)
    )
    draw(found, options.out)
    print("Figure 14: what the coordinate streams of X(i,j) = B(i,j) consist of")
    Console(width=120, highlight=False).print(_table(found))
    status = figures.tell(claims(found))
    return status if all(one.right for one in found) else 1


def is_there(name: str, folder: Path) -> bool:
    """Whether a matrix is there or synthetic; prints that it is missing if not. Raises UserError as
    ``figures.is_there``."""
    if name not in LARGE:
        return True
    return figures.is_there(folder / LARGE[name], SHARED / LARGE[name], f"the matrix {name} is")


def measure(name: str, folder: Path) -> Breakdown:
    """The breakdown of one matrix, its copy checked against it."""
    matrix = load(name, folder) if name in (*SMALL, *LARGE) else stand_in(name)
    program = custard.compile("X(i,j) = B(i,j)", {"X": "ss:0,1", "B": "ss:0,1"})
    copy, run = figures.simulate(program, {"B": matrix})
    shares = {}
    for level, scanner in LEVELS.items():
        tokens = run.blocks[scanner].tokens["crd"]
        counts = {**tokens, "idle": run.cycles - sum(tokens.values())}
        shares[level] = {token: 100 * counts[token] / run.cycles for token in TOKENS}
    right = (copy.to_scipy() != matrix.to_scipy()).nnz == 0
    return Breakdown(name, name in (*SMALL, *LARGE), matrix, run.cycles, right, shares)


def load(name: str, folder: Path) -> Tensor:
    """A real matrix."""
    return io.read(figures.DATA / f"{name}.mtx" if name in SMALL else folder / LARGE[name])


def stand_in(name: str) -> Tensor:
    """A synthetic matrix of the size and nonzeros that Table 3 gives, always the same."""
    rows, columns, nonzeros = TABLES["table3"]["rows"][name]
    random = np.random.default_rng(list(name.encode()))
    in_each_row = np.arange(rows) * columns + random.integers(columns, size=rows)
    others = random.choice(rows * columns, nonzeros, replace=False)
    others = np.setdiff1d(others, in_each_row)
    positions = np.concatenate([in_each_row, random.permutation(others)[: nonzeros - rows]])
    coordinates = np.array(np.divmod(positions, columns))
    return Tensor.from_coo(coordinates, np.ones(nonzeros), (rows, columns))


def claims(found: Sequence[Breakdown]) -> list[Claim]:
    """The claims of Section 6.4 on the streams; on averages if all 15 matrices are there."""
    paper = TABLES["figure14"]
    told = []
    for one in found:
        due = paper.get(f"stop_percent_{one.name}")
        if due is not None:
            stop = one.shares["inner"]["stop"]
            what = f"Inner level, stop tokens of {one.name}: {due:.2f} %"
            told.append(Claim(what, f"{stop:.2f} %", figures.holds(abs(stop - due) < 0.01)))
    if len(found) < len(TABLES["table3"]["rows"]):
        return told
    told += [_average_claim(found, level) for level in LEVELS]
    due = paper["average_outer_idle_percent"]
    idle = average(found, "outer")["idle"]
    what = f"Outer level, idle, average of the 15: {due:.2f} %"
    return [*told, Claim(what, f"{idle:.2f} %", figures.holds(abs(idle - due) <= 1))]


def _average_claim(found: Sequence[Breakdown], level: str) -> Claim:
    """The average control overhead of the real matrices, beside the paper's average for them: its
    average over all 15, less the shares of the stand-ins.
    """
    due = TABLES["figure14"][f"average_{level}_control_percent"]
    real = [one for one in found if one.real]
    stand_ins = [one for one in found if not one.real]
    left = (due * len(found) - control(stand_ins, level) * len(stand_ins)) / len(real)
    return Claim(
        f"{level.capitalize()} level, control tokens, average of the 15: {due:.2f} %",
        f"{control(found, level):.2f} %; of the ten real ones {control(real, level):.2f} %, for "
        f"which the paper's average leaves {left:.2f} %",
        figures.holds(control(found, level) <= due + 1 and control(real, level) <= left + 1),
    )


def average(found: Sequence[Breakdown], level: str) -> dict[str, float]:
    """The average share of each kind of token, in percent, each matrix counting alike."""
    return {token: mean(one.shares[level][token] for one in found) for token in TOKENS}


def control(found: Sequence[Breakdown], level: str) -> float:
    """The average share of control tokens, in percent."""
    return sum(average(found, level)[token] for token in CONTROL)


def draw(found: Sequence[Breakdown], folder: Path) -> None:
    """A stacked bar by matrix, and one for the average; a panel by level."""
    names = [one.label for one in found] + ["average"]
    with figures.picture(folder, "figure14", 7.2, 4.4) as figure:
        panels = figure.subplots(len(LEVELS), 1, sharex=True)
        for axes, level in zip(panels, LEVELS, strict=True):
            shares = [*(one.shares[level] for one in found), average(found, level)]
            bottom = np.zeros(len(names))
            for token, (colour, hatch) in STYLES.items():
                heights = np.array([share[token] for share in shares])
                style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "w", "lw": 0}
                axes.bar(names, heights, 0.8, bottom, label=token, **style)
                bottom += heights
            axes.axvline(len(found) - 0.5, color="k", lw=0.8)
            axes.set_ylabel(f"{NAMES[level]} stream\n(% of cycles)")
            axes.set(ylim=(0, 100), xlim=(-0.6, len(names) - 0.4))
        panels[-1].tick_params(axis="x", rotation=45)
        for text in panels[-1].get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=len(TOKENS),
            fontsize="small",
            frameon=False,
        )
        if not all(one.real for one in found):
            figure.supxlabel("* synthetic stand-in of the same size and nonzeros", fontsize="small")


def _rows(found: Sequence[Breakdown]) -> Iterator[tuple[Any, ...]]:
    for one in found:
        for level in LEVELS:
            shares = (f"{one.shares[level][token]:.4f}" for token in TOKENS)
            kind = "real" if one.real else "synthetic"
            size = (*one.matrix.shape, one.matrix.nnz)
            yield (one.name, kind, *size, one.cycles, level, *shares)


def _table(found: Sequence[Breakdown]) -> Table:
    table = Table()
    table.add_column("matrix", no_wrap=True)
    for name in ("size", "nonzeros", "cycles"):
        table.add_column(name, justify="right", no_wrap=True)
    for level in LEVELS:
        for kind in ("data", "control", "idle"):
            table.add_column(f"{level} {kind} %", justify="right")
    for one in found:
        rows, columns = one.matrix.shape
        row = [one.label, f"{rows:,} x {columns:,}", f"{one.matrix.nnz:,}", f"{one.cycles:,}"]
        for level in LEVELS:
            shares = one.shares[level]
            shown = (shares["data"], control([one], level), shares["idle"])
            row += [f"{share:.2f}" for share in shown]
        table.add_row(*row)
    return table


if __name__ == "__main__":
    figures.leave(main)
