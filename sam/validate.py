"""Checks a graph before anything runs it, and tells what each edge carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from sam.blocks import KINDS, Port, block_of
from sam.graph import Edge, Graph, Node
from sam.levels import LEVELS
from sam.support.errors import UserError, one_of


@dataclass(frozen=True)
class Stream:
    """What an edge carries: "crd", "ref", "val" or "bv", nested to a depth unless it is a wire."""

    kind: str
    depth: int
    wire: bool = False
    feedback: bool = False


def validate(graph: Graph) -> Mapping[Edge, Stream]:
    """The stream on each edge of a sound graph.

    Raises UserError, naming the node, slot or edge, for: a slot whose levels are unknown or not as
    many as its modes, a node named twice, an unknown kind, slot, level or port, a parameter that
    its kind does not take or that is missing or wrong, an input with no producer
    or with two, a loop without a wire or feedback, an input that takes another kind of stream or
    another depth than it gets.
    """
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        if node.name in nodes:
            raise UserError(f"two nodes of the graph are named {node.name}")
        if node.kind not in KINDS:
            raise UserError(
                f"node {node.name} is of the unknown kind {node.kind}",
                hint=one_of(node.kind, KINDS),
            )
        nodes[node.name] = node
    ports = {
        name: {port.name: port for port in block_of(node).ports} for name, node in nodes.items()
    }
    _check_slots(graph)
    _check_ends(graph, ports)
    return _streams(graph, ports)


def _check_slots(graph: Graph) -> None:
    given = [*graph.slots, *([] if graph.result is None else [graph.result.slot])]
    for one in given:
        if not len(one.levels) == len(one.modes) == len(one.variables):
            raise UserError(f"slot {one.name} has not as many levels as modes and variables")
        for code in one.levels:
            if code not in LEVELS:
                raise UserError(
                    f"slot {one.name} has the unknown level format {code}",
                    hint=one_of(code, LEVELS),
                )
    slots = {one.name: one for one in given}
    for node in graph.nodes:
        slot, level = node.parameters.get("slot"), node.parameters.get("level", 0)
        if slot is None:
            continue
        if slot not in slots:
            raise UserError(
                f"node {node.name} names the unknown slot {slot}", hint=one_of(slot, slots)
            )
        levels = len(slots[slot].levels) + (node.kind == "tile_loader")
        if "level" in node.parameters and level >= levels:
            raise UserError(f"node {node.name}: slot {slot} has no level {level}")


def _check_ends(graph: Graph, ports: Mapping[str, Mapping[str, Port]]) -> None:
    fed = set()
    for edge in graph.edges:
        for end, direction in ((edge.source, "out"), (edge.target, "in")):
            if end.node not in ports:
                raise UserError(
                    f"edge {edge} names the unknown node {end.node}", hint=one_of(end.node, ports)
                )
            names = [port.name for port in ports[end.node].values() if port.direction == direction]
            if end.port not in names:
                raise UserError(
                    f"edge {edge} names an unknown {direction}put port of {end.node}",
                    hint=one_of(end.port, names),
                )
        if edge.target in fed:
            raise UserError(f"input {edge.target} has two producers")
        fed.add(edge.target)
    for node, of_node in ports.items():
        for port in of_node.values():
            if port.direction == "in" and not any(
                end.node == node and end.port == port.name for end in fed
            ):
                raise UserError(f"input {node}.{port.name} has no producer")


def _streams(graph: Graph, ports: Mapping[str, Mapping[str, Port]]) -> Mapping[Edge, Stream]:
    into: dict[str, list[Edge]] = {name: [] for name in ports}
    out_of: dict[str, list[Edge]] = {name: [] for name in ports}
    for edge in graph.edges:
        port = ports[edge.target.node][edge.target.port]
        if not (port.wire or port.feedback):
            into[edge.target.node].append(edge)
        out_of[edge.source.node].append(edge)
    sorter = TopologicalSorter({name: [e.source.node for e in into[name]] for name in ports})
    try:
        order = list(sorter.static_order())
    except CycleError as loop:
        raise UserError("the graph has a loop: " + " -> ".join(reversed(loop.args[1]))) from None
    streams: dict[Edge, Stream] = {}
    for name in order:
        base = None
        for edge in into[name]:
            port, stream = ports[name][edge.target.port], streams[edge]
            if base is None:
                base = stream.depth - port.depth
            if base != stream.depth - port.depth or base < 0:
                raise UserError(
                    f"edge {edge} has depth {stream.depth}, "
                    f"and the other inputs of {name} ask for depth {max(base, 0) + port.depth}"
                )
        for edge in out_of[name]:
            port, target = (ports[e.node][e.port] for e in (edge.source, edge.target))
            if target.stream not in ("any", port.stream):
                raise UserError(f"edge {edge} carries {port.stream} into a {target.stream} port")
            depth = (base or 0) + port.depth
            streams[edge] = Stream(port.stream, depth, target.wire, target.feedback)
    return streams
