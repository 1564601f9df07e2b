"""A graph under construction: nodes are added one by one, each with its inputs.

The functions that add a node of one kind live beside the block of that kind (``sam.blocks``), so
the names of its ports and parameters stand in one file; they take a ``GraphBuilder`` first and
give the ends of the node's outputs.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sam.graph import Edge, End, Node


@dataclass(frozen=True)
class NodeOutputs:
    """The output ports of a node, by name."""

    node: str

    def __getitem__(self, port: str) -> End:
        return End(self.node, port)


class GraphBuilder:
    """The nodes and edges of a graph under construction, in the order in which they were added."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []

    def add(
        self, kind: str, name: str, parameters: Mapping[str, Any] | None = None, **inputs: End
    ) -> NodeOutputs:
        """Adds a node; its input port ``in_x`` reads ``inputs["x"]``. Gives its output ports.

        If the name is taken, a number is appended to it.
        """
        name = unused(name, self.nodes)
        self.nodes[name] = Node(name, kind, dict(parameters or {}))
        self.edges += [Edge(source, End(name, f"in_{port}")) for port, source in inputs.items()]
        return NodeOutputs(name)

    def connect(self, source: End, target: str, port: str, **parameters: Any) -> None:
        """Connects a stream to one more input port of a node, and changes parameters of it."""
        node = self.nodes[target]
        self.nodes[target] = replace(node, parameters={**node.parameters, **parameters})
        self.edges.append(Edge(source, End(target, port)))

    def readers(self, source: End) -> list[Node]:
        """The nodes that read a stream."""
        return [self.nodes[edge.target.node] for edge in self.edges if edge.source == source]

    def prune(self, kept: Container[str]) -> None:
        """Removes the nodes from which no path leads to a node of a kind in ``kept``."""
        feeders: dict[str, list[str]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            feeders[edge.target.node].append(edge.source.node)
        waiting = [name for name, node in self.nodes.items() if node.kind in kept]
        used: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in used:
                used.add(name)
                waiting += feeders[name]
        self.nodes = {name: node for name, node in self.nodes.items() if name in used}
        self.edges = [edge for edge in self.edges if edge.target.node in used]


def unused(base: str, taken: Container[str]) -> str:
    """A name that is not taken: the base, followed by a number if needed."""
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    return name
