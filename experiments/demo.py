"""A real matrix times itself, in all six orders of the loops: the same result, other cycles.

    python experiments/demo.py [--out FOLDER]

Prints the cycles of each order on the ideal machine and checks each result against scipy. Writes a
picture of the ikj graph, ``graph.svg``, and a bar chart of the cycles, ``cycles.png``, to
``out/demo``. Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import custard
from custard.cli.run_report import bottleneck
from custard.cli.sweeps.pictures import save, styled
from sam.drawing import draw
from sam.io import read
from sim.stats import Run

MATRIX = Path(__file__).parent / "data" / "west0067.mtx"
OUT = Path(__file__).parents[1] / "out" / "demo"
EXPRESSION = "X(i,j) = B(i,k) * C(k,j)"
DRAWN = "ikj"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the demo; returns its exit status."""
    parser = argparse.ArgumentParser(description="A matrix times itself in six loop orders.")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder for the two pictures")
    out = parser.parse_args(argv).out
    out.mkdir(parents=True, exist_ok=True)

    matrix = read(MATRIX)
    expected = (matrix.to_scipy() @ matrix.to_scipy()).toarray()
    runs: dict[str, Run] = {}
    right: dict[str, bool] = {}
    for order in steps(["".join(order) for order in permutations("ijk")]):
        program = compiled(order)
        runs[order] = program.simulate({"B": matrix, "C": matrix})
        right[order] = np.allclose(runs[order].output.to_numpy(), expected, rtol=1e-12)
        if order == DRAWN:
            draw(program.graph, out / "graph.svg")
    plot({order: run.cycles for order, run in runs.items()}, out / "cycles.png")

    console = Console(highlight=False)
    console.print(f"{EXPRESSION}, B = C = {MATRIX.stem}: {matrix.shape}, {matrix.nnz} nonzeros")
    console.print(table(runs, right))
    console.print(f"the {DRAWN} graph: {out / 'graph.svg'}", soft_wrap=True)
    console.print(f"the cycles:    {out / 'cycles.png'}", soft_wrap=True)
    return 0 if all(right.values()) else 1


def steps(orders: Sequence[str]) -> Iterator[str]:
    """The orders in turn; says which one is compiled and simulated."""
    for n, order in enumerate(orders, 1):
        print(f"{n} of {len(orders)}: the loops {order}", flush=True)
        yield order
    print("drawing the graph and the cycles", flush=True)


def compiled(order: str) -> custard.Program:
    """The product with its loops in this order, each tensor stored in the order of its loops."""

    def stored(modes: str) -> str:
        return "ss:0,1" if order.index(modes[0]) < order.index(modes[1]) else "ss:1,0"

    formats = {"X": stored("ij"), "B": stored("ik"), "C": stored("kj")}
    return custard.compile(EXPRESSION, formats, [f"reorder({','.join(order)})"])


def table(runs: Mapping[str, Run], right: Mapping[str, bool]) -> Table:
    """One row by order: its cycles, how many times the fewest that is, its busiest block."""
    fewest = min(run.cycles for run in runs.values())
    found = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("loops", "cycles", "of the fewest", "most busy", "result"):
        found.add_column(
            column, justify="right" if column in ("cycles", "of the fewest") else "left"
        )
    for order, run in runs.items():
        found.add_row(
            order,
            f"{run.cycles:,}",
            f"{run.cycles / fewest:.2f} x",
            bottleneck(run),
            "matches scipy" if right[order] else "[red]differs from scipy[/]",
        )
    return found


def plot(cycles: Mapping[str, int], path: Path) -> None:
    """The cycles of each order as a bar chart with a logarithmic axis."""
    with styled() as make:
        figure = make(figsize=(5, 3.2), layout="constrained")
        _fill(figure.subplots(), cycles)
        save(figure, path)


def _fill(axes: Any, cycles: Mapping[str, int]) -> None:
    bars = axes.bar(list(cycles), list(cycles.values()), color="#4c78a8")
    axes.bar_label(bars, fmt="{:,.0f}", fontsize=8)
    axes.set(
        yscale="log",
        xlabel="order of the loops, outermost first",
        ylabel="cycles (logarithmic)",
        title=f"{MATRIX.stem} times itself on the ideal machine",
    )
    axes.margins(y=0.12)


if __name__ == "__main__":
    sys.exit(main())
