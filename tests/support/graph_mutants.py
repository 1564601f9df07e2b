"""Mutants of graphs that are graphs by their form, and wrong, or odd, by what they mean.

    require_survival(use, [pickle.dumps(graph)], mutate_graph)

They are pickled, as DOT takes a hundred times as long to read. Each has one to three changes:
edges rewired among ports of the same kind of stream, nodes and edges that go or come twice,
parameters, slots, result and extents that are swapped with those of others or changed a little.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sam.blocks import KINDS
from sam.graph import Edge, End, Graph, Node, Slot
from sam.levels import LEVELS
from sam.support.errors import UserError

Change = Callable[[random.Random, Graph], Graph]

_TEXTS = ("", "i", "j", "k", "b", "x", "A", "coordinates", "zeros", "absent", "drop", "zero")


def mutate_graph(draw: random.Random, valid: Sequence[bytes]) -> bytes:
    """One of the valid graphs with some changes."""
    graph: Graph = pickle.loads(draw.choice(valid))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        graph = draw.choice(_CHANGES)(draw, graph)
    return pickle.dumps(graph)


def _kind_of(graph: Graph, end: End, direction: str) -> str:
    """The kind of stream of a port; "any" for one that cannot be told."""
    try:
        node = graph.node(end.node)
        ports = KINDS[node.kind].ports(node.parameters)
    except (KeyError, UserError, TypeError, ValueError, IndexError):
        return "any"
    return next((p.stream for p in ports if (p.name, p.direction) == (end.port, direction)), "any")


def _rewire(draw: random.Random, graph: Graph) -> Graph:
    """Another source, of the same kind of stream, for an edge."""
    if not graph.edges:
        return graph
    edges = list(graph.edges)
    n = draw.randrange(len(edges))
    kind = _kind_of(graph, edges[n].source, "out")
    ends = [
        End(node.name, port.name)
        for node in graph.nodes
        for port in _ports(node)
        if port.direction == "out" and port.stream == kind
    ]
    if ends:
        edges[n] = Edge(draw.choice(ends), edges[n].target)
    return replace(graph, edges=tuple(edges))


def _ports(node: Node) -> Sequence[Any]:
    try:
        return KINDS[node.kind].ports(node.parameters)
    except (KeyError, UserError, TypeError, ValueError, IndexError):
        return ()


def _cross(draw: random.Random, graph: Graph) -> Graph:
    """Two edges of the same kind of stream that swap their targets."""
    edges = list(graph.edges)
    if len(edges) < 2:
        return graph
    n = draw.randrange(len(edges))
    kind = _kind_of(graph, edges[n].source, "out")
    alike = [k for k, e in enumerate(edges) if _kind_of(graph, e.source, "out") == kind]
    k = draw.choice(alike)
    first, second = edges[n], edges[k]
    edges[n] = Edge(first.source, second.target)
    edges[k] = Edge(second.source, first.target)
    return replace(graph, edges=tuple(edges))


def _lose_edge(draw: random.Random, graph: Graph) -> Graph:
    edges = list(graph.edges)
    if edges:
        del edges[draw.randrange(len(edges))]
    return replace(graph, edges=tuple(edges))


def _lose_node(draw: random.Random, graph: Graph) -> Graph:
    if not graph.nodes:
        return graph
    gone = draw.choice(graph.nodes).name
    return replace(
        graph,
        nodes=tuple(node for node in graph.nodes if node.name != gone),
        edges=tuple(e for e in graph.edges if gone not in (e.source.node, e.target.node)),
    )


def _double_node(draw: random.Random, graph: Graph) -> Graph:
    """A node again, with the same inputs, of which another node may read."""
    if not graph.nodes:
        return graph
    node = draw.choice(graph.nodes)
    twin = replace(node, name=f"{node.name}_again{draw.randrange(100)}")
    edges = [
        Edge(e.source, End(twin.name, e.target.port))
        for e in graph.edges
        if e.target.node == node.name
    ]
    moved = [
        Edge(End(twin.name, e.source.port), e.target)
        if e.source.node == node.name and draw.random() < 0.5
        else e
        for e in graph.edges
    ]
    return replace(graph, nodes=(*graph.nodes, twin), edges=(*moved, *edges))


def _swap_parameters(draw: random.Random, graph: Graph) -> Graph:
    """Two nodes of the same kind that swap a parameter, or all."""
    if not graph.nodes:
        return graph
    nodes = list(graph.nodes)
    n = draw.randrange(len(nodes))
    alike = [k for k, node in enumerate(nodes) if node.kind == nodes[n].kind]
    k = draw.choice(alike)
    one, other = nodes[n].parameters, nodes[k].parameters
    names = draw.choice([[*one], [draw.choice([*one])]]) if one else []
    nodes[n] = replace(nodes[n], parameters={**one, **_only(other, names)})
    nodes[k] = replace(nodes[k], parameters={**other, **_only(one, names)})
    return replace(graph, nodes=tuple(nodes))


def _only(parameters: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: parameters[name] for name in names if name in parameters}


def _change_parameter(draw: random.Random, graph: Graph) -> Graph:
    having = [n for n, node in enumerate(graph.nodes) if node.parameters]
    if not having:
        return graph
    nodes = list(graph.nodes)
    n = draw.choice(having)
    parameters = dict(nodes[n].parameters)
    name = draw.choice([*parameters])
    parameters[name] = _changed(draw, graph, name, parameters[name])
    nodes[n] = replace(nodes[n], parameters=parameters)
    return replace(graph, nodes=tuple(nodes))


def _changed(draw: random.Random, graph: Graph, name: str, value: Any) -> Any:
    """A value near to another."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return max(0, value + draw.choice((-1, 1, 1, 2)))
    if isinstance(value, list) and value:
        changed = list(value)
        n = draw.randrange(len(changed))
        match draw.randrange(4):
            case 0:
                del changed[n]
            case 1:
                changed.append(changed[n])
            case 2:
                draw.shuffle(changed)
            case _:
                changed[n] = _changed(draw, graph, name, changed[n])
        return changed
    if isinstance(value, list):
        return [draw.choice(("ref", "val", "crd", 0, []))]
    if name == "slot":
        return draw.choice([slot.name for slot in graph.slots] or ["x"])
    if name == "format":
        return draw.choice([*LEVELS])
    if name == "variable":
        return draw.choice(_variables(graph))
    others = [n.parameters[name] for n in graph.nodes if name in n.parameters]
    return draw.choice([*others, *_TEXTS])


