"""The types of the values in a graph, by numpy's promotion rules.

Each operation has the type of its operands, and a sum over a variable the type of its summands. A
product and the sums over it are one ``numpy.einsum``: if the types of its factors differ,
everything is multiplied and summed in the type of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sam.arithmetic import ValueType, result_type, summed
from sam.blocks import Block
from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sam.tensor import Tensor
from sam.validate import Stream, validated

# The type of the values that arrive at a port, and the node that made them.
Made = tuple[ValueType, str]


@dataclass(frozen=True)
class ValueTypes:
    """The types of values.

    ``nodes``  by node, of those that it computes, stores or passes on first
    ``ends``   by output, of those that it gives: a merger passes on values of several types
    """

    nodes: Mapping[str, np.dtype[Any]]
    ends: Mapping[End, np.dtype[Any]]


def value_types(
    graph: Graph, streams: Mapping[Edge, Stream], tensors: Mapping[str, Tensor]
) -> ValueTypes:
    """The types of the values that nodes give or store.

    ``tensors`` are those in the slots of the graph; ``streams`` must have the edges into a node
    before those out of it. Raises UserError for an operation that a type does not have.
    """
    mixed = len({tensor.dtype for tensor in tensors.values()}) > 1
    blocks = validated(graph).blocks
    wider: dict[str, ValueType] = {}
    while True:
        values = _Inference(graph, streams, tensors, blocks, wider)
        found = values.wider() if mixed else {}
        if not found:
            return values.found()
        wider |= found


class _Inference:
    """The values in a graph, where some nodes have a ``wider`` type than their operands."""

    def __init__(
        self,
        graph: Graph,
        streams: Mapping[Edge, Stream],
        tensors: Mapping[str, Tensor],
        blocks: Mapping[str, Block],
        wider: Mapping[str, ValueType],
    ) -> None:
        self.nodes = {node.name: node for node in graph.nodes}
        self.blocks = blocks
        self.slots = {slot.name: slot for slot in graph.slots}
        self.tensors, self.known = tensors, wider
        self.arriving: dict[str, dict[str, Made]] = {name: {} for name in self.nodes}
        self.ends: dict[End, ValueType] = {}
        for edge, stream in streams.items():
            if stream.kind == "val":
                self.require_known(edge)
                made = self.given(self.nodes[edge.source.node], edge.source.port)
                self.ends[edge.source], _ = made
                self.arriving[edge.target.node][edge.target.port] = made
        self.types = {name: self.given(node, "val")[0] for name, node in self.nodes.items()}

    def found(self) -> ValueTypes:
        """The types, with those of numbers of the program that no type has met."""
        nodes = {name: np.result_type(type) for name, type in self.types.items()}
        return ValueTypes(nodes, {end: np.result_type(type) for end, type in self.ends.items()})

    def require_known(self, edge: Edge) -> None:
        """Raises UserError for values of a block that takes none and declares no type for them."""
        name = edge.source.node
        values = self.blocks[name].values
        declared = (values.slot, values.number, values.operation)
        if not self.arriving[name] and declared == (None, None, None):
            raise UserError(
                f"node {name} gives values of no known type: it takes none",
                hint="declare their type, as in Block(..., values=Values(number=0.0))",
            )

    def given(self, node: Node, port: str) -> Made:
        """The type of the values that a node gives on a port."""
        name, types = node.name, self.arriving[node.name]
        if name in self.known:
            return self.known[name], name
        block = self.blocks[name]
        values = block.values
        if values.slot is not None:
            slot = self.slots[values.slot]
            type = self.tensors[slot.name].dtype if slot.constant is None else slot.constant
            return type, name
        if values.number is not None:
            return values.number, name
        if values.operation is not None:
            return result_type(values.operation, *(type for type, _ in types.values())), name
        passed = (source for one in block.ports if one.name == port for source in one.of)
        first = next((source for source in passed if source in types), None)
        found: Made = types[first] if first else next(iter(types.values()), (0, name))
        return (summed(found[0]), name) if values.sums else found

    def wider(self) -> dict[str, ValueType]:
        """The nodes that must compute in the type of the product or sum that reads them.

        They are products that are summed or have a sum among their factors, factors of such
        products, and sums that are factors.
        """
        totals = self.totals()
        summed = self.products(totals)
        found: dict[str, ValueType] = {}
        for node in reversed(self.nodes.values()):
            sums = self.blocks[node.name].values.sums or node.name in summed
            for _, source in self.arriving[node.name].values():
                if sums and self.multiplies(source):
                    summed.add(source)
                elif source not in totals or not (
                    sums or self.multiplies(node.name) or node.name in totals
                ):
                    continue
                if np.result_type(self.types[source]) != np.result_type(self.types[node.name]):
                    found[source] = self.types[node.name]
        return found

    def totals(self) -> set[str]:
        """The nodes that sum."""
        return {name for name in self.nodes if self.blocks[name].values.sums}

    def products(self, totals: set[str]) -> set[str]:
        """The nodes that multiply some of the ``totals``, or a product of such."""
        found: set[str] = set()
        for name in filter(self.multiplies, self.nodes):
            if self.sources(name) & (totals | found):
                found.add(name)
        return found

    def sources(self, name: str) -> set[str]:
        """The nodes that made the values that arrive at a node."""
        return {source for _, source in self.arriving[name].values()}

    def multiplies(self, name: str) -> bool:
        """Whether a node multiplies."""
        return self.blocks[name].values.operation == "multiply"
