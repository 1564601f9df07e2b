"""Graphs written in the published dialect: a node for each block, broadcasts where a stream has
several readers, and a repeat-signal generator in front of repeaters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sam.blocks import KINDS
from sam.blocks.alu import ALU
from sam.blocks.array import ARRAY
from sam.blocks.base import Role
from sam.blocks.drop import COORDINATE_DROPPER
from sam.blocks.endpoints import ROOT
from sam.blocks.merge import INTERSECTER, UNIONER
from sam.blocks.ports import Positions
from sam.blocks.reduce import REDUCER
from sam.blocks.repeat import REPEATER
from sam.blocks.scan import LEVEL_SCANNER
from sam.blocks.writers import LEVEL_WRITER, VALUE_WRITER
from sam.dot_text import brackets, label, quote
from sam.graph import Edge, End, Graph, Node, Slot
from sam.graph_json import described
from sam.levels import LEVELS
from sam.support.errors import UserError
from sam.validate import meanings

# How the published compiler draws each type.
_COLOURS = {
    "fiberlookup": "green4",
    "arrayvals": "green2",
    "fiberwrite": "green3",
    "repsiggen": "cyan3",
    "repeat": "cyan2",
    "intersect": "purple",
    "union": "purple",
    "crddrop": "orange",
    "crdhold": "orange",
    "mul": "brown",
    "add": "brown",
    "reduce": "brown",
    "spaccumulator": "brown",
}
_EDGE_STYLES = {"crd": "dashed", "ref": "bold", "val": "solid", "repsig": "dotted"}


def to_published(graph: Graph) -> str:
    """The text of a graph in the published dialect, from which ``from_published`` makes it again.

    Raises UserError for a block that the dialect has no type for.
    """
    return _GraphWriter(graph).text()


@dataclass
class _Labels:
    """The labels of the streams of a merge: of its operands, and of their payloads by port."""

    operands: list[str] = field(default_factory=list)
    payloads: dict[str, str] = field(default_factory=dict)


class _GraphWriter:
    """A graph while it is written."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = {node.name: node for node in graph.nodes}
        self.kinds = {node.name: KINDS[node.kind] for node in graph.nodes}
        self.into = {edge.target: edge for edge in graph.edges}
        self.meanings = meanings(graph)
        self.slots = {slot.name: slot for slot in graph.slots}
        self.merges = {
            node.name: self._labels(node)
            for node in graph.nodes
            if self.kinds[node.name] in (INTERSECTER, UNIONER)
        }
        self.ids: dict[str, int] = {}
        self.count = 0
        self.lines: list[str] = []
        self.edges: list[str] = []
        # Where the readers of an output take it from: the node, and its name for the stream.
        self.taps: dict[End, tuple[int, str]] = {}
        self.signals: dict[End, int] = {}

    def text(self) -> str:
        self._declare()
        for node in self.graph.nodes:
            if self.kinds[node.name] is not ROOT:
                self._node(node)
        for edge in self.graph.edges:
            self._edge(edge)
        return "\n".join(["digraph SAM {", *self.lines, *self.edges, "}"]) + "\n"

    def _declare(self) -> None:
        result = self.graph.result
        written = [] if result is None else [self._format(result.slot)]
        read = [self._format(slot) for slot in self.graph.slots]
        own = {"title": self.graph.title, **described(self.graph)}
        self.lines.append(f"    comment={quote(','.join([*written, *read]))}")
        self.lines += [f"    {name}={quote(value)}" for name, value in own.items()]

    def _format(self, slot: Slot) -> str:
        modes = "".join(str(group[0]) for group in slot.modes)
        if len(slot.levels) > 10:
            raise UserError(f"{slot.name} has more than 10 levels, and a mode is one digit")
        return f"{slot.name}={slot.levels + modes if slot.levels else 'none'}"

    # Nodes

    def _node(self, node: Node) -> None:
        kind = self.kinds[node.name]
        describe = _DESCRIBED.get(kind.name)
        if describe is None:
            raise UserError(
                f"node {node.name} is a {kind.name.replace('_', ' ')}, for which the published "
                "dialect has no type",
                hint="write our own dialect, which has all kinds",
            )
        attributes = describe(self, node)
        if self._reads_root(node):
            attributes |= {"root": "true"}
        elif attributes["type"] == "fiberlookup":
            attributes |= {"root": "false"}
        self.ids[node.name] = self._add(attributes, node.name)

    def _add(self, attributes: Mapping[str, str], name: str | None = None) -> int:
        """Adds a node; gives its number."""
        number, self.count = self.count, self.count + 1
        type = attributes["type"]
        shape = {"shape": "point", "style": "invis"}
        if type in _COLOURS:
            text = " ".join(value for key, value in attributes.items() if key in _SHOWN)
            shape = {
                "label": label(text),
                "color": _COLOURS[type],
                "shape": "box",
                "style": "filled",
            }
        comment = ",".join(f"{key}={value}" for key, value in attributes.items())
        own = {} if name is None else {"block": quote(name)}
        quoted = {key: quote(value) for key, value in attributes.items()}
        everything = {"comment": quote(comment), **shape, **quoted, **own}
        self.lines.append(f"    {number} {brackets(everything).replace(', ', ' ')}")
        return number

    def _reads_root(self, node: Node) -> bool:
        edge = self.into.get(End(node.name, "in_ref"))
        return edge is not None and self.kinds[edge.source.node] is ROOT

    def refuse(self, node: Node, what: str) -> UserError:
        """The error for a node that no type of the dialect can express."""
        return UserError(
            f"node {node.name} {what}, which no type of the published dialect does",
            hint="write our own dialect, which has all kinds",
        )

    def mode(self, node: Node, slot: Slot) -> str:
        """The mode that a node's level stores."""
        return str(slot.modes[node.parameters["level"]][0])

    def variable(self, end: End) -> str:
        """The index variable of the coordinates on an output."""
        known = self.meanings.get(end)
        return min(known) if isinstance(known, frozenset) and known else end.node

    def tensor(self, end: End) -> str:
        """The slot that references on an output point into; else the node of the output."""
        known = self.meanings.get(end)
        return known.slot if isinstance(known, Positions) and known.slot else end.node

    def source(self, node: Node, port: str) -> End:
        """The output that feeds an input."""
        return self.into[End(node.name, port)].source

    def _labels(self, node: Node) -> _Labels:
        """Labels for the operands of a merge: their tensors, numbered where one comes again."""
        found = _Labels()
        for n, payloads in enumerate(node.parameters["payloads"]):
            first = f"in_{payloads[0]}{n}_0" if payloads else f"in_crd{n}"
            end = self.source(node, first)
            base = self.tensor(end) if payloads and payloads[0] == "ref" else end.node
            name, again = base, 1
            while name in found.operands:
                again += 1
                name = f"{base}_{again}"
            found.operands.append(name)
            for k, stream in enumerate(payloads):
                found.payloads[f"{stream}{n}_{k}"] = f"{name}.{k}" if k else name
        return found

    # Edges

    def _edge(self, edge: Edge) -> None:
        source, target = self.kinds[edge.source.node], self.kinds[edge.target.node]
        if source is ROOT:
            if edge.target.port != "in_ref":
                raise self.refuse(self.nodes[edge.target.node], "takes the root's reference")
            return
        if source.role is Role.LEVEL_WRITER and target.role.writes:
            return  # it is told by the formats
        number, name = self._tap(edge.source, target is REPEATER and self._is_signal(edge))
        kind = "repsig" if self._is_signal(edge) else self._stream(edge.source)
        into = self._into(edge)
        if name and into and _last(name) != _last(into):
            broadcast = self._add({"type": "broadcast"})
            self._draw(number, broadcast, kind, name)
            number = broadcast
        self._draw(number, self.ids[edge.target.node], kind, into or name)

    def _is_signal(self, edge: Edge) -> bool:
        """Whether an edge carries the coordinates that a repeater repeats over."""
        return edge.target.port == "in_coordinates"

    def _stream(self, end: End) -> str:
        ports = self.kinds[end.node].ports(self.nodes[end.node].parameters)
        return next(port.stream for port in ports if port.name == end.port)

    def _tap(self, end: End, signal: bool) -> tuple[int, str]:
        """The node from which a reader takes a stream, and the stream's name there."""
        readers = [edge for edge in self.graph.edges if edge.source == end]
        signals = [edge for edge in readers if self._is_signal(edge)]
        others = [edge for edge in readers if edge not in signals]
        if end not in self.taps:
            tap = self.ids[end.node], self._out(end)
            if len(others) + bool(signals) > 1:
                broadcast = self._add({"type": "broadcast"})
                self._draw(*tap[:1], broadcast, self._stream(end), tap[1])
                tap = broadcast, ""
            self.taps[end] = tap
        if not signal:
            return self.taps[end]
        if end not in self.signals:
            number, name = self.taps[end]
            generator = self._add({"type": "repsiggen", "index": self.variable(end)})
            self._draw(number, generator, "crd", name)
            if len(signals) > 1:
                broadcast = self._add({"type": "broadcast"})
                self._draw(generator, broadcast, "repsig", "")
                generator = broadcast
            self.signals[end] = generator
        return self.signals[end], ""

    def _draw(self, source: int, target: int, kind: str, name: str) -> None:
        attributes = {
            "label": quote(f"{kind}_{name}" if name else kind),
            "style": _EDGE_STYLES[kind],
            "type": quote(kind),
            "comment": quote(name),
        }
        drawn = brackets(attributes).replace(", ", " ")
        self.edges.append(f"    {source} -> {target} {drawn}")

    def _out(self, end: End) -> str:
        """The name of an output, where its node has several of a kind."""
        node, kind = self.nodes[end.node], self.kinds[end.node]
        if node.name in self.merges and end.port != "crd":
            return f"out-{self.merges[node.name].payloads[end.port]}"
        if kind is REDUCER and end.port != "val":
            return f"out-{self.variable(end)}"
        if kind is COORDINATE_DROPPER and node.parameters["drop"] == "coordinates":
            return f"{'outer' if end.port == 'crd' else 'inner'}-{self._of_drop(node, end.port)}"
        return ""

    def _of_drop(self, node: Node, port: str) -> str:
        outer, inner = drop_variables(self, node)
        return outer if port in ("crd", "in_outer") else inner

    def _into(self, edge: Edge) -> str:
        """The name of an input, where its node has several of a kind."""
        node, port = self.nodes[edge.target.node], edge.target.port
        kind = self.kinds[node.name]
        if node.name in self.merges:
            labels = self.merges[node.name]
            stream = port.removeprefix("in_")
            is_payload = stream in labels.payloads
            operand = None if is_payload else int(stream.removeprefix("crd"))
            name = labels.payloads[stream] if operand is None else labels.operands[operand]
            return f"in-{name}"
        if kind is REDUCER and port != "in_val":
            return self.variable(edge.source)
        if kind is COORDINATE_DROPPER:
            if node.parameters["drop"] != "coordinates":
                return self.variable(edge.source) if port == "in_crd" else "in-vals"
            return f"{'outer' if port == 'in_outer' else 'inner'}-{self._of_drop(node, port)}"
        return ""


