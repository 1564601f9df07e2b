"""Figure 15 of the SAM paper: ExTensor's study of growing matrices with a fixed number of nonzeros.

    python experiments/figure15.py [--quick] [--out FOLDER]

X(i,j) = B(i,k) * C(k,j) on the machine of ``hw_configs/extensor.yaml`` (Section 6.4): the matrices
are n by n, from 1,024 to 15,720, with 5,000 to 50,000 nonzeros at random places, in tiles of 2,048
for the last-level buffer and of 128 for the processing element. Scanners skip at all levels, as
intersecters tell them. One simulation goes through all tiles of a point.

With queues of any length, as the paper has them, a scanner soon runs so far ahead of its
intersecter that it has passed the coordinates that it is told to skip; each point is also run with
two places at each input of an intersecter.

``--quick`` has the fewest nonzeros and every third size. Writes ``figure15.csv``, ``.png`` and
``.pdf`` to ``out``; exits with 1 where a result is wrong or a claim of the paper does not hold.
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

from custard.cli.sweeps.pictures import COLOURS, MARKS
from custard.cli.sweeps.workers import Limits, run_local
from experiments import figures, machines
from experiments.figures import Claim
from sam.support.errors import UserError

NONZEROS = (5_000, 10_000, 25_000, 50_000)
SIZES = tuple(range(1024, 15721, 1336))

# The columns of a point, by its nonzeros and its size.
Points = Mapping[tuple[int, int], Mapping[str, Any]]

# The queues of each run of a point.
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "unbounded queues": {},
    "2 places before intersecters": {"queues.readers.intersecter.depth": 2},
}
PAPER, SHORT = QUEUES


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
    header = ("nonzeros", "size", *(f"cycles with {name}" for name in QUEUES), "pairs of tiles")
    header = (*header, "bytes read of DRAM", "bytes read of LLB", "right")
    keys = (*QUEUES, "pairs", "dram", "llb", "right")
    rows = ((*at, *(point[key] for key in keys)) for at, point in points.items())
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
    product = inputs["B"] @ inputs["C"]
    found: dict[str, Any] = {"right": True}
    for name, overrides in QUEUES.items():
        run = machines.compiled("extensor").simulate(inputs, config="extensor", overrides=overrides)
        assert run.output is not None
        found["right"] &= abs(run.output.to_scipy() - product).max() == 0
        found[name] = run.cycles
    innermost = [node.name for node in run.graph.nodes if node.kind == "tile_loader"][-1]
    found["pairs"] = run.blocks[innermost].tokens["ref"]["data"]
    for level in ("dram", "llb"):
        tensors = run.memory[level].tensors
        found[level] = sum(tensors[name].bytes_read for name in "BC")
    found["right"] = bool(found["right"])
    return found


def matrix(random: np.random.Generator, nonzeros: int, size: int) -> sp.coo_array:
    """A matrix with ``nonzeros`` small whole numbers at random places."""
    places = random.choice(size * size, nonzeros, replace=False)
    values = random.integers(1, 10, nonzeros).astype(float)
    return sp.coo_array((values, np.divmod(places, size)), shape=(size, size))


def claims(points: Points) -> list[Claim]:
    """The three regions of Section 6.4, and the effect of short queues."""
    lines = by_nonzeros(points, PAPER)
    peaks = _peaks(lines)
    largest = max(size for _, size in points)
    highest = {queues: _peaks(by_nonzeros(points, queues)) for queues in QUEUES}
    rising = [peak > min(SIZES) for of_queues in highest.values() for peak in of_queues.values()]
    falls = [line[peaks[n]] / line[largest] for n, line in lines.items()]
    early, late = zip(*(_slopes(line, peaks[n]) for n, line in lines.items()), strict=True)
    pairs = [point["pairs"] for point in points.values()]
    gains = [point[PAPER] / point[SHORT] for point in points.values()]
    most = "; ".join(
        f"with {queues} " + ", ".join(f"{n:,} at {peak:,}" for n, peak in of_queues.items())
        for queues, of_queues in highest.items()
    )
    return [
        Claim(
            "Increasing runtime due to more non-empty tiles at small dimensions.",
            f"{sum(rising)} of {len(rising)} lines rise at first. The most cycles, by nonzeros, "
            f"are {most}. Pairs of tiles are {figures.spread(pairs, ',')}",
            "yes" if all(rising) else "in part" if any(rising) else "no",
        ),
        Claim(
            "Decreasing runtime due to sparse tile skipping.",
            f"from there to {largest:,} by {figures.spread(falls, '.1f')} times",
            figures.holds(min(falls) > 1),
        ),
        Claim(
            "Decreasing runtime with saturating performance.",
            f"each 1,336 rows take off {figures.spread(early, '.0%')} of the cycles at first, "
            f"{figures.spread(late, '.0%')} at the end",
            figures.holds(all(last < first for first, last in zip(early, late, strict=True))),
        ),
        Claim(
            "Our SAM model contains the hierarchical coordinate skipping of ExTensor.",
            f"with {SHORT} it takes {figures.spread(gains)} times fewer cycles than with {PAPER}, "
            f"whose scanners have passed what they are to skip",
            figures.holds(max(gains) > 1),
        ),
    ]


def by_nonzeros(points: Points, what: str) -> dict[int, dict[int, int]]:
    """A value of each point: by nonzeros, then by size."""
    found: dict[int, dict[int, int]] = {}
    for (nonzeros, size), point in points.items():
        found.setdefault(nonzeros, {})[size] = point[what]
    return found


def _peaks(lines: Mapping[int, Mapping[int, int]]) -> dict[int, int]:
    """The sizes at which lines are highest."""
    return {n: max(line, key=line.__getitem__) for n, line in lines.items()}


def _slopes(line: Mapping[int, int], peak: int) -> tuple[float, float]:
    """The fall of a line in a step, in the first and in the second half after its peak."""
    sizes = [size for size in line if size >= peak]
    middle = sizes[len(sizes) // 2]

    def fall(begin: int, end: int) -> float:
        steps = max(1, (end - begin) // 1336)
        return float(1 - (line[end] / line[begin]) ** (1 / steps))

    return fall(peak, middle), fall(middle, sizes[-1])


def draw(points: Points, folder: Path) -> None:
    """A panel by length of queue, and a line by nonzeros over the size."""
    with figures.picture(folder, "figure15", 7.2, 3.0) as figure:
        panels = figure.subplots(1, len(QUEUES), sharey=True)
        for axes, queues in zip(panels, QUEUES, strict=True):
            lines = by_nonzeros(points, queues)
            for (nonzeros, line), colour, mark in zip(lines.items(), COLOURS, MARKS, strict=False):
                style: dict[str, Any] = {"color": colour, "marker": mark, "ms": 3, "lw": 1.2}
                axes.plot(*zip(*line.items(), strict=True), **style, label=f"{nonzeros:,}")
            axes.set(yscale="log", xlabel="rows and columns", title=queues)
            axes.title.set_fontsize("medium")
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("cycles (log scale)")
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            title="nonzeros",
            loc="outside lower center",
            ncols=len(lines),
            fontsize="small",
            frameon=False,
        )


if __name__ == "__main__":
    figures.leave(main)
