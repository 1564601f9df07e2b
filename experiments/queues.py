"""Finite queues: the loop orders of Figure 12 of the SAM paper with queues of any depth.

    python experiments/queues.py [--quick] [--out FOLDER]

Section 6 of the paper assumes infinite input queues, and says that this does not affect its
conclusions. This script runs the six loop orders of sparse matrix multiplication, on the inputs of
Figure 12, with all queues of one depth: 1, 2, 4 and so on up to 64, and unbounded. Each order is
simulated on all these machines at one go. Then the smallest queues are found that lose no cycle;
``--quick`` leaves that out. Writes ``queues.csv``, ``.png`` and ``.pdf`` to ``out``; exits with 1
where the paper does not hold. Half a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.table import Table

from custard.cli.sweeps.pictures import COLOURS
from experiments import figures
from experiments.demo import compiled
from experiments.figure12 import DATAFLOWS
from experiments.figures import Claim
from sam.tensor import Tensor
from sim.config.hardware import load
from sim.sizing import Sizing
from sim.stats import Run

UNBOUNDED = "unbounded"
DEPTHS: Sequence[int | str] = (*(2**n for n in range(7)), UNBOUNDED)
INNER, OTHERS = (
    DATAFLOWS["inner product"],
    [order for name, orders in DATAFLOWS.items() if name != "inner product" for order in orders],
)


@dataclass(frozen=True)
class Order:
    """A loop order on all machines.

    ``cycles``  by depth of all queues; None where these queues deadlock
    ``sizing``  the smallest queues that lose no cycle, if they were looked for
    """

    cycles: Mapping[int | str, int | None]
    sizing: Sizing | None


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the six orders on all machines; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    inputs = {name: figures.pattern(f"paper_spmspm.{name}") for name in "BC"}
    found = {order: measured(order, inputs, not options.quick) for order in [*INNER, *OTHERS]}
    rows = (
        (order, depth, cycles)
        for order, one in found.items()
        for depth, cycles in one.cycles.items()
    )
    figures.write_csv(options.out / "queues.csv", ("order", "depth", "cycles"), rows)
    draw(found, options.out)
    Console(width=120, highlight=False).print(table(found))
    return figures.tell(claims(found))


def measured(order: str, inputs: Mapping[str, Tensor], sized: bool) -> Order:
    """A loop order with queues of all depths."""
    program = compiled(order)
    configs = [load("ideal", {"queues.depth": depth}) for depth in DEPTHS]
    outcomes = program.simulate_many(inputs, configs, return_errors=True)
    cycles = {
        depth: outcome.cycles if isinstance(outcome, Run) else None
        for depth, outcome in zip(DEPTHS, outcomes, strict=True)
    }
    return Order(cycles, program.size_queues(inputs, "ideal") if sized else None)


def table(found: Mapping[str, Order]) -> Table:
    """Cycles by depth over those of unbounded queues, and the words that the queues need."""
    made = Table(title="cycles over those of unbounded queues, by the depth of all queues")
    for name in ("order", *map(str, DEPTHS[:-1]), "smallest words", "words unbounded"):
        made.add_column(name, justify="right")
    for order, one in found.items():
        fewest = one.cycles[UNBOUNDED]
        assert fewest is not None
        ratios = [one.cycles[depth] for depth in DEPTHS[:-1]]
        cells = ["deadlock" if cycles is None else f"{cycles / fewest:.2f}" for cycles in ratios]
        words = ("", "") if one.sizing is None else (one.sizing.words, one.sizing.unbounded_words)
        made.add_row(order, *cells, *(f"{n:,}" if n else "" for n in words))
    return made


def claims(found: Mapping[str, Order]) -> list[Claim]:
    """The paper's conclusions from unbounded queues, tested at each depth."""
    margins = {}
    for depth in DEPTHS:
        inner = [found[order].cycles[depth] for order in INNER]
        others = [found[order].cycles[depth] for order in OTHERS]
        if None not in inner and None not in others:
            margins[depth] = min(filter(None, inner)) / max(filter(None, others))
    least = min(margins.values())
    first = next(iter(margins))
    return [
        Claim(
            "Infinite queues do not affect the conclusions: the inner-product orders (ijk, jik) "
            "perform worst, the others at least an order of magnitude better.",
            f"at depths of {first} and more, at least {least:.0f} times",
            figures.holds(least >= 10),
        ),
    ]


def draw(found: Mapping[str, Order], folder: Path) -> None:
    """A line for each order: cycles over those of unbounded queues, by depth."""
    with figures.picture(folder, "queues", 4.6, 2.8) as figure:
        axes = figure.subplots()
        for orders, colour in zip(DATAFLOWS.values(), COLOURS, strict=False):
            for order, style in zip(orders, ("o-", "x--"), strict=True):
                cycles = found[order].cycles
                known = [d for d in DEPTHS[:-1] if cycles[d] is not None]
                heights = [(cycles[d] or 0) / (cycles[UNBOUNDED] or 1) for d in known]
                axes.plot(known, heights, style, ms=4, color=colour, label=order)
        axes.set_xscale("log", base=2)
        axes.set_xticks(DEPTHS[:-1], map(str, DEPTHS[:-1]))
        axes.set(xlabel="depth of all queues", ylabel="cycles / unbounded")
        axes.set_ylim(bottom=0.95)
        axes.legend(fontsize="x-small", frameon=False, ncols=3)


if __name__ == "__main__":
    figures.leave(main)
