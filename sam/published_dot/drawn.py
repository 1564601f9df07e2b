"""A published graph as it is drawn: nodes with types, and the streams between the blocks.

Broadcasts and repeat-signal generators are no blocks here. A stream is followed back through them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sam.dot_text import texts, unquote, with_subgraphs
from sam.support.errors import UserError, one_of, quoted

if TYPE_CHECKING:
    import pydot

STREAMS = ("crd", "ref", "val", "repsig")
_PASSED = ("broadcast", "repsiggen")


@dataclass(frozen=True)
class DrawnNode:
    """A node: its name in the text, its type and its other attributes."""

    id: str
    type: str
    attributes: Mapping[str, str]

    @property
    def where(self) -> str:
        """The name of the node in errors."""
        return f'node "{quoted(self.id)}" of type {quoted(self.type)}'

    def get(self, name: str) -> str:
        """An attribute; raises UserError where there is none."""
        if name not in self.attributes:
            raise UserError(f'{self.where} has no attribute "{name}"')
        return self.attributes[name]

    def number(self, name: str) -> int:
        """An attribute that is a small whole number."""
        text = self.get(name)
        if not (text.isascii() and text.isdecimal() and len(text) < 6):
            raise UserError(
                f'{self.where}: attribute "{name}" is not a whole number: {quoted(text)}'
            )
        return int(text)

    def is_set(self, name: str) -> bool:
        """Whether an attribute is there and true."""
        return self.attributes.get(name) in ("true", "1")


@dataclass(frozen=True)
class DrawnStream:
    """A stream into a node: its kind, and the node that it comes from.

    ``out``   which of the streams of its source it is
    ``into``  which of the streams of its reader
    """

    kind: str
    source: str
    out: str
    into: str

    @property
    def variable(self) -> str:
        """The index variable that ``into`` names, as in ``outer-i``, or the tensor: ``in-B``."""
        return self.into.rpartition("-")[2]


@dataclass(frozen=True)
class _DrawnEdge:
    source: str
    target: str
    kind: str
    label: str


@dataclass(frozen=True)
class Drawn:
    """A published graph: ``formats`` in the words of its comment, all else by node."""

    attributes: Mapping[str, str]
    nodes: Mapping[str, DrawnNode]
    edges: Sequence[_DrawnEdge] = field(default_factory=tuple)

    def into(self, node: DrawnNode) -> list[DrawnStream]:
        """The streams into a node, in the order of the text."""
        return [self._followed(edge) for edge in self.edges if edge.target == node.id]

    def read_out(self, node: DrawnNode) -> set[str]:
        """The streams of the node that have readers, by the labels of edges."""
        return {edge.label for edge in self.edges if edge.source == node.id}

    def blocks(self) -> Iterator[DrawnNode]:
        """The nodes that are blocks: streams are followed through all others."""
        return (node for node in self.nodes.values() if node.type not in _PASSED)

    def _followed(self, edge: _DrawnEdge) -> DrawnStream:
        """The stream of an edge, back to the block that gives it."""
        first, passed = edge, {edge.target}
        while self.nodes[first.source].type in _PASSED:
            node = self.nodes[first.source]
            if node.id in passed:
                raise UserError(f"{node.where} is in a loop of only such nodes")
            passed.add(node.id)
            feeding = [one for one in self.edges if one.target == node.id]
            if len(feeding) != 1:
                raise UserError(f"{node.where} has {len(feeding)} edges into it; it must have one")
            (first,) = feeding
        kind = first.kind
        if kind == "repsig" or (edge.kind not in (kind, "repsig")):
            raise UserError(
                f'edge "{quoted(edge.source)}" -> "{quoted(edge.target)}" carries {edge.kind}, and '
                f"the stream begins as {kind}"
            )
        return DrawnStream(kind, first.source, first.label, edge.label)


def is_published(graph: pydot.Dot) -> bool:
    """Whether a parsed text is of this dialect: nodes have types, and none has a kind of ours."""
    nodes = [found.get_attributes() for found in with_subgraphs(graph, lambda g: g.get_nodes())]
    return any("type" in one for one in nodes) and not any("kind" in one for one in nodes)


def drawn(graph: pydot.Dot) -> Drawn:
    """The graph that a parsed text draws; raises UserError for a text of another dialect."""
    nodes: dict[str, DrawnNode] = {}
    for found in with_subgraphs(graph, lambda part: part.get_nodes()):
        if found.get_name() in ("graph", "node", "edge"):
            continue
        name = unquote(found.get_name())
        attributes = texts(found.get_attributes())
        if "type" not in attributes:
            raise UserError(f'node "{quoted(name)}" has no attribute "type"')
        node = DrawnNode(name, attributes.pop("type"), attributes)
        if nodes.setdefault(name, node) != node:
            raise UserError(f'two nodes are named "{quoted(name)}"')
    edges = sorted(
        with_subgraphs(graph, lambda part: part.get_edges()), key=lambda edge: edge.get_sequence()
    )
    attributes = texts(graph.get_attributes())
    return Drawn(attributes, nodes, [_edge(found, nodes) for found in edges])


def _edge(found: object, nodes: Mapping[str, DrawnNode]) -> _DrawnEdge:
    ends = [found.get_source(), found.get_destination()]  # type: ignore[attr-defined]
    if not all(isinstance(end, str) for end in ends):
        raise UserError("an edge joins subgraphs; it must join two nodes")
    source, target = (unquote(end) for end in ends)
    where = f'edge "{quoted(source)}" -> "{quoted(target)}"'
    for name in (source, target):
        if name not in nodes:
            raise UserError(f'{where}: there is no node "{quoted(name)}"')
    given = found.get_attributes()  # type: ignore[attr-defined]
    attributes = texts(given)
    kind = attributes.get("type", "")
    if kind not in STREAMS:
        raise UserError(f"{where} carries {quoted(kind) or 'nothing'}", hint=one_of(kind, STREAMS))
    label = attributes.get("comment", attributes.get("label", "").partition("_")[2])
    return _DrawnEdge(source, target, kind, label)
