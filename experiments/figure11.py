"""Figure 11 of the SAM paper: sampled dense-dense matrix multiplication, fused and unfused.

    python experiments/figure11.py [--quick] [--out FOLDER]

X(i,j) = B(i,j) * C(i,k) * D(k,j) with I = J = 250, K = 1, 10 and 100, a compressed B that is 95 %
zeros and dense C and D, on the ideal machine (Section 6.3), in three ways:

    unfused    two programs: the dense product of C and D is stored, then read again and sampled;
               their cycles are added up
    fused      one program, B intersected with C and D, which are scanned whole
    located    one program, the coordinates of B looked up in C and D

The published test loads a B of 250 x 100 in place of the paper's; both are run and compared.
``--quick`` has the smaller one only. Writes ``figure11.csv``, ``.png`` and ``.pdf`` to ``out``;
exits with 1 where a result is wrong, a count differs, or a claim of the paper does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.cli.sweeps.pictures import COLOURS
from experiments import figures
from experiments.figures import Claim, Count
from sam.tensor import Tensor

EXTENTS = (1, 10, 100)
SIZES = {"250x250": "the paper's B", "ref250x100": "the published test's B"}

_FUSED = "X(i,j) = B(i,j) * C(i,k) * D(k,j)"
_DENSE = {"C": "dd:0,1", "D": "dd:1,0"}


@dataclass(frozen=True)
class Method:
    """A way to compute it: one program, or several that each read the result of the one before.

    ``record``    the middle of the names of the published counts
    ``programs``  expression, formats and schedule of each
    """

    name: str
    record: str
    programs: tuple[tuple[str, Mapping[str, str], Sequence[str]], ...]


METHODS = (
    Method(
        "unfused",
        "unfused",
        (
            ("T(i,j) = C(i,k) * D(k,j)", {**_DENSE, "T": "dd:0,1"}, ["reorder(i,j,k)"]),
            (
                "X(i,j) = B(i,j) * T(i,j)",
                {"T": "dd:0,1"},
                ["reorder(i,j)", "coiterate(T,i)", "coiterate(T,j)"],
            ),
        ),
    ),
    Method(
        "fused",
        "coiter_fused",
        ((_FUSED, _DENSE, ["reorder(i,j,k)", "coiterate(C,i)", "coiterate(D,j)"]),),
    ),
    Method("located", "locate_fused", ((_FUSED, _DENSE, ["reorder(i,j,k)"]),)),
)


@dataclass(frozen=True)
class Point:
    """A method on a B at a K; ``parts`` has the cycles of its programs, in their order."""

    size: str
    k: int
    method: str
    parts: tuple[int, ...]
    count: Count


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all points; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    sizes = list(SIZES)[-1:] if options.quick else list(SIZES)
    points = [measure(method, size, k) for size in sizes for k in EXTENTS for method in METHODS]
    figures.write_csv(
        options.out / "figure11.csv",
        ("B", "K", "method", "cycles", "of them product", "of them sampling", "published cycles"),
        ((p.size, p.k, p.method, p.count.ours, *_apart(p), p.count.published) for p in points),
    )
    shown = [point for point in points if point.size == sizes[0]]
    draw(shown, options.out)
    title = f"Figure 11: cycles of {_FUSED}"
    differs = figures.compare(title, [point.count for point in points])
    return figures.tell(claims(shown)) or differs


def measure(method: Method, size: str, k: int) -> Point:
    """The cycles of a method, its result checked against numpy."""
    sampled = figures.pattern(f"paper_sddmm_{size}.B")
    rows, columns = sampled.shape
    values = np.random.default_rng(k)
    known = {
        "B": sampled,
        "C": Tensor.of(values.integers(1, 10, (rows, k)).astype(float)),
        "D": Tensor.of(values.integers(1, 10, (k, columns)).astype(float)),
    }
    parts = []
    for expression, formats, schedule in method.programs:
        program = custard.compile(expression, formats, schedule)
        names = {slot.tensor for slot in program.graph.slots}
        result, run = figures.simulate(program, {name: known[name] for name in names & set(known)})
        known[program.cin.target.tensor] = result
        parts.append(run.cycles)
    B, C, D = (known[name].to_numpy() for name in "BCD")
    right = np.array_equal(known["X"].to_numpy(), B * (C @ D))
    published = figures.published(f"paper_sddmm_{method.record}_{size}_K{k}")
    name = f"{method.name}, K = {k}, {SIZES[size]}"
    name += f" ({' + '.join(f'{part:,}' for part in parts)})" * (len(parts) > 1)
    return Point(size, k, method.name, tuple(parts), Count(name, sum(parts), published, right))


def claims(points: Sequence[Point]) -> list[Claim]:
    """The claims of Section 6.3 on fusing and locating."""
    cycles = {(point.method, point.k): point.count.ours for point in points}
    unfused = [cycles["unfused", k] / cycles["fused", k] for k in EXTENTS]
    located = [cycles["fused", k] / cycles["located", k] for k in EXTENTS]
    return [
        Claim(
            "The unfused implementation performs far worse.",
            f"{_by_extent(unfused)} times the cycles of the fused",
            figures.holds(min(unfused) > 2),
        ),
        Claim(
            "Locating gives significant gains when the amount of computation is modest.",
            f"fused takes {_by_extent(located[:1])} times the cycles of located",
            figures.holds(located[0] > 2),
        ),
        Claim(
            "This advantage becomes negligible as K increases.",
            f"{_by_extent(located)} times",
            figures.holds(located == sorted(located, reverse=True) and located[-1] < 1.01),
        ),
    ]


def draw(points: Sequence[Point], folder: Path) -> None:
    """A bar by K and method, on a logarithmic axis, with a mark for the published count."""
    with figures.picture(folder, "figure11", 4.2, 2.8) as figure:
        axes = figure.subplots()
        for place, (method, colour) in enumerate(zip(METHODS, COLOURS, strict=False)):
            mine = [point for point in points if point.method == method.name]
            at = [EXTENTS.index(point.k) + 0.27 * (place - 1) for point in mine]
            label = "fused, located" if method.name == "located" else method.name
            axes.bar(at, [point.count.ours for point in mine], 0.25, color=colour, label=label)
            if len(method.programs) > 1:
                striped: dict[str, Any] = {
                    "color": colour,
                    "hatch": "////",
                    "edgecolor": "w",
                    "lw": 0,
                }
                sampling = [point.parts[-1] for point in mine]
                axes.bar(at, sampling, 0.25, **striped, label="of which sampling")
            known = [(x, p.count.published) for x, p in zip(at, mine, strict=True)]
            axes.plot(*zip(*known, strict=True), "D", color="k", ms=3)
        axes.plot([], [], "D", color="k", ms=3, label="published simulator")
        axes.set(yscale="log", xlabel="K, the extent of the sum", ylabel="cycles (log scale)")
        axes.set_xticks(range(len(EXTENTS)), map(str, EXTENTS))
        axes.set_ylim(bottom=1000)
        axes.legend(fontsize="x-small", frameon=False, loc="upper left")


def _apart(point: Point) -> tuple[int | None, int | None]:
    product, sampling = point.parts if len(point.parts) == 2 else (None, None)
    return product, sampling


def _by_extent(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.2f} (K = {k})" for ratio, k in zip(ratios, EXTENTS, strict=False))


if __name__ == "__main__":
    figures.leave(main)
