"""Formats compared in C: the comparisons of Sections 5.2 and 5.4 of the formats paper.

    python experiments/formats_study.py [--quick] [--out FOLDER]

- y = A x with A in six formats, on banded, blocked, power-law and uniform matrices, and on one
  whose entries are spread over many diagonals. A format that would store more than 30 values for
  each entry is left out.
- The time to convert a list of coordinates to each of them; to CSR also by a kernel of ours, as in
  the paper.
- Diagonals against CSR on the stencils of grids.
- y = A x with x as an array, a sparse vector and a hash table, over the densities of both.
- A sum of two matrices in different formats, as it is and with one converted first.

Each time is the least of some runs, in turns with those that it is compared with; every result is
checked against scipy. Matrices have 20,000 rows, or 2,000 with ``--quick``. Writes
``formats_study.csv``, ``.png`` and ``.pdf`` to ``out``; exits with 1 where a result is wrong, or a
claim does not hold. On a machine that does other work, times say little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.cli.sweeps.pictures import COLOURS
from experiments import figures
from experiments.figures import Claim
from sam.tensor import Tensor

ROWS, QUICK_ROWS, PER_ROW = 20_000, 2_000, 10
MOST_STORED = 30  # values for each entry
BLOCK = 4
TURNS, LEAST_SECONDS = 7, 0.5
DENSITIES = (1.0, 0.1, 0.01, 0.001)
SHARES = {"array": "d", "sparse": "s", "hash": "h"}


@dataclass(frozen=True)
class Storage:
    """A way to store the matrix: the expression that multiplies it, its format, and the conversion.

    ``vectors``  the format of the vectors
    """

    name: str
    expression: str
    format: str
    made: Callable[[Tensor], Tensor]
    vectors: str = "d"


PLAIN, SLICED = "y(i) = A(i,j) * x(j)", "y(i) = A(k,i,j) * x(j)"
STORAGES = (
    Storage("COO", PLAIN, "COO", lambda a: a.convert("uq")),
    Storage("CSR", PLAIN, "CSR", lambda a: a.convert("ds")),
    Storage("DCSR", PLAIN, "DCSR", lambda a: a.convert("ss")),
    Storage("ELL", SLICED, "ELL", lambda a: a.ell()),
    Storage("DIA", SLICED, "DIA", lambda a: a.diagonals()),
    Storage("BCSR", "y(i1,i2) = A(i1,j1,i2,j2) * x(j1,j2)", "BCSR",
            lambda a: a.blocked((BLOCK, BLOCK), "dsdd"), "dd"),
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """The time of one computation.

    ``part``     of the study
    ``matrix``   and ``way`` to compute it
    ``seconds``  None where it was left out, as it would store ``stored`` values for each entry
    """

    part: str
    matrix: str
    way: str
    seconds: float | None
    entries: int
    stored: float = 1.0
    right: bool = True


# Matrices


def matrices(rows: int) -> Iterator[tuple[str, sp.csr_array]]:
    """Square matrices of so many rows, with about ten entries to a row."""
    random = np.random.default_rng(1)
    yield "banded", banded(rows, range(-5, 6))
    count = rows * PER_ROW // BLOCK**2
    places = np.unique(random.integers(0, rows // BLOCK, (count, 2)), axis=0)
    blocks = sp.coo_array((np.ones(len(places)), tuple(places.T)), shape=(rows // BLOCK,) * 2)
    yield "blocked", sp.csr_array(sp.kron(blocks, random.random((BLOCK, BLOCK)) + 0.5))
    lengths = np.minimum(rows // 2, (rows / (np.arange(rows) + 1.0) ** 1.1).astype(int) + 1)
    lengths = np.maximum(1, (lengths * (PER_ROW * rows / lengths.sum())).astype(int))
    i = np.repeat(np.arange(rows), np.minimum(lengths, rows))
    yield "power-law", _of(random, i, random.integers(0, rows, len(i)), rows)
    yield "uniform", sp.random_array((rows, rows), density=PER_ROW / rows, format="csr", rng=random)
    # Entries on 100 diagonals, a tenth of each filled.
    shift = random.choice(np.arange(-rows // 4, rows // 4), 100, replace=False)
    i = random.integers(0, rows, PER_ROW * rows)
    j = i + random.choice(shift, len(i))
    inside = (j >= 0) & (j < rows)
    yield "spread", _of(random, i[inside], j[inside], rows)


def banded(rows: int, offsets: Sequence[int]) -> sp.csr_array:
    """A matrix whose diagonals are full."""
    random = np.random.default_rng(2)
    diagonals = [random.random(rows - abs(offset)) + 0.5 for offset in offsets]
    return sp.csr_array(sp.diags_array(diagonals, offsets=list(offsets), shape=(rows, rows)))


def _of(random: np.random.Generator, i: Any, j: Any, rows: int) -> sp.csr_array:
    found = sp.coo_array((random.random(len(i)) + 0.5, (i, j)), shape=(rows, rows)).tocsr()
    found.sum_duplicates()
    return found


# Times


def least(ways: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The least seconds of each way, in turns; a way returns its own seconds."""
    found = dict.fromkeys(ways, float("inf"))
    started, turns = time.perf_counter(), 0
    while turns < TURNS or time.perf_counter() - started < LEAST_SECONDS:
        for name, run in ways.items():
            found[name] = min(found[name], run())
        turns += 1
    return found


