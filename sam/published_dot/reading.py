"""A published graph while it is read: names of our nodes, streams into a node, slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sam.blocks.endpoints import root as add_root
from sam.graph import End, Graph, Result, Slot
from sam.graph_builder import GraphBuilder, unused
from sam.graph_json import parts_of
from sam.levels import LEVELS
from sam.published_dot.drawn import Drawn, DrawnNode, DrawnStream
from sam.published_dot.tensor_formats import TensorFormat, formats
from sam.support.errors import UserError, one_of, quoted

_ALSO = ("broadcast", "repsiggen")


@dataclass(frozen=True)
class NodeType:
    """A type of published nodes, and the blocks that nodes of it become.

    ``name``  our name of a node, if the text does not tell it
    ``add``   adds the blocks of a node
    ``out``   the output that a stream of a node comes from; the last argument tells whether held
              coordinates are wanted repeated, as copies, or as they were before
    """

    name: Callable[[Reading, DrawnNode], str]
    add: Callable[[Reading, DrawnNode], None]
    out: Callable[[Reading, DrawnNode, DrawnStream, bool], End]


@dataclass
class Reading:
    """A graph while it is read.

    ``types``  the known types of nodes, by name
    ``names``  of our nodes, by those in the text
    """

    text: Drawn
    types: Mapping[str, NodeType]
    stored: dict[str, TensorFormat] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    root: End | None = None
    result: str = ""

    def graph(self) -> Graph:
        """The graph."""
        self.stored = formats(self.text.attributes.get("comment", ""))
        for node in self.text.blocks():
            if node.type not in self.types:
                raise UserError(
                    f"{node.where} has no counterpart among our blocks",
                    hint=one_of(node.type, [*self.types, *_ALSO]),
                )
            if node.type == "fiberwrite":
                self._require_one_result(node)
            name = node.attributes.get("block") or self.types[node.type].name(self, node)
            self.names[node.id] = unused(name, self.names.values())
        if any(node.is_set("root") for node in self.text.blocks()):
            self.root = add_root(self.builder)
        for node in self.text.blocks():
            self.types[node.type].add(self, node)
        parts = parts_of(self.text.attributes)
        title = self.text.attributes.get("title", "")
        made = Graph(
            nodes=tuple(self.builder.nodes.values()),
            edges=tuple(self.builder.edges),
            title=title,
        )
        parts = {"slots": self._slots(), "result": self._result()} | parts
        return Graph(**{**vars(made), **parts})

    # Tensors

    def _require_one_result(self, node: DrawnNode) -> None:
        tensor = node.get("tensor")
        if self.result not in ("", tensor):
            raise UserError(f"the graph writes {self.result} and {tensor}; it must write one")
        self.result = tensor

    def storage(self, node: DrawnNode) -> TensorFormat:
        """The format of a node's tensor."""
        tensor = node.get("tensor")
        if tensor not in self.stored:
            raise UserError(
                f"{node.where} names the tensor {quoted(tensor)}, whose format the graph's comment "
                "does not tell",
                hint='comment="x=s0,B=ss01" has a format for each tensor',
            )
        return self.stored[tensor]

    def level(self, node: DrawnNode) -> int:
        """The level of a node's tensor that stores its mode."""
        mode, modes = node.number("mode"), self.storage(node).modes
        if mode not in modes:
            raise UserError(f"{node.where} has the mode {mode}, and the tensor has {len(modes)}")
        level = modes.index(mode)
        form = LEVELS[self.storage(node).levels[level]].name
        if node.attributes.get("format", form) != form:
            raise UserError(
                f"{node.where} says that mode {mode} is {quoted(node.get('format'))}, and the "
                f"graph's comment that it is {form}"
            )
        return level

    def _slots(self) -> tuple[Slot, ...]:
        """A slot for each tensor that is read."""
        read = dict.fromkeys(
            node.get("tensor")
            for node in self.text.blocks()
            if node.type in ("fiberlookup", "arrayvals")
        )
        slots = []
        for tensor in read:
            if tensor not in self.stored:
                raise UserError(f"the graph's comment tells no format of {quoted(tensor)}")
            stored = self.stored[tensor]
            names = self._variables(tensor, stored, "fiberlookup")
            modes = tuple((mode,) for mode in stored.modes)
            slots.append(Slot(tensor, tensor, stored.levels, modes, names))
        return tuple(slots)

    def _variables(self, tensor: str, stored: TensorFormat, type: str) -> tuple[str, ...]:
        """The index variable of each level of a tensor; a new one if no node reads the level."""
        known: dict[int, str] = {}
        for node in self.text.blocks():
            if node.type == type and node.get("tensor") == tensor and node.get("mode") != "vals":
                known.setdefault(node.number("mode"), node.get("index"))
        return tuple(known.get(mode, f"{tensor}_{mode}") for mode in stored.modes)

    def _result(self) -> Result | None:
        if not self.result:
            return None
        if self.result not in self.stored:
            raise UserError(f"the graph's comment tells no format of {quoted(self.result)}")
        stored = self.stored[self.result]
        names = self._variables(self.result, stored, "fiberwrite")
        modes = tuple((mode,) for mode in stored.modes)
        slot = Slot(self.result, self.result, stored.levels, modes, names)
        return Result(slot, stored.levels, stored.modes)

    # Streams

    def streams(self, node: DrawnNode, *kinds: str) -> list[DrawnStream]:
        """The streams of some kinds into a node, and those of no other kind."""
        found = self.text.into(node)
        other = next((stream for stream in found if stream.kind not in kinds), None)
        if other is not None:
            raise UserError(f"{node.where} reads a {other.kind} stream, which it does not take")
        return found

    def one(self, node: DrawnNode, streams: Sequence[DrawnStream], kind: str) -> DrawnStream:
        """The only stream of a kind."""
        found = [stream for stream in streams if stream.kind == kind]
        if len(found) != 1:
            raise UserError(f"{node.where} reads {len(found)} {kind} streams; it must read one")
        return found[0]

    def reference(self, node: DrawnNode, streams: Sequence[DrawnStream]) -> End:
        """The references into a node, or that of the root."""
        if node.is_set("root"):
            assert self.root is not None
            return self.root
        return self.end(self.one(node, streams, "ref"))

    def end(self, stream: DrawnStream, copies: bool = True) -> End:
        """The output that a stream comes from; without ``copies``, held coordinates as they were
        before they were repeated."""
        node = self.text.nodes[stream.source]
        return self.types[node.type].out(self, node, stream, copies)

    def named(self, node: DrawnNode) -> str:
        """The name of our node."""
        return self.names[node.id]

    def refuse(self, node: DrawnNode, stream: DrawnStream) -> UserError:
        """The error for a stream that a node does not give."""
        which = f" {quoted(stream.out)}" if stream.out else ""
        return UserError(f"{node.where} gives no {stream.kind} stream{which}")
