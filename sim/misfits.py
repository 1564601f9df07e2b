"""Why the coordinates and the values that a graph writes do not fit together.

A graph drops coordinates from the result in one place and values in another. Where only one of them
is dropped, as in some graphs of the published compiler, the result has more of the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from sam.blocks import block_of
from sam.blocks.drop import COORDINATE_DROPPER
from sam.blocks.writers import LEVEL_WRITER, VALUE_WRITER
from sam.graph import End, Graph, Node
from sam.support.errors import UserError

_DROPPED = {
    "coordinates": "coordinates that have nothing inside",
    "zeros": "coordinates whose value is 0",
    "absent": "coordinates without a value",
}


def with_reason(mistake: UserError, graph: Graph) -> UserError:
    """The mistake of a result whose parts do not fit, with the block that drops one of them alone,
    if there is one."""
    writers = _writers(graph)
    if len(writers) < 2:
        return mistake
    coordinates, values = writers
    by_coordinates, by_values = _droppers(graph, coordinates), _droppers(graph, values)
    for name, before in by_coordinates.items():
        if name not in by_values:
            what = _DROPPED[graph.node(name).parameters["drop"]]
            return _with(
                mistake,
                f"{name} drops {what}, and their values are written all the same",
                f"connect {before} to {coordinates}, past {name}",
            )
    for name in by_values:
        if name not in by_coordinates:
            return _with(
                mistake,
                f"{name} drops values, and their coordinates are written all the same",
                f"connect {name}.crd to {coordinates}",
            )
    return mistake


def _with(mistake: UserError, why: str, hint: str) -> UserError:
    return type(mistake)(f"{mistake.what}: {why}", hint=hint)


def _writers(graph: Graph) -> list[End]:
    """The inputs for the innermost coordinates of the result and for its values."""
    levels = [node for node in graph.nodes if node.kind == LEVEL_WRITER.name]
    values = [node for node in graph.nodes if node.kind == VALUE_WRITER.name]
    if not levels or not values:
        return []
    innermost = max(levels, key=lambda node: node.parameters["level"])
    return [End(innermost.name, "in_crd"), End(values[0].name, "in_val")]


def _droppers(graph: Graph, reader: End) -> dict[str, End]:
    """The droppers that remove something from a stream to an input, each with the stream before.

    Droppers of outer coordinates pass inner streams on whole.
    """
    sources = {edge.target: edge.source for edge in graph.edges}
    nodes = {node.name: node for node in graph.nodes}
    found: dict[str, End] = {}
    end, passed = sources.get(reader), set[End]()
    while end is not None and end not in passed and nodes[end.node].kind == COORDINATE_DROPPER.name:
        passed.add(end)
        dropper, port = nodes[end.node], end.port
        end = _before(dropper, port, sources)
        if end is not None and (port == "crd" or dropper.parameters["drop"] != "coordinates"):
            found[dropper.name] = end
    return found


def _before(dropper: Node, port: str, sources: Mapping[End, End]) -> End | None:
    """The stream that a dropper gives a part of at an output."""
    [out] = [one for one in block_of(dropper).ports if one.name == port]
    return sources.get(End(dropper.name, out.of[0])) if out.of else None
