"""Figure 13 of the SAM paper: ways to store two sparse vectors that are multiplied.

    python experiments/figure13.py [--quick] [--out FOLDER]

x(i) = b(i) * c(i) with vectors of 2,000 on the ideal machine (Section 6.3), over (a) the sparsity
of uniformly random vectors, (b) the length of runs that one vector has where the other has none,
and (c) the size of blocks that both have; runs and blocks have 400 nonzeros. Split levels have
chunks of 64 coordinates, as the published counts do, and the vectors are split before. Where
coordinates are skipped, it takes two cycles until a scanner is told, as it does in the published
counts, to which they then come within a cycle.

``STRUCTURES`` has a row for each way to store the vectors or to go through them. ``--quick`` has
the ends of each axis only. Writes ``figure13.csv``, ``.png`` and ``.pdf`` to ``out``; exits with 1
where a result is wrong, a count differs, or a claim of the paper does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.cli.sweeps.pictures import COLOURS, MARKS
from experiments import figures
from experiments.figures import Claim, Count
from sam.tensor import Tensor

LENGTH = 2000
CHUNK = 64


@dataclass(frozen=True)
class Structure:
    """A way to store both vectors.

    ``levels``    the format of each level of b and c; two levels are chunks and their contents
    ``record``    how the names of the published counts end; the structure's key in ``Counts``
    ``fewer``     why ours may be below those
    ``schedule``  what the structure asks for beyond its levels
    ``machine``   the settings in which its machine differs from the ideal one
    """

    name: str
    levels: str
    record: str
    fewer: str = ""
    schedule: tuple[str, ...] = ()
    machine: Mapping[str, int] = field(default_factory=dict)

    def program(self) -> custard.Program:
        """The product of two vectors that are stored so; the result is dense if they are."""
        indices = ",".join("oi"[-len(self.levels) :])
        result = "d" if self.levels == "d" else "s" * len(self.levels)
        formats = {"x": result, "b": self.levels, "c": self.levels}
        product = f"x({indices}) = b({indices}) * c({indices})"
        program: custard.Program = custard.compile(product, formats, self.schedule)
        return program

    def stored(self, vector: Tensor) -> Tensor:
        """The vector with as many levels as this has."""
        return vector.blocked([CHUNK]) if len(self.levels) > 1 else vector


_STORED = (
    "the vectors of BV are stored as words here; the published runs first make words of their "
    "coordinates, a coordinate a cycle, and then take as many cycles as ours"
)

# The published intersecter compares coordinates that it has taken from its queues a cycle before.
_FEEDBACK = {f"queues.names.scan_{vector}_i.in_skip.latency_cycles": 2 for vector in "bc"}

STRUCTURES = (
    Structure("Dense", "d", "dense"),
    Structure("Crd", "s", "crd"),
    Structure("Crd w/ skip", "s", "crd_skip", "", ("skip(b,i)", "skip(c,i)"), _FEEDBACK),
    Structure("Crd w/ split", "ss", "split_sf64"),
    Structure("BV", "b", "bv_w64", _STORED),
    Structure("BV w/ split", "bb", "bittree_sf64"),
)
_NAMES = {one.record: one.name for one in STRUCTURES}


@dataclass(frozen=True)
class Study:
    """One part of the figure: its vectors and its axis."""

    part: str
    vectors: str
    axis: str
    values: tuple[str, ...]

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last value."""
        return self.values[0], self.values[-1]

    def place(self, value: str) -> float:
        """Where a value stands on the axis."""
        return LENGTH * (1 - float(value)) if self.vectors == "random" else float(value)


_SPARSITIES = ("0.2", "0.6", "0.8", "0.9", "0.95", "0.975", "0.9875", "0.99375")
_SIZES = ("1", "10", "50", "100", "400")

STUDIES = (
    Study("a", "random", "nonzeros of 2,000, expected", _SPARSITIES),
    Study("b", "runs", "length of a run (coordinates)", _SIZES),
    Study("c", "blocks", "size of a block (coordinates)", _SIZES),
)