def _last(label: str) -> str:
    """The last word of a label: the reader and the source of an edge see the same word."""
    return label.rpartition("-")[2]


_SHOWN = ("type", "index", "tensor", "mode", "format", "order", "outer", "inner")


def drop_variables(writing: _GraphWriter, node: Node) -> tuple[str, str]:
    """The outer and the inner variable of a dropper; ``vals`` where only values are inside."""
    outer = writing.variable(writing.source(node, "in_outer"))
    inner = [
        writing.variable(writing.source(node, f"in_inner_{stream}"))
        for stream in node.parameters["inner"]
        if stream == "crd"
    ]
    return outer, inner[0] if inner else f"{outer}_inside"


def _lookup(writing: _GraphWriter, node: Node) -> dict[str, str]:
    if "variable" in node.parameters:
        raise writing.refuse(node, f"scans all of {node.parameters['variable']}")
    if node.parameters.get("skips"):
        raise writing.refuse(node, "skips coordinates")
    slot, level = writing.slots[node.parameters["slot"]], node.parameters["level"]
    return {
        "type": "fiberlookup",
        "index": slot.variables[level],
        "tensor": slot.name,
        "mode": writing.mode(node, slot),
        "format": LEVELS[slot.levels[level]].name,
        "src": "true",
    }


