"""How a graph is drawn: the labels and shapes of its nodes, boxes around loops and lanes, arrows.

The arrows are those of the SAM paper's Figure 4: stippled references, solid coordinates, double
values. A node has the name that reports give it, and its kind. Blocks that go through the
coordinates of one index variable, or repeat streams over them, stand in the box of that loop; those
that work on what inner loops made of it, such as droppers and writers, stand below, where their
arrows are short. Blocks of a lane stand in a box of that lane. There are boxes if the graph is
sound and tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from sam.blocks import KINDS, Port, block_of
from sam.blocks.base import Drawing
from sam.dot_text import label, quote
from sam.graph import Edge, End, Graph, Node
from sam.lanes import dealers, lanes_of
from sam.meanings import Meant
from sam.support.errors import UserError
from sam.validate import meanings

# How Graphviz draws a stream; the keys are prefixes of port names.
STREAM_STYLES: Mapping[str, Mapping[str, str]] = {
    "crd": {"style": "solid"},
    "ref": {"style": "dashed"},
    "val": {"color": "black:invis:black"},
    "bv": {"style": "bold"},
    "skip": {"style": "dotted", "constraint": "false"},
    "release": {"style": "dotted", "color": "gray40", "constraint": "false"},
}

COLOURS = (
    *("#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#b3e2cd", "#f4cae4"),
    *("#d8b58a", "#8fb4f0", "#dbe85f", "#e58fc4", "#6fc7c0"),
)
"""The colours of tensors; those of further tensors begin anew."""

# Parameters that name the tensor that a block reads or writes.
_TENSOR_PARAMETERS = ("slot", "tensor")
# The parameters that a label shows behind the kind; others are in the node's name, or unimportant.
_TOLD = ("operation", "lanes", "memory", "buffers")

Path = tuple[tuple[str, int], ...]
"""Lanes, each by its loop and number, the outermost first."""


class Picture:
    """The drawing of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        tensors = dict.fromkeys(name for node in graph.nodes if (name := _tensor(node)) is not None)
        self.colours = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(tensors)}

    def of_node(self, node: Node) -> dict[str, str]:
        """The attributes of a node, as DOT."""
        drawing = KINDS[node.kind].drawing if node.kind in KINDS else Drawing()
        tensor = _tensor(node)
        return {
            "label": label(_label(node)),
            "shape": drawing.shape,
            "fillcolor": quote(drawing.colour if tensor is None else self.colours[tensor]),
        }

    def of_edge(self, edge: Edge) -> dict[str, str]:
        """The attributes of an edge, as DOT."""
        return {name: quote(value) for name, value in STREAM_STYLES[stream(edge)].items()}

    def boxes(self) -> list[str]:
        """The boxes around loops and lanes, as lines of DOT."""
        return self._inside(())

    def _inside(self, outer: Path) -> list[str]:
        """The boxes in a lane, or those that no lane has."""
        depth, lines = len(outer), []
        paths = {path for path in self._lanes.values() if path[:depth] == outer}
        for loop, number in sorted({path[depth] for path in paths if len(path) > depth}):
            inner = (*outer, (loop, number))
            lines += _box(f"lane{_called(inner)}", f"lane {number} of {loop}", _LANE)
            lines += ["  " + line for line in self._inside(inner)]
            lines.append("  }")
        nodes = [node for node in self.graph.nodes if self._lanes[node.name] == outer]
        lines += self._loops(nodes, _called(outer))
        return lines + [f"  {quote(node.name)};" for node in nodes if outer]

    def _loops(self, nodes: Iterable[Node], suffix: str = "") -> list[str]:
        """Boxes around nodes that go through the coordinates of the same variable."""
        loops: dict[str, list[Node]] = {}
        for node in nodes:
            variable = self._variable(node)
            if variable is not None:
                loops.setdefault(variable, []).append(node)
        lines = []
        for variable, inside in loops.items():
            lines += _box(f"loop_{variable}{suffix}", f"loop {variable}", _LOOP)
            lines += [f"    {quote(node.name)};" for node in inside]
            lines.append("  }")
        return lines

    @cached_property
    def _ports(self) -> Mapping[str, Mapping[str, Port]]:
        return {
            node.name: {port.name: port for port in block_of(node).ports}
            for node in self.graph.nodes
        }

    @cached_property
    def _meanings(self) -> Mapping[End, Meant]:
        """The meanings of the streams; none are known in a graph that is not sound."""
        try:
            return meanings(self.graph)
        except UserError:
            return {}

    @cached_property
    def _into(self) -> Mapping[End, End]:
        return {edge.target: edge.source for edge in self.graph.edges}

    def _of(self, end: End | None) -> str | None:
        """The variable whose coordinates an output gives."""
        known = None if end is None else self._meanings.get(end)
        return min(known) if isinstance(known, frozenset) and known else None

    def _variable(self, node: Node) -> str | None:
        """The variable of the loop that a node belongs to: that of the coordinates that it repeats
        streams over, or gives beside references into inner levels."""
        if not self._meanings:
            return None
        ports = self._ports[node.name].values()
        for port in ports:
            if port.loop:
                return self._of(self._into.get(End(node.name, port.name)))
        outputs = [port for port in ports if port.direction == "out"]
        if all(port.stream != "ref" for port in outputs):
            return None
        made = [self._of(End(node.name, port.name)) for port in outputs if port.stream != "ref"]
        return next((variable for variable in made if variable is not None), None)

    @cached_property
    def _lanes(self) -> Mapping[str, Path]:
        """The lanes around each node; none are known in a graph that is not sound."""
        if not self._meanings:
            return {node.name: () for node in self.graph.nodes}
        found = lanes_of(self.graph)
        loops: dict[str, str] = {}
        around: dict[str, Path] = {}

        def path(name: str) -> Path:
            lane = found[name]
            if lane is None or lane[0] not in loops:
                return ()
            return (*around[lane[0]], (loops[lane[0]], lane[1]))

        for dealer in dealers(self.graph):
            around[dealer.name] = path(dealer.name)
            loop = self._of(self._into.get(End(dealer.name, "in_crd")))
            loops[dealer.name] = loop or dealer.name
        return {node.name: path(node.name) for node in self.graph.nodes}