def clocked(run: Callable[[], Any]) -> Callable[[], float]:
    """A function that returns the seconds of a call."""

    def seconds() -> float:
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    return seconds


def products(part: str, name: str, matrix: sp.csr_array) -> list[Point]:
    """y = A x with the matrix in each format."""
    a, x = Tensor.of(matrix), np.random.default_rng(3).random(matrix.shape[1])
    due, bound, points = matrix @ x, {}, []
    for one in STORAGES:
        stored = values(one.name, matrix) / matrix.nnz
        if stored > MOST_STORED:
            points.append(Point(part, name, one.name, None, matrix.nnz, stored))
            continue
        formats = {"y": one.vectors, "A": one.format, "x": one.vectors}
        program = custard.compile(one.expression, formats, target="c")
        vector = x if one.vectors == "d" else x.reshape(-1, BLOCK)
        bound[one.name] = program.bind({"A": one.made(a), "x": vector})
    right = {n: np.allclose(one.run().to_numpy().ravel(), due) for n, one in bound.items()}
    seconds = least({way: one.seconds for way, one in bound.items()})
    return points + [
        Point(part, name, way, took, matrix.nnz, values(way, matrix) / matrix.nnz, right[way])
        for way, took in seconds.items()
    ]


def values(way: str, matrix: sp.csr_array) -> int:
    """How many values a format stores for a matrix."""
    entries, rows = matrix.tocoo(), matrix.shape[0]
    i, j = entries.coords
    match way:
        case "ELL":
            return rows * int(np.bincount(i).max())
        case "DIA":
            return rows * len(np.unique(j - i))
        case "BCSR":
            return BLOCK**2 * len(np.unique(i // BLOCK * rows + j // BLOCK))
    return int(matrix.nnz)


def conversions(name: str, matrix: sp.csr_array) -> list[Point]:
    """A list of coordinates converted to the other formats."""
    a = Tensor.of(matrix).convert("uq")
    program = custard.compile("X(i,j) = A(i,j)", {"X": "CSR", "A": "COO"}, target="c")
    bound = program.bind({"A": a})
    right = (bound.run().to_scipy() != matrix).nnz == 0
    ways = {
        one.name: clocked(lambda one=one: one.made(a))  # type: ignore[misc]
        for one in STORAGES[1:]
        if values(one.name, matrix) <= MOST_STORED * matrix.nnz
    }
    seconds = least({"CSR, a kernel": bound.seconds, **ways})
    return [
        Point("conversion", name, way, took, matrix.nnz, right=right)
        for way, took in seconds.items()
    ]


def stencils(rows: int) -> Iterator[tuple[str, sp.csr_array]]:
    """The matrices of the stencils of a line, a plane and a space."""
    side, edge = round(rows**0.5), round(rows ** (1 / 3))
    yield "3 points", banded(rows, (-1, 0, 1))
    yield "5 points", banded(rows, (-side, -1, 0, 1, side))
    box = [a * side + b for a in (-1, 0, 1) for b in (-1, 0, 1)]
    yield "9 points", banded(rows, box)
    plane = edge * edge
    yield "7 points", banded(rows, (-plane, -edge, -1, 0, 1, edge, plane))
    space = [a * plane + b * edge + c for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)]
    yield "27 points", banded(rows, space)


def vectors(rows: int) -> Iterator[Point]:
    """y = A x with vectors of some densities in three formats, A in CSR of some densities."""
    random = np.random.default_rng(4)
    programs = {
        way: custard.compile(PLAIN, {"y": "d", "A": "CSR", "x": form}, target="c")
        for way, form in SHARES.items()
    }
    for of_matrix in (100 / rows, 10 / rows, 0.2 / rows):
        matrix = sp.random_array((rows, rows), density=of_matrix, format="csr", rng=random)
        for density in DENSITIES:
            x = np.zeros(rows)
            chosen = random.choice(rows, max(1, round(density * rows)), replace=False)
            x[chosen] = random.random(len(chosen)) + 0.5
            sparse = Tensor.from_coo(chosen[None], x[chosen], (rows,))
            bound = {
                way: program.bind({"A": matrix, "x": x if way == "array" else sparse})
                for way, program in programs.items()
            }
            right = all(np.allclose(one.run().to_numpy(), matrix @ x) for one in bound.values())
            for way, took in least({way: one.seconds for way, one in bound.items()}).items():
                name = f"{of_matrix * rows:g} to a row, x {density:g}"
                yield Point("vector", name, way, took, matrix.nnz, right=right)


def mixed(rows: int) -> list[Point]:
    """A sum of a matrix in COO and one in CSR, as they are, and with the first one converted."""
    random = np.random.default_rng(5)
    a, b = (
        sp.random_array((rows, rows), density=PER_ROW / rows, format="csr", rng=random)
        for _ in range(2)
    )
    text, coo = "X(i,j) = A(i,j) + B(i,j)", Tensor.of(a).convert("uq")
    together = custard.compile(text, {"X": "CSR", "A": "COO", "B": "CSR"}, target="c")
    first = custard.compile("X(i,j) = A(i,j)", {"X": "CSR", "A": "COO"}, target="c")
    then = custard.compile(text, dict.fromkeys("XAB", "CSR"), target="c")
    bound = {
        "as they are": together.bind({"A": coo, "B": b}),
        "conversion": first.bind({"A": coo}),
        "both CSR": then.bind({"A": a, "B": b}),
    }
    right = abs(bound["as they are"].run().to_scipy() - (a + b)).max() < 1e-12
    seconds = least({way: one.seconds for way, one in bound.items()})
    return [
        Point("mixed", "COO + CSR", way, took, a.nnz + b.nnz, right=right)
        for way, took in seconds.items()
    ]


# The claims of the paper


def claims(points: Sequence[Point]) -> list[Claim]:
    """The claims of Sections 5.2.3 and 5.4, beside our measurements."""
    took = {(one.part, one.matrix, one.way): one.seconds for one in points if one.seconds}
    names = [name for part, name, way in took if part == "product" and way == "CSR"]
    coo = [took["product", name, "COO"] / took["product", name, "CSR"] for name in names]
    to_csr = [
        took["conversion", name, "CSR, a kernel"] / took["product", name, "COO"] for name in names
    ]
    runs = [
        took["conversion", name, "CSR, a kernel"]
        / max(took["product", name, "COO"] - took["product", name, "CSR"], 1e-12)
        for name in names
    ]
    diagonal = {n: took["stencil", n, "DIA"] / t for (p, n, w), t in took.items()
                if p == "stencil" and w == "CSR"}  # fmt: skip
    spread = took.get(("product", "spread", "DIA"), np.inf) / took["product", "spread", "CSR"]
    best = _fastest(took, ("product", "stencil"))
    ell = {n: took["stencil", n, "ELL"] / took["stencil", n, "CSR"] for n in diagonal}
    few, many = ell["3 points"], ell["27 points"]
    winners = _fastest(took, ("vector",))
    together = took["mixed", "COO + CSR", "as they are"]
    apart = took["mixed", "COO + CSR", "conversion"] + took["mixed", "COO + CSR", "both CSR"]
    return [
        Claim(
            "Computing on COO can take up to twice as much time as on CSR (Figure 14).",
            f"{figures.spread(coo)} times as much",
            "yes" if max(coo) >= 1 and min(coo) < 2 else "in part",
        ),
        Claim(
            "Converting COO to CSR costs more than computing on the original COO matrix: it is "
            "made up for over several iterations only (Figure 14).",
            f"the kernel that converts takes {figures.spread(to_csr)} times as long as a product "
            f"in COO, and is made up for after {min(runs):.0f} or more products",
            _all(one > 1 for one in to_csr),
        ),
        Claim(
            "DIA is up to 22 % faster than CSR where all nonzeros are in a few dense diagonals "
            "(Figure 15).",
            ", ".join(f"{name} {ratio:.2f}" for name, ratio in diagonal.items())
            + " of the time of CSR",
            _all(ratio < 1 for ratio in diagonal.values()),
        ),
        Claim(
            "DIA is far slower where the nonzeros are spread among many sparse diagonals "
            "(Figure 15).",
            f"{spread:.1f} times the time of CSR with 100 diagonals, a tenth of each filled; where "
            f"it would store more than {MOST_STORED} values for each entry it is left out",
            figures.holds(spread > 1.5),
        ),
        Claim(
            "Which format is most performant depends on the structure of the tensor.",
            "; ".join(f"{name}: {way}" for name, way in best.items()),
            figures.holds(len({*best.values()}) > 1),
        ),
        Claim(
            "ELL, gone through as it lies in memory, suits matrices with few nonzeros per row; "
            "with many, the cache serves it less well (Section 5.2.3, beside MTL4).",
            f"{few:.2f} of the time of CSR with 3 to a row, {many:.2f} with 27",
            "yes" if few <= many else "in part",
        ),
        Claim(
            "Dense arrays are suitable where the input vector contains mostly nonzeros; sparse "
            "vectors where it contains mostly zeros and the matrix is much denser; hash maps where "
            "it is large and sparse but still denser than the matrix (Figure 16).",
            "; ".join(f"{name}: {way}" for name, way in winners.items()),
            _all((winners["100 to a row, x 1"] == "array",
                  winners[f"100 to a row, x {DENSITIES[-1]:g}"] == "sparse",
                  "hash" in winners.values())),
        ),
        Claim(
            "Tensors in different formats can be computed on without the cost of translating them "
            "first (Section 7).",
            f"a sum of COO and CSR takes {together / apart:.2f} of the time of a conversion and a "
            "sum of two CSR matrices",
            "yes" if together < apart else "in part",
        ),
    ]  # fmt: skip


def _fastest(took: Mapping[tuple[str, str, str], float], parts: Sequence[str]) -> dict[str, str]:
    """By matrix, the fastest way in some parts of the study."""
    found: dict[str, tuple[float, str]] = {}
    for (part, name, way), seconds in took.items():
        if part in parts:
            found[name] = min(found.get(name, (np.inf, "")), (seconds, way))
    return {name: way for name, (_, way) in found.items()}


def _all(conditions: Any) -> Any:
    """Whether conditions hold: all, some or none of them."""
    found = list(conditions)
    return "yes" if all(found) else "in part" if any(found) else "no"


def draw(points: Sequence[Point], folder: Path) -> None:
    """The products by matrix and format, and diagonals against CSR on stencils."""
    with figures.picture(folder, "formats_study", 10, 4) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(2, 1))
        _bars(left, [one for one in points if one.part == "product"], "y = A x")
        _bars(right, [one for one in points if one.part == "stencil"], "stencils")
        left.legend(title="A", ncols=3)