def _variables(graph: Graph) -> list[str]:
    found = [variable for slot in graph.slots for variable in slot.variables]
    return [*found, *(name for name, _ in graph.dims), "i"]


def _change_slot(draw: random.Random, graph: Graph) -> Graph:
    if not graph.slots:
        return graph
    slots = list(graph.slots)
    n = draw.randrange(len(slots))
    slots[n] = _other_slot(draw, graph, slots[n], draw.choice(slots))
    return replace(graph, slots=tuple(slots))


def _other_slot(draw: random.Random, graph: Graph, slot: Slot, other: Slot) -> Slot:
    match draw.randrange(7):
        case 0:
            name = draw.choice([field.name for field in fields(Slot)])
            return replace(slot, **{name: getattr(other, name)})
        case 1 | 2 if slot.levels:
            k = draw.randrange(len(slot.levels))
            levels = slot.levels[:k] + draw.choice([*LEVELS]) + slot.levels[k + 1 :]
            return replace(slot, levels=levels)
        case 3 | 4:
            modes = list(slot.modes)
            draw.shuffle(modes)
            return replace(slot, modes=tuple(modes))
        case 5:
            variables = [draw.choice(_variables(graph)) for _ in slot.variables]
            return replace(slot, variables=tuple(variables))
        case _:
            variables = list(slot.variables)
            draw.shuffle(variables)
            return replace(slot, variables=tuple(variables))


def _change_result(draw: random.Random, graph: Graph) -> Graph:
    result = graph.result
    if result is None:
        return graph
    match draw.randrange(5):
        case 0:
            levels = "".join(draw.choice([*LEVELS]) for _ in result.levels)
            return replace(graph, result=replace(result, levels=levels))
        case 1:
            order = list(result.mode_order)
            draw.shuffle(order)
            return replace(graph, result=replace(result, mode_order=tuple(order)))
        case 2:
            around = draw.choice([None, *(slot.tensor for slot in graph.slots)])
            return replace(graph, result=replace(result, around=around))
        case 3:
            return _with_formats(draw, graph)
        case _:
            slot = _other_slot(draw, graph, result.slot, result.slot)
            return replace(graph, result=replace(result, slot=slot))


def _with_formats(draw: random.Random, graph: Graph) -> Graph:
    """The result written in another format, by writers that agree with its slot."""
    assert graph.result is not None
    slot = graph.result.slot
    levels = "".join(draw.choice([*LEVELS]) for _ in slot.levels)
    variables = list(slot.variables)
    draw.shuffle(variables)
    nodes = []
    for node in graph.nodes:
        level = node.parameters.get("level")
        if node.kind == "level_writer" and isinstance(level, int) and level < len(levels):
            more = {"format": levels[level], "variable": variables[level]}
            node = replace(node, parameters={**node.parameters, **more})
        nodes.append(node)
    slot = replace(slot, levels=levels, variables=tuple(variables))
    return replace(graph, nodes=tuple(nodes), result=replace(graph.result, slot=slot))


def _change_extents(draw: random.Random, graph: Graph) -> Graph:
    variable = draw.choice(_variables(graph))
    dims = dict(graph.dims) | {variable: draw.choice((0, 1, 2, 3, 5, 7))}
    return replace(graph, dims=tuple(dims.items()))


_CHANGES: Sequence[Change] = (
    *(_rewire,) * 5,
    *(_cross,) * 4,
    _lose_edge,
    _lose_node,
    _double_node,
    *(_swap_parameters,) * 3,
    *(_change_parameter,) * 4,
    *(_change_slot,) * 3,
    *(_change_result,) * 2,
    _change_extents,
)
