"""The lanes of a graph: which blocks stand in which lane, and which are copies of each other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from sam.blocks import KINDS
from sam.graph import Edge, Graph, Node

Lane = tuple[str, int]
"""A lane: the name of the block that deals to it, and its number."""


def dealers(graph: Graph) -> list[Node]:
    """The blocks that deal to lanes, in the order of the graph: outer loops first."""
    return [n for n in graph.nodes if n.kind in KINDS and KINDS[n.kind].deals]


def lanes_of(graph: Graph) -> dict[str, Lane | None]:
    """The lane of each block that one lane alone leads to, that of the innermost loop with lanes.

    Blocks outside of lanes have None.
    """
    readers: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        readers.setdefault(edge.source.node, []).append(edge)
    found: dict[str, dict[str, set[int]]] = {node.name: {} for node in graph.nodes}
    for dealer in dealers(graph):
        for first in readers.get(dealer.name, []):
            number = first.source.port.rpartition("_")[2].removeprefix("crd")
            if not number.isdecimal():
                continue
            waiting = [first.target.node]
            while waiting:
                name = waiting.pop()
                lanes = found[name].setdefault(dealer.name, set())
                if int(number) not in lanes:
                    lanes.add(int(number))
                    waiting += [edge.target.node for edge in readers.get(name, [])]
    alone = {
        name: [(dealer, min(lanes)) for dealer, lanes in of.items() if len(lanes) == 1]
        for name, of in found.items()
    }
    return {name: lanes[-1] if lanes else None for name, lanes in alone.items()}


def copies(graph: Graph) -> list[list[str]]:
    """The names of blocks that do the same work in all lanes of a loop, for each such work."""
    names = [one.name for one in dealers(graph)]
    lanes = lanes_of(graph) if names else {}
    found = {name: _alike(name, graph, lanes) for name in names}
    for name in names:
        for group in found.get(name, []):
            if group[0] in found:
                # Lanes in lanes: the blocks of inner lanes are copies across the outer ones, too.
                inner = [found.pop(one) for one in group]
                found[group[0]] = [[*chain(*alike)] for alike in zip(*inner, strict=False)]
    return [group for groups in found.values() for group in groups]


def _alike(dealer: str, graph: Graph, lanes: Mapping[str, Lane | None]) -> list[list[str]]:
    """Blocks at the same place in the lanes of a dealer; none if the lanes are not alike."""
    inside: dict[int, list[Node]] = {}
    for node in graph.nodes:
        lane = lanes[node.name]
        if lane is not None and lane[0] == dealer:
            inside.setdefault(lane[1], []).append(node)
    if len({tuple(node.kind for node in nodes) for nodes in inside.values()}) != 1:
        return []
    return [[node.name for node in group] for group in zip(*inside.values(), strict=True)]
