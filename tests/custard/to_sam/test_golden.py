"""The graphs of Table 1 of the SAM paper, which a person has read."""

from pathlib import Path

import pytest

from experiments import table1
from sam.graph import Graph

GOLDEN = Path(__file__).parent / "golden"
ROWS = {f"{row.name}_{row.order}".replace("*", "x"): row for row in table1.rows()}


def listed(graph: Graph) -> str:
    """A line for each block: its kind and parameters, and behind it where its inputs come from."""
    lines = []
    for node in graph.nodes:
        parameters = ", ".join(f"{name} {value}" for name, value in node.parameters.items())
        lines.append(f"{node.name}: {node.kind}({parameters})")
        inputs = [edge for edge in graph.edges if edge.target.node == node.name]
        lines += [f"    {edge.target.port} <- {edge.source}" for edge in inputs]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ROWS)
def test_golden(name, golden):
    row = ROWS[name]
    graph = table1.graph(row.expression, tuple(row.order))
    golden(GOLDEN / f"{name}.txt", f"{row.expression}\n\n{listed(graph)}")


def test_every_golden_file_belongs_to_a_test():
    assert {path.stem for path in GOLDEN.iterdir()} == set(ROWS)
