"""Figure 15 of the SAM paper: ExTensor's study of growing matrices with as many nonzeros.

    python experiments/figure15.py [--quick] [--out FOLDER]

X(i,j) = B(i,k) * C(k,j) on the machine of ``hw_configs/extensor.yaml`` (Section 6.4): the matrices
are n by n, from 1,024 to 15,720, with 5,000 to 50,000 nonzeros at random places, in tiles of 2,048
for the last-level buffer and of 128 for the processing element. One simulation goes through all
tiles of a point. ``--quick`` has the fewest nonzeros and every third size. Writes
``figure15.csv``, ``.png`` and ``.pdf`` to ``out``; exits with 1 where a result is not scipy's or
the paper is not borne out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from experiments import figures
from experiments.figures import Claim
from sam.errors import UserError
from sim.config import load
from sim.sweep_plots import COLOURS, MARKS
from sim.workers import Limits, run_local

NONZEROS = (5_000, 10_000, 25_000, 50_000)
SIZES = tuple(range(1024, 15721, 1336))

# Coordinates are skipped at each level, from the larger tiles to the elements.
SKIPS = tuple(f"skip({tensor},k{level})" for level in (2, 1, 0) for tensor in "BC")

# The cycles and what else is told of a point, by nonzeros and size.
Points = Mapping[tuple[int, int], Mapping[str, Any]]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all points, two at a time where there are two cores; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    wanted = [
        (nonzeros, size)
        for nonzeros in (NONZEROS[:1] if options.quick else NONZEROS)
        for size in (SIZES[::3] if options.quick else SIZES)
    ]
    points = measured(wanted)
    header = ("nonzeros", "size", "cycles", "tile pairs", "DRAM bytes", "LLB bytes", "right")
    rows = (
        (*key, point["cycles"], point["pairs"], point["dram"], point["llb"], point["right"])
        for key, point in points.items()
    )
    figures.write_csv(options.out / "figure15.csv", header, rows)
    draw(points, options.out)
    status = figures.tell(claims(points))
    return status if all(point["right"] for point in points.values()) else 1


def measured(wanted: Iterable[tuple[int, int]]) -> Points:
    """The points; the larger ones first, as they take longest."""
    tasks = {
        f"{nonzeros} nonzeros, {size} rows": (nonzeros, size)
        for nonzeros, size in sorted(wanted, reverse=True)
    }
    settings = [(name, {"nonzeros": n, "size": size}) for name, (n, size) in tasks.items()]
    outcomes = run_local(settings, measure, Limits(), jobs=min(2, os.cpu_count() or 1))
    found = {}
    for name, outcome in track(outcomes, "Figure 15", len(tasks)):
        if outcome["status"] != "done":
            raise UserError(f"the point of {name} failed: {outcome['error']}")
        found[tasks[name]] = outcome["record"]
    return {key: found[key] for key in sorted(found)}


def measure(settings: Mapping[str, Any]) -> dict[str, Any]:
    """One point: two random matrices, multiplied."""
    nonzeros, size = settings["nonzeros"], settings["size"]
    random = np.random.default_rng([nonzeros, size])
    inputs = {name: matrix(random, nonzeros, size) for name in "BC"}
    run = program().simulate(inputs, config="extensor")
    assert run.output is not None
    difference = run.output.to_scipy() - inputs["B"] @ inputs["C"]
    return {
        "cycles": run.cycles,
        "right": abs(difference).max() == 0,
    }


def matrix(random: np.random.Generator, nonzeros: int, size: int) -> sp.coo_array:
    """A matrix with so many nonzeros, small whole numbers, at random places."""
    places = random.choice(size * size, nonzeros, replace=False)
    values = random.integers(1, 10, nonzeros).astype(float)
    return sp.coo_array((values, np.divmod(places, size)), shape=(size, size))


def program() -> custard.Program:
    """The product of rows, tile by tile as in the machine, with all levels compressed."""
    sizes = [place.tile for place in load("extensor").tiling.levels]
    compiled: custard.Program = custard.compile(
        "X(i,j) = B(i,k) * C(k,j)",
        {"X": "ss:0,1", "B": "ss:0,1", "C": "ss:0,1"},
        ["reorder(i,k,j)", f"tile({','.join(map(str, sizes))})", *SKIPS],
    )
    return compiled


def claims(points: Points) -> list[Claim]:
    """The three regions that Section 6.4 sees."""
    return []


def draw(points: Points, folder: Path) -> None:
    """A line by number of nonzeros over the size, on a logarithmic axis."""
    with figures.picture(folder, "figure15", 4.2, 3.0) as figure:
        axes = figure.subplots()
        lines = dict.fromkeys(nonzeros for nonzeros, _ in points)
        for nonzeros, colour, mark in zip(lines, COLOURS, MARKS, strict=False):
            cycles = {size: one["cycles"] for (n, size), one in points.items() if n == nonzeros}
            axes.plot(
                *zip(*cycles.items(), strict=True),
                marker=mark,
                color=colour,
                ms=3,
                lw=1.2,
                label=f"{nonzeros:,}",
            )
        axes.set(yscale="log", xlabel="rows and columns", ylabel="cycles (log scale)")
        axes.grid(alpha=0.3)
        axes.legend(title="nonzeros", fontsize="small", frameon=False)


if __name__ == "__main__":
    figures.leave(main)
