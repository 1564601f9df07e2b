"""A graph with a scanner that skips: another way to the same result that a graph by itself has.

An intersecter tells the scanner of an operand which coordinate it needs next (Section 4.2 of the
SAM paper). The result stays as it is if nothing else reads what the scanner gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sam.blocks import block_of
from sam.blocks.merge import INTERSECTER
from sam.blocks.scan import LEVEL_SCANNER
from sam.graph import Edge, End, Graph, Node


@dataclass(frozen=True)
class Skipping:
    """A ``graph`` in which one more ``scanner`` skips, as an ``intersecter`` asks.

    ``operand`` is the number of the scanner's operand there.
    """

    graph: Graph
    scanner: str
    intersecter: str
    operand: int

    @property
    def what(self) -> str:
        """The change in words."""
        return f"{self.scanner} skipping as {self.intersecter} asks"

    @property
    def how(self) -> tuple[str, ...]:
        """What is to be written in the graph for it: two parameters and an edge."""
        skips = list(self.graph.node(self.intersecter).parameters["skips"])
        return (
            f'{self.scanner}: "skips": true',
            f'{self.intersecter}: "skips": {skips}',
            f"{_wire(self.intersecter, self.operand, self.scanner)}",
        )


def skippings(graph: Graph) -> Iterator[Skipping]:
    """A graph with each scanner of a tensor skipping that can, and does not yet."""
    nodes = {node.name: node for node in graph.nodes}
    for edge in graph.edges:
        merger = nodes[edge.target.node]
        number = edge.target.port.removeprefix("in_crd")
        if merger.kind == INTERSECTER.name and number.isdecimal():
            scanner = nodes[edge.source.node]
            if _can_skip(graph, scanner, merger, int(number)):
                yield _skipping(graph, scanner, merger, int(number))


def _can_skip(graph: Graph, scanner: Node, merger: Node, operand: int) -> bool:
    """Whether a node is a scanner of a tensor that does not skip, read by that operand alone."""
    if scanner.kind != LEVEL_SCANNER.name or "slot" not in scanner.parameters:
        return False
    ports = [port.name for port in block_of(merger).ports if port.operand == operand]
    readers = [edge.target for edge in graph.edges if edge.source.node == scanner.name]
    own = {End(merger.name, port) for port in ports}
    return not scanner.parameters.get("skips", False) and own.issuperset(readers)


def _skipping(graph: Graph, scanner: Node, merger: Node, operand: int) -> Skipping:
    skips = [*merger.parameters.get("skips", ()), operand]
    changed = {
        scanner.name: replace(scanner, parameters={**scanner.parameters, "skips": True}),
        merger.name: replace(merger, parameters={**merger.parameters, "skips": skips}),
    }
    nodes = tuple(changed.get(node.name, node) for node in graph.nodes)
    edges = (*graph.edges, _wire(merger.name, operand, scanner.name))
    other = replace(graph, nodes=nodes, edges=edges)
    return Skipping(other, scanner.name, merger.name, operand)


def _wire(intersecter: str, operand: int, scanner: str) -> Edge:
    return Edge(End(intersecter, f"skip{operand}"), End(scanner, "in_skip"))
