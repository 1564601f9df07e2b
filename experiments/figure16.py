"""Figure 16 of the SAM paper: OuterSPACE in two phases, its graphs and its cycles.

    python experiments/figure16.py [--quick] [--out FOLDER]

X(i,j) = B(i,k) * C(k,j) as OuterSPACE computes it (Section 6.5). The multiply phase goes k, i, j
and stores each product in Y(i,k,j); its level k is of linked lists, as k comes in another order
than that of storage. The merge phase reads Y and sums over k. Their cycles on the ideal machine
stand beside those of the inner product (ijk) and of the linear combination of rows (ikj, as Gamma),
for the matrices of Figure 12 and for real ones: C is B where that is square, and else its
transpose. All levels of B and C are compressed, and so are those of X but the rows of OuterSPACE's.

``--quick`` leaves the largest out. Writes ``figure16.csv``, the cycles ``figure16.png`` and
``.pdf``, and the graphs ``figure16_multiply`` and ``figure16_merge``, ``.png`` and ``.pdf``, to
``out``; exits with 1 where a result is wrong or a claim of the paper does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from custard.cli.sweeps.pictures import COLOURS
from experiments import figures, machines
from experiments.demo import compiled
from experiments.figures import Claim
from sam import io
from sam.blocks import primitives
from sam.drawing import draw as draw_graph
from sam.graph import Graph
from sam.tensor import Tensor

DATAFLOWS = {"ijk": "inner product", "ikj": "linear combination of rows"}
FIGURE_12 = "Figure 12"
MATRICES = (FIGURE_12, "relat3", "LFAT5", "west0067", "ch4-4-b1", "ch7-6-b1")
PHASES = ("multiply", "merge")


@dataclass(frozen=True)
class Measured:
    """The cycles of one product.

    ``products``  how many values are multiplied
    ``cycles``    by order of the loops
    ``phases``    of OuterSPACE
    ``right``     whether all results are scipy's
    """

    matrix: str
    shape: tuple[int, ...]
    products: int
    cycles: Mapping[str, int]
    phases: tuple[int, ...]
    right: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all products; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    found = [measure(name) for name in MATRICES[: -1 if options.quick else None]]
    rows = [
        (one.matrix, *one.shape, one.products, *one.cycles.values(), *one.phases, sum(one.phases))
        for one in found
    ]
    header = ("matrix", "rows", "inner", "columns", "products", *DATAFLOWS, *PHASES, "outerspace")
    figures.write_csv(options.out / "figure16.csv", header, rows)
    graphs = machines.compiled("outerspace").graphs
    for phase, graph in zip(PHASES, graphs, strict=True):
        for suffix in (".png", ".pdf"):
            draw_graph(graph, options.out / f"figure16_{phase}{suffix}")
    draw(found, options.out)
    wrong = [one.matrix for one in found if not one.right]
    for name in wrong:
        print(f"{name}: WRONG VALUES")
    return figures.tell([*structure(*graphs), *claims(found)]) or bool(wrong)


def factors(name: str) -> dict[str, Tensor]:
    """The two matrices of a product."""
    if name == FIGURE_12:
        return {tensor: figures.pattern(f"paper_spmspm.{tensor}") for tensor in "BC"}
    matrix = io.read(figures.DATA / f"{name}.mtx")
    rows, columns = matrix.shape
    other = matrix if rows == columns else Tensor.from_scipy(matrix.to_scipy().T)
    return {"B": matrix, "C": other}


def measure(name: str) -> Measured:
    """The cycles of one product in each way, the results checked against scipy."""
    given = factors(name)
    left, right = (given[tensor].to_scipy() for tensor in "BC")
    due = left @ right
    cycles, results = {}, []
    for order in DATAFLOWS:
        result, run = figures.simulate(compiled(order), given)
        cycles[order] = run.cycles
        results.append(result)
    result, run = figures.simulate(machines.compiled("outerspace"), given)
    results.append(result)
    products = int(((left != 0).sum(axis=0) * (right != 0).sum(axis=1)).sum())
    return Measured(
        name,
        (*left.shape, right.shape[1]),
        products,
        cycles,
        tuple(part.cycles for part in run.parts),
        all(abs(one.to_scipy() - due).max() <= 1e-9 * abs(due).max() for one in results),
    )


def structure(multiply: Graph, merge: Graph) -> list[Claim]:
    """The claims of Section 6.5 on the graphs."""
    counts = primitives(merge)
    kinds = ("level_scanner", "reducer", "level_writer")
    written = [node.parameters for node in multiply.nodes if node.kind == "level_writer"]
    lists = [one["variable"] for one in written if one["format"] == "l"]
    return [
        Claim(
            "OuterSPACE's intermediate result is stored in ikj order, which is discordant with the "
            "dataflow kij; a linked list as the level format of k supports that.",
            f"Y is written in lists of {', '.join(lists)}, as the loops go; reducers in the "
            f"multiply phase: {primitives(multiply).get('reducer', 0)}",
            figures.holds(lists == ["kw"] and "reducer" not in primitives(multiply)),
        ),
        Claim(
            "The merge phase consists of three cascaded level scanners, a vector reducer and three "
            "level writers.",
            ", ".join(f"{counts[kind]} {kind.replace('_', ' ')}" for kind in kinds),
            figures.holds([counts[kind] for kind in kinds] == [3, 1, 3]),
        ),
    ]


def claims(found: Sequence[Measured]) -> list[Claim]:
    """The claims of Section 2 on the dataflows."""
    inner = {one.matrix: one.cycles["ijk"] / sum(one.phases) for one in found}
    large = [inner[one.matrix] for one in found if one.shape[0] * one.shape[2] >= 1000]
    saved = [one.cycles["ikj"] / one.phases[0] for one in found]
    merged = [sum(one.phases) / one.cycles["ikj"] for one in found]
    return [
        Claim(
            "The inner product has poor asymptotic performance: it goes over all combinations of i "
            "and j.",
            f"{figures.spread(inner.values())} times the cycles of OuterSPACE; "
            f"{figures.spread(large)} where there are at least 1,000 combinations",
            figures.holds(min(large) > 1),
        ),
        Claim(
            "The outer product has a better asymptotic complexity than the linear combination of "
            "rows where rows are compressed,",
            f"the linear combination takes {figures.spread(saved)} times the cycles of the "
            "multiply phase",
            figures.holds(min(saved) >= 1),
        ),
        Claim(
            "but requires an additional step for merging whole matrices into X.",
            f"both phases take {figures.spread(merged)} times the cycles of the linear combination",
            figures.holds(all(one.phases[1] > 0 for one in found)),
        ),
    ]


def draw(found: Sequence[Measured], folder: Path) -> None:
    """A bar by matrix and dataflow, on a logarithmic axis; OuterSPACE's has its merge phase told
    apart."""
    with figures.picture(folder, "figure16", 6.4, 2.9) as figure:
        axes = figure.subplots()
        places = range(len(found))
        for shift, (order, name), colour in zip((-1, 0), DATAFLOWS.items(), COLOURS, strict=False):
            at = [place + 0.27 * shift for place in places]
            heights = [one.cycles[order] for one in found]
            axes.bar(at, heights, 0.25, color=colour, label=f"{name} ({order})")
        at = [place + 0.27 for place in places]
        both = [sum(one.phases) for one in found]
        axes.bar(at, both, 0.25, color=COLOURS[2], label="OuterSPACE, both phases")
        style: dict[str, Any] = {"color": COLOURS[2], "hatch": "////", "edgecolor": "w", "lw": 0}
        multiplying = [one.phases[0] for one in found]
        axes.bar(at, multiplying, 0.25, **style, label="of which multiplying")
        ends = ([place - 0.42 for place in places], [place + 0.42 for place in places])
        axes.hlines([one.products for one in found], *ends, color="k", label="multiplications")
        axes.set(yscale="log", ylabel="cycles (log scale)")
        axes.set_xticks(places, [one.matrix for one in found])
        axes.set_ylim(bottom=100, top=10 * max(one.cycles["ijk"] for one in found))
        axes.legend(fontsize="x-small", frameon=False, loc="upper center", ncols=3)


if __name__ == "__main__":
    figures.leave(main)