# The counts by the vectors of the study, the value on its axis, and the structure's record.
Counts: TypeAlias = Mapping[tuple[str, str, str], Count]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all points; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    counts = {
        (study.vectors, value, structure.record): count(structure, f"{study.vectors}_{value}")
        for study in STUDIES
        for value in (study.ends if options.quick else study.values)
        for structure in STRUCTURES
    }
    figures.write_csv(
        options.out / "figure13.csv",
        ("vectors", "sparsity, run or block", "structure", "cycles", "published cycles"),
        ((*key[:2], _NAMES[key[2]], one.ours, one.published) for key, one in counts.items()),
    )
    draw(counts, options.out)
    shown = [one for one in counts.values() if one.published or not one.right]
    differs = figures.compare("Figure 13: cycles of x(i) = b(i) * c(i)", shown)
    return figures.tell(claims(counts)) or differs


def count(structure: Structure, vectors: str) -> Count:
    """The cycles of the product of the published vectors, its result checked against numpy."""
    b, c = (figures.pattern(f"fig13_{vectors}.{name}") for name in "bc")
    stored = {"b": structure.stored(b), "c": structure.stored(c)}
    result, run = figures.simulate(structure.program(), stored, structure.machine)
    right = np.array_equal(result.to_numpy().reshape(-1)[:LENGTH], b.to_numpy() * c.to_numpy())
    record = f"fig13_{vectors}_{structure.record}"
    name = f"{structure.name}, {vectors.replace('_', ' ')}"
    return Count(name, run.cycles, figures.published(record), right, structure.fewer)


def claims(counts: Counts) -> list[Claim]:
    """The claims of Section 6.3 on the structures."""

    def over(vectors: str, record: str) -> list[int]:
        return [one.ours for key, one in counts.items() if key[::2] == (vectors, record)]

    crd, bits, run_bits = over("random", "crd"), over("random", "bv_w64"), over("runs", "bv_w64")
    tree, skipped = over("random", "bittree_sf64"), over("random", "crd_skip")
    furthest = max(abs(one - other) for one, other in zip(skipped, crd, strict=True))
    skip_by_run = _ratios(over("runs", "crd_skip"), over("runs", "crd"))
    skip_by_block = _ratios(over("blocks", "crd_skip"), over("blocks", "crd"))
    by_run = _ratios(over("runs", "split_sf64"), over("runs", "crd"))
    by_block = _ratios(over("blocks", "split_sf64"), over("blocks", "crd"))
    return [
        Claim(
            "(a) As the sparsity increases, the compressed format becomes better than bitvectors, "
            "which are dense.",
            f"Crd {crd[0]:,} to {crd[-1]:,} cycles, BV {bits[0]:,} to {bits[-1]:,}",
            figures.holds(crd[-1] < bits[-1]),
        ),
        Claim(
            "(a) Coordinate skipping behaves exactly as the compressed format does, as the runs of "
            "random vectors are short.",
            f"Crd w/ skip {skipped[0]:,} to {skipped[-1]:,} cycles, at most {furthest} from Crd's",
            "yes" if skipped == crd else "in part" if furthest < 0.05 * min(crd) else "no",
        ),
        Claim(
            "(b) As run lengths increase, there are more opportunities to skip coordinates.",
            f"skipping takes {skip_by_run[0]:.2f} (short runs) to {skip_by_run[-1]:.2f} (long) of "
            "Crd's cycles",
            figures.holds(skip_by_run[-1] < 0.5 < skip_by_run[0]),
        ),
        Claim(
            "(b) As run lengths increase, splitting has more opportunities to avoid computation.",
            f"split takes {by_run[0]:.2f} (short runs) to {by_run[-1]:.2f} (long) of Crd's cycles",
            figures.holds(by_run[-1] < 0.5 < by_run[0]),
        ),
        Claim(
            "(b) The bitvector remains flat.",
            f"{run_bits[0]:,} cycles (runs of {_SIZES[0]}) to {run_bits[-1]:,} (of {_SIZES[-1]}): "
            "one for a word, or for each coordinate in it that both have, as where runs are short; "
            f"the published counts {_published('runs', '{:,}', 'bv_w64')}",
            "yes" if max(run_bits) < 1.1 * min(run_bits) else "in part",
        ),
        Claim(
            "(c) The advantage of skipping remains for blocks, without the dependence on size.",
            f"skipping takes {skip_by_block[0]:.2f} (small blocks) to {skip_by_block[-1]:.2f} "
            "(large) of Crd's cycles; the published counts "
            f"{_published('blocks', '{:.2f}', 'crd_skip', 'crd')}",
            "yes" if max(skip_by_block) < 1 else "in part" if min(skip_by_block) < 1 else "no",
        ),
        Claim(
            "(c) The advantage of splitting remains for blocks, without the dependence on size.",
            f"split takes {by_block[0]:.2f} (small blocks) to {by_block[-1]:.2f} (large) of Crd's "
            f"cycles; the published counts {_published('blocks', '{:.2f}', 'split_sf64', 'crd')}",
            "yes" if max(by_block) < 1 else "in part" if min(by_block) < 1 else "no",
        ),
        Claim(
            "Bitvectors have the advantage of implicit parallelism, but need to be organized "
            "hierarchically for robust performance.",
            f"(a) BV {bits[0]:,} to {bits[-1]:,} cycles, with split {tree[0]:,} to {tree[-1]:,}; "
            f"Crd {crd[0]:,} to {crd[-1]:,}",
            figures.holds(bits[0] < crd[0] and tree[0] < crd[0] and tree[-1] < bits[-1]),
        ),
    ]