def _bars(axes: Any, points: Sequence[Point], title: str) -> None:
    """Nanoseconds for each entry, a group for each matrix."""
    names = list(dict.fromkeys(one.matrix for one in points))
    for n, storage in enumerate(STORAGES):
        found = {one.matrix: one for one in points if one.way == storage.name}
        heights = [
            1e9 * seconds / found[name].entries
            if name in found and (seconds := found[name].seconds)
            else 0
            for name in names
        ]
        places = np.arange(len(names)) + (n - 2.5) / 7
        axes.bar(places, heights, 1 / 7, color=COLOURS[n % len(COLOURS)], label=storage.name)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("ns for each entry")
    axes.set_title(title)


def show(points: Sequence[Point]) -> None:
    """Prints the points, a table for each part."""
    for part in dict.fromkeys(one.part for one in points):
        found = [one for one in points if one.part == part]
        ways = list(dict.fromkeys(one.way for one in found))
        table = Table("", *ways, title=f"{part}: ns for each entry")
        for name in dict.fromkeys(one.matrix for one in found):
            of_name = {one.way: one for one in found if one.matrix == name}
            table.add_row(name, *(_cell(of_name.get(way)) for way in ways))
        Console(width=120, highlight=False).print(table)


def _cell(one: Point | None) -> str:
    if one is None:
        return ""
    if one.seconds is None:
        return f"stores {one.stored:.0f} x"
    return f"{1e9 * one.seconds / one.entries:.2f}" if one.right else "WRONG"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the study; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    rows = QUICK_ROWS if options.quick else ROWS
    points: list[Point] = []
    for name, matrix in matrices(rows):
        points += products("product", name, matrix)
        points += conversions(name, matrix)
    for name, matrix in stencils(rows):
        points += products("stencil", name, matrix)
    points += [*vectors(rows), *mixed(rows)]
    show(points)
    figures.write_csv(
        options.out / "formats_study.csv",
        ("part", "matrix", "format", "seconds", "entries", "values for each entry"),
        ((p.part, p.matrix, p.way, p.seconds, p.entries, round(p.stored, 3)) for p in points),
    )
    draw(points, options.out)
    return figures.tell(claims(points)) or int(not all(one.right for one in points))


if __name__ == "__main__":
    figures.leave(main)
