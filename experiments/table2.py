"""Table 2 of the SAM paper: the share of real programs that a primitive is needed for.

    python experiments/table2.py [--quick] [--corpus FILE] [--reference TABLES.json] [--out FOLDER]

Every distinct pair of an expression and formats of the corpus is lowered, in the order of its
``reorder`` if that is all that its schedule has. A program is lost without a primitive if its graph
uses it. The paper's lowering merges nothing where all operands are dense, and scatters nothing, so
a column counts ours alike: without such merges, and with a reducer for each sum that is scattered.

The programs are read from ``../shared/corpus/accepted.txt``; without that file there is no table.
``--quick`` has every twentieth pair. Writes ``table2.csv`` to ``out``, and prints the time that a
program takes to compile; exits with 1 where that is more than 50 ms in the median, or 1 s for one
program.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.language.formats import LEVEL_FORMATS
from experiments import figures
from experiments.taco_programs.entries import CORPUS, Entry, read
from sam.blocks import KINDS
from sam.graph import End, Graph, Node

PROGRAMS = CORPUS / "accepted.txt"
REFERENCE = figures.DATA / "sam_paper_tables.json"

PAPERS_EXPRESSIONS = 1745  # Section 6.2

MOST_SECONDS = 1.0
MOST_SECONDS_MEDIAN = 0.05
SLOWEST = 5


@dataclass(frozen=True)
class Row:
    """A row of the table.

    ``name``      the paper's
    ``ours``      the primitives; a graph with one of them is lost
    ``counted``   the share as the paper counts it
    ``why``       why ours and the paper's differ, beyond the set of programs
    """

    name: str
    ours: frozenset[str]
    counted: frozenset[str]
    why: str = ""


def _row(name: str, ours: str, counted: str = "", why: str = "") -> Row:
    return Row(name, frozenset(ours.split(", ")), frozenset((counted or ours).split(", ")), why)


ROWS = (
    _row("compressed level scanner", "compressed scanner"),
    _row("compressed and uncompressed level scanners", "compressed scanner, dense scanner"),
    _row("repeater", "repeater"),
    _row(
        "unioner",
        "unioner, dense unioner",
        counted="unioner",
        why="dense levels are united like any others",
    ),
    _row("intersecter, locator kept", "intersecter, dense intersecter", counted="intersecter"),
    _row(
        "intersecter and locator",
        "intersecter, dense intersecter, locator, dense locator",
        counted="intersecter, locator",
        why="of two dense operands, one is located at the coordinates of the other",
    ),
    _row("adder", "adder"),
    _row("multiplier", "multiplier"),
    _row(
        "reducer",
        "reducer",
        counted="reducer, scattering writer",
        why="a sum over a loop around those of a dense result is scattered into the result",
    ),
    _row("coordinate dropper", "coordinate_dropper"),
    _row("compressed level writer", "compressed writer"),
    _row("compressed and uncompressed level writers", "compressed writer, dense writer"),
)


@dataclass(frozen=True)
class Lowered:
    """A program of the corpus, the primitives of its graph, and the seconds that it took."""

    entry: Entry
    primitives: frozenset[str]
    seconds: float


def distinct(entries: Sequence[Entry]) -> list[Entry]:
    """The first entry of each pair of expression and formats."""
    found: dict[tuple[str, frozenset[str]], Entry] = {}
    for entry in entries:
        found.setdefault((entry.expression, frozenset(entry.formats)), entry)
    return list(found.values())


def lowered(entry: Entry) -> Lowered:
    """Compiles a program three times; the shortest time counts. Raises UserError."""
    formats = dict(text.split(":", 1) for text in entry.formats)
    schedule = entry.schedule if entry.commands == "reorder" else ()
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        graph = custard.compile(entry.expression, formats, schedule).graph
        seconds.append(time.perf_counter() - started)
    return Lowered(entry, primitives(graph), min(seconds))


def primitives(graph: Graph) -> frozenset[str]:
    """The primitives of a graph, by the names in ``ROWS``."""
    levels = _Levels(graph)
    return frozenset(_primitive(node, levels) for node in graph.nodes)


def _primitive(node: Node, levels: _Levels) -> str:
    match node.kind:
        case "level_scanner" | "bitvector_scanner":
            return f"{'dense' if levels.is_scanned_full(node) else 'compressed'} scanner"
        case "level_writer":
            full = LEVEL_FORMATS[node.parameters["format"]].full
            return f"{'dense' if full else 'compressed'} writer"
        case "value_writer":
            return f"{'scattering' if node.parameters.get('accumulate') else 'value'} writer"
        case "intersecter" | "unioner" | "locator":
            return f"dense {node.kind}" if levels.merges_full(node) else node.kind
        case "alu":
            units = {"add": "adder", "subtract": "adder", "multiply": "multiplier"}
            return units.get(node.parameters["operation"], "other unit")
    return KINDS[node.kind].primitive or node.kind


class _Levels:
    """The coordinate streams of a graph that hold whole dimensions, as full levels are scanned."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = {node.name: node for node in graph.nodes}
        self.slots = {slot.name: slot for slot in graph.slots}
        self.sources: dict[str, list[End]] = {}
        for edge in graph.edges:
            if edge.target.port.startswith("in_crd"):
                self.sources.setdefault(edge.target.node, []).append(edge.source)

    def is_scanned_full(self, scanner: Node) -> bool:
        slot = self.slots.get(scanner.parameters.get("slot"))
        return slot is None or LEVEL_FORMATS[slot.levels[scanner.parameters["level"]]].full

    def merges_full(self, merger: Node) -> bool:
        return all(self._is_full(source) for source in self.sources[merger.name])

    def _is_full(self, source: End) -> bool:
        node = self.nodes[source.node]
        if node.kind == "level_scanner":
            return self.is_scanned_full(node)
        if node.kind == "unioner":
            return any(self._is_full(other) for other in self.sources[node.name])
        return node.kind in ("intersecter", "locator") and self.merges_full(node)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; the exit status tells whether all compile fast enough."""
    assert __doc__
    options = figures.arguments(
        __doc__,
        argv,
        ("--corpus", PROGRAMS, "the programs, a command line of TACO in each line"),
        ("--reference", REFERENCE, "the numbers of the paper's tables"),
    )
    if not figures.is_there(options.corpus, PROGRAMS, "Table 2 is"):
        return 0
    paper = json.loads(options.reference.read_text())["table2"]
    entries = distinct(read(options.corpus)[0])[:: 20 if options.quick else 1]
    programs, refused = [], []
    for entry in track(entries, "Lowering", console=Console(stderr=True), transient=True):
        try:
            programs.append(lowered(entry))
        except custard.UserError as error:
            refused.append((entry, error))
    console = Console(width=120, emoji=False, highlight=False)
    console.print(_table(programs, paper["rows"]))
    console.print(_about_the_set(programs, paper["total_unique"]))
    for entry, error in refused:
        console.print(f"Refused: {error.what}\n  {entry.text}", soft_wrap=True, markup=False)
    header = ("primitive removed", "paper %", "ours counted alike %", "ours %")
    figures.write_csv(options.out / "table2.csv", header, _lines(programs, paper["rows"]))
    return _tell_times(console, programs)


def _table(programs: Sequence[Lowered], paper: Mapping[str, Sequence[Any]]) -> Table:
    table = Table(title="Table 2: programs lost without a primitive, in percent")
    table.add_column("primitive removed")
    for name in ("paper", "ours, counted alike", "ours"):
        table.add_column(name, justify="right")
    table.add_column("in our lowering")
    for row in ROWS:
        shares = (_share(programs, row.counted), _share(programs, row.ours))
        table.add_row(
            row.name, f"{paper[row.name][2]:.2f}", *(f"{share:.2f}" for share in shares), row.why
        )
    return table


def _about_the_set(programs: Sequence[Lowered], papers: int) -> str:
    expressions = len({program.entry.expression for program in programs})
    return (
        f"The set: {len(programs):,} distinct pairs of an expression and formats, of "
        f"{expressions:,} expressions ({len(programs) / expressions:.1f} pairs to one). The "
        f"paper's has {papers:,} pairs, of {PAPERS_EXPRESSIONS:,} expressions "
        f"({papers / PAPERS_EXPRESSIONS:.1f} to one), and is not published. Where ours, counted "
        "alike, differ from the paper's, the set differs, unless a reason stands beside them."
    )


def _share(programs: Sequence[Lowered], away: frozenset[str]) -> float:
    return 100 * sum(bool(program.primitives & away) for program in programs) / len(programs)


def _lines(
    programs: Sequence[Lowered], paper: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, ...]]:
    for row in ROWS:
        shares = (_share(programs, row.counted), _share(programs, row.ours))
        yield (row.name, paper[row.name][2], *(f"{share:.2f}" for share in shares))


def _tell_times(console: Console, programs: Sequence[Lowered]) -> int:
    """Prints how long programs take to compile; 1 where that is too long."""
    slowest = sorted(programs, key=lambda program: -program.seconds)[:SLOWEST]
    median = statistics.median(program.seconds for program in programs)
    console.print(
        f"\nCompile time: {1000 * median:.2f} ms in the median (limit "
        f"{1000 * MOST_SECONDS_MEDIAN:.0f}), {1000 * slowest[0].seconds:.1f} ms at most (limit "
        f"{1000 * MOST_SECONDS:.0f}). The slowest:"
    )
    for program in slowest:
        line = f"{1000 * program.seconds:6.1f} ms  {program.entry.expression}"
        console.print(line, soft_wrap=True, markup=False)
    return 0 if median < MOST_SECONDS_MEDIAN and slowest[0].seconds < MOST_SECONDS else 1


if __name__ == "__main__":
    figures.leave(main)