def _repeat(writing: _GraphWriter, node: Node) -> dict[str, str]:
    stream = node.parameters["stream"]
    if stream not in ("ref", "val"):
        raise writing.refuse(node, f"repeats a {stream} stream")
    coordinates = writing.source(node, "in_coordinates")
    repeated = writing.source(node, f"in_{stream}")
    tensor = writing.tensor(repeated)
    if writing.kinds[repeated.node] is ROOT:
        tensor = _below(writing, End(node.name, stream))
    return {"type": "repeat", "index": writing.variable(coordinates), "tensor": tensor}


def _below(writing: _GraphWriter, end: End) -> str:
    """The tensor whose root a repeated reference of the root leads to."""
    for edge in writing.graph.edges:
        if edge.source == end:
            node = writing.nodes[edge.target.node]
            if "slot" in node.parameters:
                return str(node.parameters["slot"])
            ports = KINDS[node.kind].ports(node.parameters)
            for port in ports:
                if edge.target.port in port.of:
                    return _below(writing, End(node.name, port.name))
    return "root"


def _merge(type: str) -> Callable[[_GraphWriter, Node], dict[str, str]]:
    def describe(writing: _GraphWriter, node: Node) -> dict[str, str]:
        if node.parameters.get("skips"):
            raise writing.refuse(node, "tells scanners to skip")
        return {"type": type, "index": writing.variable(End(node.name, "crd"))}

    return describe


