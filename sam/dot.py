"""Graphs as Graphviz DOT, out and in again.

The text that ``to_dot`` writes is meant for three readers. Graphviz draws it: labels, shapes, and
the arrows of the SAM paper's Figure 4 (stippled references, solid coordinates, double values).
A person reads it: one line per node and per edge. ``from_dot`` reads it back to an equal graph, out
of the attributes ``kind`` and ``parameters`` of a node, ``source_port`` and ``target_port`` of an
edge, and ``title``, ``slots``, ``result``, ``nonempty``, ``dims`` and ``derived`` of the graph
(JSON, but for names and the title).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from sam.derivations import Derivation
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.subscripts import Span
from sam.support.errors import UserError, quoted
from sam.support.json_text import parse_json

if TYPE_CHECKING:
    import pydot
    from pydantic import TypeAdapter

# How Graphviz draws a stream; the keys are prefixes of port names.
STREAM_STYLES: Mapping[str, Mapping[str, str]] = {
    "crd": {"style": "solid"},
    "ref": {"style": "dashed"},
    "val": {"color": "black:invis:black"},
    "bv": {"style": "bold"},
    "skip": {"style": "dotted"},
}

_SHAPES = {
    "root": "circle",
    "level_scanner": "box",
    "window_scanner": "box",
    "bitvector_scanner": "box",
    "array": "cylinder",
    "repeater": "note",
    "intersecter": "hexagon",
    "unioner": "hexagon",
    "bitvector_intersecter": "hexagon",
    "bitvector_unioner": "hexagon",
    "alu": "ellipse",
    "reducer": "octagon",
    "parallelizer": "triangle",
    "serializer": "invtriangle",
    "level_writer": "folder",
    "value_writer": "folder",
}
_KIND_COLOURS = {
    "intersecter": "#fff3b0",
    "unioner": "#fff3b0",
    "bitvector_intersecter": "#fff3b0",
    "bitvector_unioner": "#fff3b0",
    "alu": "#e3e3e3",
    "reducer": "#e3e3e3",
}
_TENSOR_COLOURS = ["#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#b3e2cd", "#f4cae4"]
# Parameters that name the tensor that a block reads or writes.
_TENSOR_PARAMETERS = ("slot", "tensor")

# What the attributes of a graph hold, beside its title.
_GRAPH_PARTS: Mapping[str, Any] = {
    "slots": tuple[Slot, ...],
    "result": Result | None,
    "nonempty": tuple[str, ...],
    "dims": tuple[tuple[str, int], ...],
    "derived": tuple[Derivation, ...],
    "spans": tuple[Span, ...],
}


def to_dot(graph: Graph) -> str:
    """The DOT text of a graph: the same graph, the same text."""
    colours = _colours(graph)
    lines = ["digraph sam {"]
    lines += [
        f"  {name}={_quote(value)};"
        for name, value in {
            "title": graph.title,
            "slots": _json_lines([_slot(slot) for slot in graph.slots]),
            "result": _json(None if graph.result is None else _result(graph.result)),
            "nonempty": _json(graph.nonempty),
            "dims": _json(graph.dims),
            "derived": _json([asdict(one) for one in graph.derived]),
            **({"spans": _json([asdict(one) for one in graph.spans])} if graph.spans else {}),
        }.items()
    ]
    lines += [
        f"  label={_label(graph.title)}; labelloc=t; rankdir=LR; nodesep=0.3; ranksep=0.4;",
        '  fontname="DejaVu Sans";',
        '  node [style=filled, fontname="DejaVu Sans", fontsize=11, margin="0.1,0.07"];',
    ]
    for node in graph.nodes:
        attributes = {
            "kind": _quote(node.kind),
            "parameters": _quote(_json(node.parameters)),
            "label": _label(_describe(node)),
            "shape": _SHAPES.get(node.kind, "box"),
            "fillcolor": _quote(_node_colour(node, colours)),
        }
        lines.append(f"  {_quote(node.name)} {_brackets(attributes)};")
    for edge in graph.edges:
        ports = {"source_port": edge.source.port, "target_port": edge.target.port}
        attributes = {name: _quote(value) for name, value in {**ports, **_style(edge)}.items()}
        ends = f"{_quote(edge.source.node)} -> {_quote(edge.target.node)}"
        lines.append(f"  {ends} {_brackets(attributes)};")
    return "\n".join([*lines, "}"]) + "\n"


def from_dot(text: str) -> Graph:
    """The graph that ``to_dot`` wrote as ``text``, drawing attributes and layout ignored.

    Raises UserError where the text is no DOT, or a node, an edge or the graph lacks what makes it
    one of ours.
    """
    import pydot  # here, as its grammar takes long to make

    drawn = _parse(text)
    nodes: dict[str, Node] = {}
    for found in _with_subgraphs(drawn, pydot.Graph.get_nodes):
        if found.get_name() in ("graph", "node", "edge"):  # defaults, not quoted as our names are
            continue
        node = _read_node(found)
        if node.name in nodes:
            raise UserError(f'two nodes are named "{node.name}"')
        nodes[node.name] = node
    edges = [
        _read_edge(found, nodes)
        for found in _with_subgraphs(
            drawn, lambda part: sorted(part.get_edges(), key=lambda edge: edge.get_sequence())
        )
    ]
    attributes = drawn.get_attributes()
    for defaults in drawn.get_node("graph"):  # where Graphviz itself writes a graph's attributes
        attributes = defaults.get_attributes() | attributes
    return Graph(
        nodes=tuple(nodes.values()),
        edges=tuple(edges),
        title=_unquote(attributes.get("title") or ""),
        **{
            name: _read_part(name, _unquote(attributes[name]))
            for name in _GRAPH_PARTS
            if attributes.get(name) is not None
        },
    )


def _slot(slot: Slot) -> dict[str, Any]:
    """The parts of a slot; computed subscripts are rare, and told only where there are some."""
    parts = asdict(slot)
    if not slot.computed:
        del parts["computed"]
    return parts


def _result(result: Result) -> dict[str, Any]:
    return {**asdict(result), "slot": _slot(result.slot)}


def _quote(text: str) -> str:
    r"""A DOT string. A backslash in it starts ``\"`` or ``\u{hex}``, and nothing else."""
    escaped = (
        r"\"" if c == '"' else c if c == "\n" or _plain(c) else rf"\u{{{ord(c):x}}}" for c in text
    )
    return '"' + "".join(escaped) + '"'


