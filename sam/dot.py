"""Graphs as Graphviz DOT, out and in again.

The text that ``to_dot`` writes is meant for three readers. Graphviz draws it (``sam.picture``).
A person reads it: one line per node and per edge. ``from_dot`` reads it back to an equal graph, out
of the attributes ``kind`` and ``parameters`` of a node, ``source_port`` and ``target_port`` of an
edge, and ``title``, ``slots``, ``result``, ``nonempty``, ``dims`` and ``derived`` of the graph
(JSON, but for names and the title).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sam.dot_text import brackets, label, parsed, quote, texts, unquote, with_subgraphs
from sam.graph import Edge, End, Graph, Node
from sam.graph_json import as_json, described, parts_of, read_json
from sam.picture import Picture
from sam.published_dot import from_published, is_published, to_published
from sam.support.errors import UserError, one_of

if TYPE_CHECKING:
    import pydot

DIALECTS = ("custard", "published")
"""Ours, which has all kinds of block, and the published compiler's (``sam.published_dot``)."""


def to_dot(graph: Graph, dialect: str = "custard") -> str:
    """The DOT text of a graph in a dialect: the same graph, the same text.

    Raises UserError for an unknown dialect, and for a graph that the published dialect cannot
    express.
    """
    if dialect not in DIALECTS:
        raise UserError(f"there is no DOT dialect {dialect}", hint=one_of(dialect, DIALECTS))
    if dialect == "published":
        return to_published(graph)
    picture = Picture(graph)
    lines = ["digraph sam {"]
    own = {"title": graph.title, **described(graph)}
    lines += [f"  {name}={quote(value)};" for name, value in own.items()]
    lines += [
        f"  label={label(graph.title)}; labelloc=t; rankdir=TB; nodesep=0.2; ranksep=0.3;",
        '  fontname="DejaVu Sans"; fontsize=13; newrank=true;',
        '  node [style=filled, fontname="DejaVu Sans", fontsize=11, height=0.3];',
        '  node [margin="0.1,0.05"];',
        "  edge [arrowsize=0.7];",
    ]
    for node in graph.nodes:
        attributes = {
            "kind": quote(node.kind),
            "parameters": quote(as_json(node.parameters)),
            **picture.of_node(node),
        }
        lines.append(f"  {quote(node.name)} {brackets(attributes)};")
    lines += picture.boxes()
    for edge in graph.edges:
        ports = {"source_port": edge.source.port, "target_port": edge.target.port}
        named = {name: quote(value) for name, value in ports.items()}
        ends = f"{quote(edge.source.node)} -> {quote(edge.target.node)}"
        lines.append(f"  {ends} {brackets({**named, **picture.of_edge(edge)})};")
    return "\n".join([*lines, "}"]) + "\n"


def from_dot(text: str) -> Graph:
    """The graph of a text of either dialect, drawing attributes and layout ignored.

    Raises UserError where the text is no DOT, or where a node, an edge or the graph lacks an
    attribute that either dialect needs.
    """
    import pydot  # here, as its grammar takes long to make

    drawn = parsed(text)
    if is_published(drawn):
        return from_published(drawn)
    nodes: dict[str, Node] = {}
    for found in with_subgraphs(drawn, pydot.Graph.get_nodes):
        if found.get_name() in ("graph", "node", "edge"):  # defaults, not quoted as our names are
            continue
        if not found.get_attributes() and unquote(found.get_name()) in nodes:
            continue  # named again by the box that it is in
        node = _read_node(found)
        if node.name in nodes:
            raise UserError(f'two nodes are named "{node.name}"')
        nodes[node.name] = node
    edges = [
        _read_edge(found, nodes)
        for found in with_subgraphs(
            drawn, lambda part: sorted(part.get_edges(), key=lambda edge: edge.get_sequence())
        )
    ]
    attributes = drawn.get_attributes()
    for defaults in drawn.get_node("graph"):  # where Graphviz itself writes a graph's attributes
        attributes = defaults.get_attributes() | attributes
    told = texts(attributes)
    return Graph(
        nodes=tuple(nodes.values()),
        edges=tuple(edges),
        title=told.get("title", ""),
        **parts_of(told),
    )


def _read_node(drawn: pydot.Node) -> Node:
    name = unquote(drawn.get_name())
    where = f'node "{name}"'
    attributes = drawn.get_attributes()
    parameters = read_json(_required(attributes, "parameters", where), "parameters", where)
    if not isinstance(parameters, dict):
        raise UserError(f'{where}: attribute "parameters" is not a JSON object')
    return Node(name, _required(attributes, "kind", where), parameters)


def _read_edge(drawn: pydot.Edge, nodes: Mapping[str, Node]) -> Edge:
    ends = drawn.get_source(), drawn.get_destination()
    if not all(isinstance(end, str) for end in ends):
        raise UserError("an edge joins subgraphs; it must join two nodes")
    source, target = (unquote(str(end)) for end in ends)
    where = f'edge "{source}" -> "{target}"'
    for name in (source, target):
        if name not in nodes:
            raise UserError(f'{where}: there is no node "{name}"')
    attributes = drawn.get_attributes()
    return Edge(
        End(source, _required(attributes, "source_port", where)),
        End(target, _required(attributes, "target_port", where)),
    )


def _required(attributes: Mapping[str, str], name: str, where: str) -> str:
    if attributes.get(name) is None:
        raise UserError(
            f'{where} has no attribute "{name}"',
            hint="only graphs written by to_dot or the published compiler can be read",
        )
    return unquote(attributes[name])