_LOOP = 'style="rounded,filled"; color="#d0d0d0"; fillcolor="#f7f7f7";'
_LANE = 'style="rounded,filled"; color="#9a9a9a"; fillcolor="#ececec";'


def _called(path: Path) -> str:
    """The end of the name of a box in some lanes."""
    return "".join(f"_{loop}_{number}" for loop, number in path)


def _box(name: str, text: str, style: str) -> list[str]:
    return [
        f"  subgraph {quote(f'cluster_{name}')} {{",
        f"    label={label(text)}; labeljust=l; labelloc=t; fontsize=11; {style}",
    ]


def stream(edge: Edge) -> str:
    """The kind of an edge's stream, which one of its ports' names tells; "crd" if neither."""
    for port in (edge.source.port, edge.target.port.removeprefix("in_")):
        for prefix in STREAM_STYLES:
            if port.startswith(prefix):
                return prefix
    return "crd"


def _label(node: Node) -> str:
    """The name, then the kind and parameters that the name does not tell."""
    values = [node.parameters.get(key) for key in _TOLD]
    words = [value for value in values if isinstance(value, str) and value not in node.name]
    numbers = [str(value) for value in values if isinstance(value, int)]
    more = [*words, *numbers]
    kind = " ".join([node.kind.replace("_", " "), *more])
    return node.name if node.name.replace("_", " ") == kind else f"{node.name}\n{kind}"


def _tensor(node: Node) -> str | None:
    for key in _TENSOR_PARAMETERS:
        if isinstance(node.parameters.get(key), str):
            return str(node.parameters[key])
    return None
