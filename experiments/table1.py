"""Table 1 of the SAM paper: the number of each primitive that an expression needs, the paper's and
ours.

    python experiments/table1.py [--quick] [--reference TABLES.json] [--out FOLDER]

All operands are compressed, and stored in the order of the loops, which is alphabetical.
Sparse matrix multiplication is lowered in all six loop orders: the paper leaves 0 to 2 droppers by
order, and here it says which. That takes a second: ``--quick`` leaves nothing out. Writes
``table1.csv`` to ``out``; exits with 1 where a count differs.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.language import notation
from experiments import figures
from sam.blocks import primitives
from sam.graph import Graph

REFERENCE = figures.DATA / "sam_paper_tables.json"


@dataclass(frozen=True)
class Row:
    """The primitive counts of one expression in one loop order; the paper's may be a range."""

    name: str
    expression: str
    order: str
    paper: Mapping[str, int | str]
    ours: Mapping[str, int]

    def agrees(self, primitive: str) -> bool:
        """Whether our count is the paper's, or in its range."""
        paper = self.paper[primitive]
        if isinstance(paper, int):
            return self.ours.get(primitive, 0) == paper
        lowest, highest = paper.split()[0].split("-")
        return int(lowest) <= self.ours.get(primitive, 0) <= int(highest)


def rows(reference: Path = REFERENCE) -> list[Row]:
    """Lowers every expression of the table."""
    table = json.loads(reference.read_text())["table1"]
    found = []
    for name, (expression, *counts) in table["rows"].items():
        paper = dict(zip(table["columns"], counts, strict=True))
        for order in _orders(expression, paper):
            ours = primitives(graph(expression, order))
            found.append(Row(name, expression, "".join(order), paper, ours))
    return found


def graph(expression: str, order: Sequence[str]) -> Graph:
    """The graph of an expression in a loop order."""
    schedule = [f"reorder({','.join(order)})"] if order else []
    return custard.compile(expression, _formats(expression, order), schedule).graph


def _orders(expression: str, paper: Mapping[str, int | str]) -> list[tuple[str, ...]]:
    """The alphabetical loop order; all orders where the paper's counts depend on it."""
    accesses = notation.accesses(notation.parse(expression))
    variables = sorted({index.name for access in accesses for index in access.indices})
    if any(isinstance(count, str) for count in paper.values()):
        return list(itertools.permutations(variables))
    return [tuple(variables)]


def _formats(expression: str, order: Sequence[str]) -> dict[str, str]:
    """All levels compressed, each tensor stored in the order of the loops."""
    formats = {}
    for access in notation.accesses(notation.parse(expression)):
        names = [index.name for index in access.indices]
        modes = sorted(range(len(names)), key=lambda mode: order.index(names[mode]))
        formats[access.tensor] = f"{'s' * len(names)}:{','.join(map(str, modes))}"
    return formats


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; the exit status tells whether all counts agree."""
    assert __doc__
    options = figures.arguments(
        __doc__, argv, ("--reference", REFERENCE, "the numbers of the paper's tables")
    )
    found = rows(options.reference)
    primitives = list(found[0].paper)
    table = Table(title="Table 1: primitives, the paper's / ours")
    for column in ("", "expression", "order", *(name.replace("_", " ") for name in primitives)):
        table.add_column(column)
    for row in found:
        cells = (_cell(row, primitive) for primitive in primitives)
        table.add_row(row.name, row.expression, row.order, *cells)
    Console(width=180).print(table)
    header = ("name", "expression", "order", "primitive", "paper", "ours")
    figures.write_csv(options.out / "table1.csv", header, _lines(found, primitives))
    return 0 if all(row.agrees(primitive) for row in found for primitive in primitives) else 1


def _cell(row: Row, primitive: str) -> str:
    paper, ours = row.paper[primitive], row.ours.get(primitive, 0)
    text = f"{paper if isinstance(paper, int) else paper.split()[0]} / {ours}"
    return text if row.agrees(primitive) else f"[bold red]{text}[/]"


def _lines(found: Sequence[Row], primitives: Sequence[str]) -> Iterator[tuple[str | int, ...]]:
    for row in found:
        for primitive in primitives:
            counts = (row.paper[primitive], row.ours.get(primitive, 0))
            yield (row.name, row.expression, row.order, primitive, *counts)


if __name__ == "__main__":
    figures.leave(main)