def _array(writing: _GraphWriter, node: Node) -> dict[str, str]:
    return {"type": "arrayvals", "tensor": node.parameters["slot"]}


def _alu(writing: _GraphWriter, node: Node) -> dict[str, str]:
    operation = node.parameters["operation"]
    if operation == "multiply":
        return {"type": "mul"}
    if operation not in ("add", "subtract"):
        raise writing.refuse(node, f"does the operation {operation}")
    return {"type": "add", "sub": "1" if operation == "subtract" else "0"}


def _reduce(writing: _GraphWriter, node: Node) -> dict[str, str]:
    parameters: Mapping[str, Any] = node.parameters
    if parameters.get("ways", 1) > 1:
        raise writing.refuse(node, "adds up several lanes")
    dimensions = parameters["dimensions"]
    if dimensions == 0 and parameters["empty"] == "absent":
        raise writing.refuse(node, "tells empty sums from zeros")
    if dimensions == 0:
        empty = parameters["empty"]
        return {"type": "reduce"} | ({} if empty == "zero" else {"empty": empty})
    variables = [writing.variable(End(node.name, f"crd{k}")) for k in range(dimensions)]
    kept = {f"in{k}": variable for k, variable in enumerate(reversed(variables))}
    return {"type": "spaccumulator", "order": str(dimensions), **kept}


def _drop(writing: _GraphWriter, node: Node) -> dict[str, str]:
    drop = node.parameters["drop"]
    if drop == "absent":
        raise writing.refuse(node, "drops what is absent")
    if drop == "zeros":
        outer = writing.variable(writing.source(node, "in_crd"))
        return {"type": "crddrop", "outer": outer, "inner": "vals", "vals": "true"}
    outer, inner = drop_variables(writing, node)
    return {"type": "crddrop", "outer": outer, "inner": inner}


def _write_level(writing: _GraphWriter, node: Node) -> dict[str, str]:
    for name in ("repeats", "chained", "beside"):
        if node.parameters.get(name):
            raise writing.refuse(node, "writes several levels at a time")
    assert writing.graph.result is not None
    slot, level = writing.graph.result.slot, node.parameters["level"]
    return {
        "type": "fiberwrite",
        "index": node.parameters["variable"],
        "tensor": slot.name,
        "mode": writing.mode(node, slot),
        "format": LEVELS[slot.levels[level]].name,
        "sink": "true",
    }


def _write_values(writing: _GraphWriter, node: Node) -> dict[str, str]:
    assert writing.graph.result is not None
    tensor = writing.graph.result.slot.name
    found = {"type": "fiberwrite", "mode": "vals", "tensor": tensor, "sink": "true"}
    return found | ({"accumulate": "true"} if node.parameters.get("accumulate") else {})


_DESCRIBED: Mapping[str, Callable[[_GraphWriter, Node], dict[str, str]]] = {
    LEVEL_SCANNER.name: _lookup,
    REPEATER.name: _repeat,
    INTERSECTER.name: _merge("intersect"),
    UNIONER.name: _merge("union"),
    ARRAY.name: _array,
    ALU.name: _alu,
    REDUCER.name: _reduce,
    COORDINATE_DROPPER.name: _drop,
    LEVEL_WRITER.name: _write_level,
    VALUE_WRITER.name: _write_values,
}