def draw(counts: Counts, folder: Path) -> None:
    """A panel by study and a line by structure; hollow marks are the published counts."""
    with figures.picture(folder, "figure13", 7.2, 3.0) as figure:
        panels = figure.subplots(1, len(STUDIES), sharey=True)
        for axes, study in zip(panels, STUDIES, strict=True):
            for structure, colour, mark in zip(STRUCTURES, COLOURS, MARKS, strict=False):
                found = [
                    (study.place(key[1]), one)
                    for key, one in counts.items()
                    if key[::2] == (study.vectors, structure.record)
                ]
                x, y = zip(*((at, one.ours) for at, one in found), strict=True)
                style: dict[str, Any] = {"color": colour, "marker": mark}
                axes.plot(x, y, **style, ms=3, lw=1.2, label=structure.name)
                known = [(at, one.published) for at, one in found if one.published]
                if known:
                    axes.plot(*zip(*known, strict=True), **style, ms=7, mfc="none", ls="none")
            axes.set(xscale="log", yscale="log", xlabel=study.axis)
            axes.set_title(f"({study.part}) {study.vectors}", fontsize="medium")
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("cycles (log scale)")
        handles, labels = panels[0].get_legend_handles_labels()
        hollow = panels[0].plot([], [], "o", color="0.4", ms=7, mfc="none")
        figure.legend(
            [*handles, *hollow],
            [*labels, "published simulator"],
            loc="outside lower center",
            ncols=4,
            fontsize="small",
            frameon=False,
        )


def _ratios(ours: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ours, others, strict=True)]


def _published(vectors: str, form: str, record: str, other: str | None = None) -> str:
    """The published cycles, over those of another structure if there is one, where both are."""
    found = []
    for size in _SIZES:
        count = figures.published(f"fig13_{vectors}_{size}_{record}")
        base = figures.published(f"fig13_{vectors}_{size}_{other}") if other else 1
        if count and base:
            found.append(f"{form.format(count / base if other else count)} (size {size})")
    return ", ".join(found)


if __name__ == "__main__":
    figures.leave(main)