def _plain(character: str) -> bool:
    return character.isprintable() and character != "\\"


def _unquote(value: str) -> str:
    if not value.startswith('"'):
        return value
    return re.sub(
        r'\\"|\\u\{([0-9a-f]{1,6})\}',
        lambda found: '"' if found[1] is None else chr(int(found[1], 16)),
        value[1:-1],
    )


def _label(text: str) -> str:
    """A DOT string that Graphviz draws as ``text``: its own escapes and entities do not apply."""
    for plain, escaped in {"\\": r"\\", '"': r"\"", "&": "&amp;", "\n": r"\n"}.items():
        text = text.replace(plain, escaped)
    return '"' + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) + '"'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_lines(values: list[Any]) -> str:
    return "[" + ",".join("\n    " + _json(value) for value in values) + "]"


def _brackets(attributes: Mapping[str, str]) -> str:
    return "[" + ", ".join(f"{name}={value}" for name, value in attributes.items()) + "]"


def _describe(node: Node) -> str:
    """The kind, then its tensor and variables, then its other parameters, on a line each."""
    parameters = dict(node.parameters)
    names = [parameters.pop(key, None) for key in (*_TENSOR_PARAMETERS, "variable", "operation")]
    others = [
        key.replace("_", " ") if value is True else f"{key}={value}"
        for key, value in parameters.items()
        if isinstance(value, str | int | float) and value is not False
    ]
    lines = [
        node.kind.replace("_", " "),
        " ".join(str(name) for name in names if name is not None),
        ", ".join(others),
    ]
    return "\n".join(line for line in lines if line)


def _tensor(node: Node) -> str | None:
    for key in _TENSOR_PARAMETERS:
        if isinstance(node.parameters.get(key), str):
            return str(node.parameters[key])
    return None


