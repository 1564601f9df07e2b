"""The types of the values in a graph, by numpy's promotion rules.

Each operation has the type of its operands, and a sum over a variable that of what is summed. A
product and the sums over it are one ``numpy.einsum``: where the types of its factors differ, all is
multiplied and summed in the type of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sam.blocks.arithmetic import ValueType, result_type
from sam.graph import Edge, Graph, Node
from sam.tensor import Tensor
from sam.token import parse_stream
from sam.validate import Stream

# The type of the values that arrive at a port, and the node that made them.
Made = tuple[ValueType, str]


def value_types(
    graph: Graph, streams: Mapping[Edge, Stream], tensors: Mapping[str, Tensor]
) -> dict[str, np.dtype[Any]]:
    """The type of the values that each node gives or stores.

    ``tensors`` are those in the slots of the graph; ``streams`` must have the edges into a node
    before those out of it. Raises UserError for an operation that a type does not have.
    """
    mixed = len({tensor.dtype for tensor in tensors.values()}) > 1
    wider: dict[str, ValueType] = {}
    while True:
        values = _Values(graph, streams, tensors, wider)
        found = values.wider() if mixed else {}
        if not found:
            return {name: np.result_type(type) for name, type in values.types.items()}
        wider |= found


class _Values:
    """The values in a graph, where some nodes have a ``wider`` type than their operands."""

    def __init__(
        self,
        graph: Graph,
        streams: Mapping[Edge, Stream],
        tensors: Mapping[str, Tensor],
        wider: Mapping[str, ValueType],
    ) -> None:
        self.nodes = {node.name: node for node in graph.nodes}
        self.slots = {slot.name: slot for slot in graph.slots}
        self.tensors, self.known = tensors, wider
        self.arriving: dict[str, dict[str, Made]] = {name: {} for name in self.nodes}
        for edge, stream in streams.items():
            if stream.kind == "val":
                made = self.given(self.nodes[edge.source.node], edge.source.port)
                self.arriving[edge.target.node][edge.target.port] = made
        self.types = {name: self.given(node, "val")[0] for name, node in self.nodes.items()}

    def given(self, node: Node, port: str) -> Made:
        """What a node gives on a port."""
        name, types = node.name, self.arriving[node.name]
        if name in self.known:
            return self.known[name], name
        if node.kind == "array":
            slot = self.slots[node.parameters["slot"]]
            type = self.tensors[slot.name].dtype if slot.constant is None else slot.constant
            return type, name
        if node.kind == "source":
            numbers = [value for kind, value in parse_stream(node.parameters["tokens"])]
            return next((value for value in numbers if not isinstance(value, int)), 0), name
        if node.kind == "alu":
            operands = (type for type, _ in types.values())
            return result_type(node.parameters["operation"], *operands), name
        found: Made = next(iter(types.values()), (0, name))
        stream, _, _ = port.rpartition("_")
        for source in (port, stream, f"{port}_0"):
            if f"in_{source}" in types:
                found = types[f"in_{source}"]
                break
        return (found[0], name) if node.kind == "reducer" else found

    def wider(self) -> dict[str, ValueType]:
        """The nodes that must compute in the type of what is made of them.

        These are products that are summed, factors of such, and sums that are factors.
        """
        summed: set[str] = set()
        found: dict[str, ValueType] = {}
        for node in reversed(self.nodes.values()):
            sums = node.kind == "reducer" or node.parameters.get("accumulate", False)
            sums = sums or node.name in summed
            for _, source in self.arriving[node.name].values():
                if sums and self.multiplies(source):
                    summed.add(source)
                elif self.nodes[source].kind != "reducer" or not (
                    sums or self.multiplies(node.name)
                ):
                    continue
                if self.types[source] != self.types[node.name]:
                    found[source] = self.types[node.name]
        return found

    def multiplies(self, name: str) -> bool:
        """Whether a node multiplies."""
        node = self.nodes[name]
        return node.kind == "alu" and node.parameters["operation"] == "multiply"
