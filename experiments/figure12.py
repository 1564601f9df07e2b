"""Figure 12 of the SAM paper: the six loop orders of sparse matrix multiplication.

    python experiments/figure12.py [--quick] [--out FOLDER]

X(i,j) = B(i,k) * C(k,j) with I = J = 250, K = 100 and two matrices that are 95 % zeros, all levels
compressed and stored in the order of the loops, on the ideal machine (Section 6.3). That takes
seconds: ``--quick`` leaves nothing out. Writes ``figure12.csv``, ``.png`` and ``.pdf`` to ``out``;
exits with 1 where a result is wrong or a claim of the paper does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from custard.cli.sweeps.pictures import COLOURS
from experiments import figures
from experiments.demo import compiled
from experiments.figures import Claim, Count
from sam.tensor import Tensor

# The orders by dataflow, as the paper groups them.
DATAFLOWS = {
    "inner product": ("ijk", "jik"),
    "linear combination of rows": ("ikj", "jki"),
    "outer product": ("kij", "kji"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the six orders; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    inputs = {name: figures.pattern(f"paper_spmspm.{name}") for name in "BC"}
    counts = {order: count(order, inputs) for orders in DATAFLOWS.values() for order in orders}
    rows = ((order, _dataflow(order), one.ours, one.published) for order, one in counts.items())
    header = ("order", "dataflow", "cycles", "published cycles")
    figures.write_csv(options.out / "figure12.csv", header, rows)
    draw(counts, options.out)
    title = "Figure 12: cycles of X(i,j) = B(i,k) * C(k,j) by loop order"
    differs = figures.compare(title, list(counts.values()))
    return figures.tell(claims(counts)) or differs


def count(order: str, inputs: Mapping[str, Tensor]) -> Count:
    """The cycles of one order, its result checked against numpy."""
    result, run = figures.simulate(compiled(order), inputs)
    due = inputs["B"].to_numpy() @ inputs["C"].to_numpy()
    record = figures.published(f"paper_spmspm_{order}_250x100x250")
    return Count(order, run.cycles, record, np.array_equal(result.to_numpy(), due))


def claims(counts: Mapping[str, Count]) -> list[Claim]:
    """The claims of Section 6.3 on the orders."""
    cycles = {order: one.ours for order, one in counts.items()}
    inner = min(cycles[order] for order in DATAFLOWS["inner product"])
    others = [cycles[order] for order in cycles if _dataflow(order) != "inner product"]
    worst = max(others)
    return [
        Claim(
            "The inner-product algorithms (ijk, jik) perform the worst.",
            f"at least {inner:,} cycles, the others at most {worst:,}",
            figures.holds(inner > worst),
        ),
        Claim(
            "The others perform at least an order of magnitude better.",
            f"{inner / worst:.0f} to {inner / min(others):.0f} times",
            figures.holds(inner >= 10 * worst),
        ),
    ]


def draw(counts: Mapping[str, Count], folder: Path) -> None:
    """A bar by order, on a logarithmic axis, with a mark for the published count."""
    with figures.picture(folder, "figure12", 4.2, 2.8) as figure:
        axes = figure.subplots()
        for (dataflow, orders), colour in zip(DATAFLOWS.items(), COLOURS, strict=False):
            heights = [counts[order].ours for order in orders]
            bars = axes.bar(orders, heights, 0.7, color=colour, label=dataflow)
            axes.bar_label(bars, fmt="{:,.0f}", fontsize=7, padding=4)
        known = [(order, one.published) for order, one in counts.items() if one.published]
        if known:
            axes.plot(*zip(*known, strict=True), "D", color="k", ms=3, label="published simulator")
        axes.set(yscale="log", xlabel="loop order, outermost first", ylabel="cycles (log scale)")
        axes.margins(y=0.35)
        axes.set_ylim(bottom=1000)
        axes.legend(fontsize="x-small", frameon=False)


def _dataflow(order: str) -> str:
    return next(name for name, orders in DATAFLOWS.items() if order in orders)


if __name__ == "__main__":
    figures.leave(main)