def _colours(graph: Graph) -> dict[str, str]:
    """A fill colour for each tensor that a node names, in the order in which they are met."""
    tensors = dict.fromkeys(tensor for node in graph.nodes if (tensor := _tensor(node)) is not None)
    return {tensor: _TENSOR_COLOURS[n % len(_TENSOR_COLOURS)] for n, tensor in enumerate(tensors)}


def _node_colour(node: Node, colours: Mapping[str, str]) -> str:
    tensor = _tensor(node)
    return _KIND_COLOURS.get(node.kind, "white") if tensor is None else colours[tensor]


def _style(edge: Edge) -> Mapping[str, str]:
    """The style of the edge's stream, which one of its ports' names tells; solid if neither."""
    for port in (edge.source.port, edge.target.port.removeprefix("in_")):
        for prefix, style in STREAM_STYLES.items():
            if port.startswith(prefix):
                return style
    return STREAM_STYLES["crd"]


def _parse(text: str) -> pydot.Dot:
    # pydot.graph_from_dot_data would print the mistake, and pass over text after the graph.
    from pydot.dot_parser import GraphParser
    from pyparsing import ParseException

    try:
        graphs = GraphParser.parser.parse_string(text, parse_all=True)
    except ParseException as mistake:
        raise UserError(
            f"the text is not DOT: line {mistake.lineno} cannot be read",
            source=mistake.line,
            span=(mistake.column - 1, mistake.column),
        ) from None
    if len(graphs) != 1 or graphs[0].get_type() != "digraph":
        raise UserError("the DOT text must hold one digraph")
    return graphs[0]


def _with_subgraphs(graph: pydot.Graph, parts: Any) -> Iterator[Any]:
    yield from parts(graph)
    for inner in graph.get_subgraphs():
        yield from _with_subgraphs(inner, parts)


def _read_node(drawn: pydot.Node) -> Node:
    name = _unquote(drawn.get_name())
    where = f'node "{name}"'
    attributes = drawn.get_attributes()
    parameters = _read_json(_required(attributes, "parameters", where), "parameters", where)
    if not isinstance(parameters, dict):
        raise UserError(f'{where}: attribute "parameters" is not a JSON object')
    return Node(name, _required(attributes, "kind", where), parameters)


def _read_edge(drawn: pydot.Edge, nodes: Mapping[str, Node]) -> Edge:
    ends = drawn.get_source(), drawn.get_destination()
    if not all(isinstance(end, str) for end in ends):
        raise UserError("an edge joins subgraphs; it must join two nodes")
    source, target = (_unquote(str(end)) for end in ends)
    where = f'edge "{source}" -> "{target}"'
    for name in (source, target):
        if name not in nodes:
            raise UserError(f'{where}: there is no node "{name}"')
    attributes = drawn.get_attributes()
    return Edge(
        End(source, _required(attributes, "source_port", where)),
        End(target, _required(attributes, "target_port", where)),
    )


def _read_part(name: str, text: str) -> Any:
    from pydantic import ValidationError

    try:
        return _reader(name).validate_python(_read_json(text, name, "graph"))
    except ValidationError as mistake:
        first = mistake.errors(include_url=False)[0]
        place = "".join(f"[{key!r}]" for key in first["loc"])
        raise UserError(
            f'graph: attribute "{name}" does not hold a graph\'s {name}: '
            f"{quoted(repr(first['input']))} at {name}{place}"
        ) from None


@cache
def _reader(name: str) -> TypeAdapter[Any]:
    """What reads a part of a graph; made when it is first needed, as that takes long."""
    from pydantic import TypeAdapter

    return TypeAdapter(_GRAPH_PARTS[name])


def _required(attributes: Mapping[str, str], name: str, where: str) -> str:
    if attributes.get(name) is None:
        raise UserError(
            f'{where} has no attribute "{name}"', hint="only graphs written by to_dot can be read"
        )
    return _unquote(attributes[name])


def _read_json(text: str, name: str, where: str) -> Any:
    return parse_json(text, f'{where}: attribute "{name}"')
