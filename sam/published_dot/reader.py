"""Published graphs read: each node becomes a block with the streams that it reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sam.blocks.alu import ALU
from sam.blocks.array import ARRAY
from sam.blocks.drop import COORDINATE_DROPPER
from sam.blocks.endpoints import root as add_root
from sam.blocks.merge import INTERSECTER, UNIONER
from sam.blocks.reduce import REDUCER
from sam.blocks.repeat import REPEATER
from sam.blocks.scan import LEVEL_SCANNER
from sam.blocks.writers import LEVEL_WRITER, VALUE_WRITER
from sam.graph import End, Graph, Result, Slot
from sam.graph_builder import GraphBuilder, unused
from sam.graph_json import parts_of
from sam.levels import LEVELS
from sam.published_dot.drawn import Drawn, DrawnNode, DrawnStream, drawn
from sam.support.errors import UserError, one_of, quoted

if TYPE_CHECKING:
    import pydot

_FORMAT = re.compile(r"\s*(\w+)\s*=\s*(?:none|([a-z]*)(\d*))\s*")


def from_published(graph: pydot.Dot) -> Graph:
    """The graph that a text of the published dialect draws.

    Raises UserError where a node's type has no block, and where a node or an edge lacks what its
    block needs.
    """
    return _Reading(drawn(graph)).graph()


@dataclass(frozen=True)
class _TensorFormat:
    """A tensor's format in the comment: level formats and the mode that each level stores."""

    levels: str
    modes: tuple[int, ...]


@dataclass
class _Reading:
    """A graph while it is read.

    ``names``  of our nodes, by those in the text
    """

    text: Drawn
    stored: dict[str, _TensorFormat] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    root: End | None = None
    result: str = ""

    def graph(self) -> Graph:
        """The graph."""
        self.stored = _formats(self.text.attributes.get("comment", ""))
        for node in self.text.blocks():
            if node.type not in _TYPES:
                raise UserError(
                    f"{node.where} has no counterpart among our blocks",
                    hint=one_of(node.type, [*_TYPES, *_ALSO]),
                )
            if node.type == "fiberwrite":
                self._require_one_result(node)
            name = node.attributes.get("block") or _TYPES[node.type].name(self, node)
            self.names[node.id] = unused(name, self.names.values())
        if any(node.is_set("root") for node in self.text.blocks()):
            self.root = add_root(self.builder)
        for node in self.text.blocks():
            _TYPES[node.type].add(self, node)
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

    def storage(self, node: DrawnNode) -> _TensorFormat:
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

    def _variables(self, tensor: str, stored: _TensorFormat, type: str) -> tuple[str, ...]:
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
        return _TYPES[node.type].out(self, node, stream, copies)

    def named(self, node: DrawnNode) -> str:
        """The name of our node."""
        return self.names[node.id]

    def refuse(self, node: DrawnNode, stream: DrawnStream) -> UserError:
        """The error for a stream that a node does not give."""
        which = f" {quoted(stream.out)}" if stream.out else ""
        return UserError(f"{node.where} gives no {stream.kind} stream{which}")


def _formats(comment: str) -> dict[str, _TensorFormat]:
    """The formats in the graph's comment, by tensor."""
    found = {}
    for part in comment.split(",") if comment.strip() else ():
        match = _FORMAT.fullmatch(part)
        if match is None:
            raise UserError(
                f'the graph\'s comment has no format in "{quoted(part.strip())}"',
                hint="as in x=s0,B=ss10,a=none",
            )
        levels, digits = match[2] or "", match[3] or ""
        unknown = [code for code in levels if code not in LEVELS]
        if unknown:
            raise UserError(
                f"{match[1]} has the unknown level format {unknown[0]}",
                hint=one_of(unknown[0], LEVELS),
            )
        modes = tuple(int(digit) for digit in digits)
        if sorted(modes) != [*range(len(levels))]:
            raise UserError(
                f'the format "{quoted(part.strip())}" does not store each mode once',
                hint="a digit for each level, as in B=ss10",
            )
        found[match[1]] = _TensorFormat(levels, modes)
    return found


# Each type: its name here by default, how it is added, and where its streams come out.


@dataclass(frozen=True)
class _NodeType:
    name: Callable[[_Reading, DrawnNode], str]
    add: Callable[[_Reading, DrawnNode], None]
    out: Callable[[_Reading, DrawnNode, DrawnStream, bool], End]


def _simple_out(**ports: str) -> Callable[[_Reading, DrawnNode, DrawnStream, bool], End]:
    """The way out of a node that gives one stream of each kind."""

    def out(reading: _Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
        if stream.kind not in ports:
            raise reading.refuse(node, stream)
        return End(reading.named(node), ports[stream.kind])

    return out


def _add_lookup(reading: _Reading, node: DrawnNode) -> None:
    parameters = {"slot": node.get("tensor"), "level": reading.level(node)}
    ref = reading.reference(node, reading.streams(node, "ref"))
    reading.builder.add(LEVEL_SCANNER.name, reading.named(node), parameters, ref=ref)


def _add_repeat(reading: _Reading, node: DrawnNode) -> None:
    streams = reading.streams(node, "crd", "ref", "val")
    coordinates = reading.end(reading.one(node, streams, "crd"))
    kind = "val" if any(stream.kind == "val" for stream in streams) else "ref"
    repeated = (
        reading.reference(node, streams)
        if kind == "ref"
        else reading.end(reading.one(node, streams, kind))
    )
    inputs = {"coordinates": coordinates, kind: repeated}
    reading.builder.add(REPEATER.name, reading.named(node), {"stream": kind}, **inputs)


def _repeat_out(reading: _Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    return End(reading.named(node), stream.kind)


@dataclass(frozen=True)
class _MergeOperand:
    """An operand of a merge: its coordinates, and its payloads with their labels."""

    crd: DrawnStream
    payloads: list[tuple[str, DrawnStream]]


def _operands(reading: _Reading, node: DrawnNode) -> list[_MergeOperand]:
    """The operands of a merge. A payload belongs to the coordinates that have its label, or come
    from the same node."""
    streams = reading.streams(node, "crd", "ref", "val")
    operands = [_MergeOperand(stream, []) for stream in streams if stream.kind == "crd"]
    for stream in streams:
        if stream.kind == "crd":
            continue
        label = stream.variable
        named = [one for one in operands if one.crd.variable in (label, label.rpartition(".")[0])]
        owner = next(
            iter([*named, *(one for one in operands if one.crd.source == stream.source)]), None
        )
        if owner is None:
            raise UserError(
                f"{node.where} reads {stream.kind} {quoted(stream.into)}, which goes with none of "
                "its coordinates"
            )
        owner.payloads.append((label, stream))
    return operands


def _add_merge(kind: str) -> Callable[[_Reading, DrawnNode], None]:
    def add(reading: _Reading, node: DrawnNode) -> None:
        operands = _operands(reading, node)
        inputs = {f"crd{n}": reading.end(one.crd) for n, one in enumerate(operands)}
        inputs |= {
            f"{stream.kind}{n}_{k}": reading.end(stream)
            for n, one in enumerate(operands)
            for k, (_, stream) in enumerate(one.payloads)
        }
        payloads = [[stream.kind for _, stream in one.payloads] for one in operands]
        reading.builder.add(kind, reading.named(node), {"payloads": payloads}, **inputs)

    return add


def _merge_out(reading: _Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    if stream.kind == "crd":
        return End(reading.named(node), "crd")
    label = stream.out.rpartition("-")[2]
    for n, one in enumerate(_operands(reading, node)):
        for k, (known, payload) in enumerate(one.payloads):
            if (known, payload.kind) == (label, stream.kind):
                return End(reading.named(node), f"{payload.kind}{n}_{k}")
    raise reading.refuse(node, stream)


def _add_array(reading: _Reading, node: DrawnNode) -> None:
    streams = reading.streams(node, "ref")
    if not streams and reading.root is None:
        reading.root = add_root(reading.builder)
    ref = reading.reference(node, streams) if streams else reading.root
    assert ref is not None
    parameters = {"slot": node.get("tensor")}
    reading.builder.add(ARRAY.name, reading.named(node), parameters, ref=ref)


def _add_alu(operation: Callable[[DrawnNode], str]) -> Callable[[_Reading, DrawnNode], None]:
    def add(reading: _Reading, node: DrawnNode) -> None:
        streams = reading.streams(node, "val")
        if len(streams) != 2:
            raise UserError(f"{node.where} reads {len(streams)} values; it must read two")
        inputs = {f"val{n}": reading.end(stream) for n, stream in enumerate(streams)}
        parameters = {"operation": operation(node)}
        reading.builder.add(ALU.name, reading.named(node), parameters, **inputs)

    return add


def _sum(node: DrawnNode) -> str:
    return "subtract" if node.is_set("sub") else "add"


def _product(node: DrawnNode) -> str:
    return "multiply"


def _add_reduce(reading: _Reading, node: DrawnNode) -> None:
    val = reading.end(reading.one(node, reading.streams(node, "val"), "val"))
    parameters = {"dimensions": 0, "empty": node.attributes.get("empty", "zero")}
    reading.builder.add(REDUCER.name, reading.named(node), parameters, val=val)


def _dimensions(node: DrawnNode) -> list[str]:
    """The variables that an accumulator keeps, outermost first."""
    order = node.number("order")
    return [node.get(f"in{k}") for k in reversed(range(order))]


def _add_accumulator(reading: _Reading, node: DrawnNode) -> None:
    streams = reading.streams(node, "crd", "val")
    kept = _dimensions(node)
    coming = {stream.variable: stream for stream in streams if stream.kind == "crd"}
    for variable in kept:
        if variable not in coming:
            raise UserError(f"{node.where} reads no coordinates of {quoted(variable)}")
    inputs = {f"crd{k}": reading.end(coming[name], False) for k, name in enumerate(kept)}
    inputs["val"] = reading.end(reading.one(node, streams, "val"))
    name = reading.named(node)
    reading.builder.add(REDUCER.name, name, {"dimensions": len(kept)}, **inputs)
    inner: dict[str, End] = {"crd": End(name, "crd0")}
    if len(kept) == 1:
        inner["val"] = End(name, "val")
    for variable in _outer(reading, node):
        if variable not in coming:
            raise UserError(f"{node.where} reads no coordinates of {quoted(variable)}")
        outer = reading.end(coming[variable], False)
        drop = f"{name}_drop_{variable}"
        ports = {f"inner_{kind}": end for kind, end in inner.items()}
        parameters = {"drop": "coordinates", "inner": [*inner]}
        reading.builder.add(COORDINATE_DROPPER.name, drop, parameters, outer=outer, **ports)
        inner = {"crd": End(drop, "crd")}


def _outer(reading: _Reading, node: DrawnNode) -> list[str]:
    """The variables around those that an accumulator keeps, innermost first, whose coordinates it
    reads. Coordinates without a point are dropped, as the published accumulator reads those of
    points alone.
    """
    kept = _dimensions(node)
    wanted = {label.rpartition("-")[2] for label in reading.text.read_out(node)}
    known = (f"in{k}" for k in range(len(kept), len(kept) + 16))
    around = [node.attributes[name] for name in known if name in node.attributes]
    last = max((n for n, variable in enumerate(around) if variable in wanted), default=-1)
    return around[: last + 1]


def _accumulator_out(reading: _Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    name, kept, outer = reading.named(node), _dimensions(node), _outer(reading, node)
    drops = [f"{name}_drop_{variable}" for variable in outer]
    if stream.kind == "val":
        return End(drops[0], "val_inner") if drops and len(kept) == 1 else End(name, "val")
    variable = stream.out.rpartition("-")[2]
    if variable in outer:
        n = outer.index(variable)
        return End(drops[n + 1], "crd_inner") if n + 1 < len(drops) else End(drops[n], "crd")
    if variable not in kept:
        raise reading.refuse(node, stream)
    k = kept.index(variable)
    return End(drops[0], "crd_inner") if drops and k == 0 else End(name, f"crd{k}")


def _drops_zeros(node: DrawnNode) -> bool:
    return node.is_set("vals") or node.get("inner") == "vals"


def _drop_streams(reading: _Reading, node: DrawnNode) -> tuple[DrawnStream, list[DrawnStream]]:
    """The outer coordinates into a dropper, and the inner streams."""
    streams = reading.streams(node, "crd", "val")
    outer = [one for one in streams if one.kind == "crd" and one.variable == node.get("outer")]
    if len(outer) != 1:
        raise UserError(f"{node.where} reads no coordinates of {quoted(node.get('outer'))}")
    return outer[0], [stream for stream in streams if stream is not outer[0]]


def _add_drop(reading: _Reading, node: DrawnNode) -> None:
    outer, inner = _drop_streams(reading, node)
    name = reading.named(node)
    if _drops_zeros(node):
        val = reading.end(reading.one(node, inner, "val"))
        inputs = {"crd": reading.end(outer), "val": val}
        reading.builder.add(COORDINATE_DROPPER.name, name, {"drop": "zeros"}, **inputs)
        return
    kinds = [stream.kind for stream in inner]
    if not kinds or len({*kinds}) < len(kinds):
        raise UserError(
            f"{node.where} reads {len(kinds)} inner streams; it must read coordinates, values or "
            "both"
        )
    inputs = {"outer": reading.end(outer)}
    inputs |= {f"inner_{stream.kind}": reading.end(stream) for stream in inner}
    parameters = {"drop": "coordinates", "inner": kinds}
    reading.builder.add(COORDINATE_DROPPER.name, name, parameters, **inputs)


def _drop_out(reading: _Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    name = reading.named(node)
    if _drops_zeros(node):
        return End(name, stream.kind)
    if stream.kind == "crd" and stream.out.rpartition("-")[2] == node.get("outer"):
        return End(name, "crd")
    return End(name, f"{stream.kind}_inner")


def _held(reading: _Reading, node: DrawnNode) -> tuple[DrawnStream, DrawnStream]:
    """The outer and the inner coordinates into a node that holds the outer ones."""
    found = {stream.variable: stream for stream in reading.streams(node, "crd")}
    for name in ("outer", "inner"):
        if node.get(name) not in found:
            raise UserError(f"{node.where} reads no coordinates of {quoted(node.get(name))}")
    return found[node.get("outer")], found[node.get("inner")]


def _add_hold(reading: _Reading, node: DrawnNode) -> None:
    """Adds a repeater, unless no reader of the outer coordinates needs copies of them."""
    outer, inner = _held(reading, node)
    if _has_copies(reading, node):
        inputs = {"coordinates": reading.end(inner), "crd": reading.end(outer)}
        reading.builder.add(REPEATER.name, reading.named(node), {"stream": "crd"}, **inputs)


def _has_copies(reading: _Reading, node: DrawnNode) -> bool:
    """Whether some reader of the outer coordinates is neither an accumulator nor leads to one."""
    outer = node.get("outer")
    for reader in reading.text.blocks():
        for stream in reading.text.into(reader):
            if stream.source != node.id or stream.out.rpartition("-")[2] != outer:
                continue
            if reader.type == "crdhold" and stream.variable == reader.get("outer"):
                if _has_copies(reading, reader):
                    return True
            elif reader.type != "spaccumulator":
                return True
    return False


def _hold_out(reading: _Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    outer, inner = _held(reading, node)
    if stream.out.rpartition("-")[2] != node.get("outer"):
        return reading.end(inner, copies)
    return End(reading.named(node), "crd") if copies else reading.end(outer, False)


def _writers(reading: _Reading) -> dict[int, DrawnNode]:
    """The writers of the result by level; the value writer comes last."""
    found = {}
    for node in reading.text.blocks():
        if node.type == "fiberwrite":
            values = node.get("mode") == "vals"
            level = len(reading.storage(node).levels) if values else reading.level(node)
            if level in found:
                raise UserError(f"{node.where} writes the same array as another node")
            found[level] = node
    return found


def _add_write(reading: _Reading, node: DrawnNode) -> None:
    stored, tensor = reading.storage(node), node.get("tensor")
    values = node.get("mode") == "vals"
    kind = "val" if values else "crd"
    streams = reading.streams(node, kind, "ref")
    inputs = {kind: reading.end(reading.one(node, streams, kind))}
    level = len(stored.levels) if values else reading.level(node)
    # The next level is told positions where either level is not just appended to.
    told = level > 0 and not all(
        LEVELS[code].appends for code in stored.levels[level - 1 : level + 1]
    )
    if len(streams) > 1:
        inputs["ref"] = reading.end(reading.one(node, streams, "ref"))
    elif told:
        above = _writers(reading).get(level - 1)
        if above is None:
            raise UserError(f"{node.where}: nothing writes level {level - 1} of {tensor}")
        inputs["ref"] = End(reading.named(above), "ref")
    by_reference = "ref" in inputs
    if values:
        parameters: Mapping[str, Any] = {
            "slot": tensor,
            "by_reference": by_reference,
            "accumulate": node.is_set("accumulate"),
        }
        reading.builder.add(VALUE_WRITER.name, reading.named(node), parameters, **inputs)
        return
    parameters = {
        "slot": tensor,
        "level": level,
        "format": stored.levels[level],
        "variable": node.get("index"),
        "by_reference": by_reference,
    }
    reading.builder.add(LEVEL_WRITER.name, reading.named(node), parameters, **inputs)


def _write_name(reading: _Reading, node: DrawnNode) -> str:
    what = "vals" if node.get("mode") == "vals" else node.get("index")
    return f"write_{node.get('tensor')}_{what}"


def _accumulator_name(reading: _Reading, node: DrawnNode) -> str:
    return "reduce"


_TYPES: Mapping[str, _NodeType] = {
    "fiberlookup": _NodeType(
        lambda reading, node: f"scan_{node.get('tensor')}_{node.get('index')}",
        _add_lookup,
        _simple_out(crd="crd", ref="ref"),
    ),
    "repeat": _NodeType(
        lambda reading, node: f"repeat_{node.get('tensor')}_{node.get('index')}",
        _add_repeat,
        _repeat_out,
    ),
    "intersect": _NodeType(
        lambda reading, node: f"intersect_{node.get('index')}",
        _add_merge(INTERSECTER.name),
        _merge_out,
    ),
    "union": _NodeType(
        lambda reading, node: f"unite_{node.get('index')}", _add_merge(UNIONER.name), _merge_out
    ),
    "arrayvals": _NodeType(
        lambda reading, node: f"array_{node.get('tensor')}", _add_array, _simple_out(val="val")
    ),
    "mul": _NodeType(lambda reading, node: "multiply", _add_alu(_product), _simple_out(val="val")),
    "add": _NodeType(lambda reading, node: _sum(node), _add_alu(_sum), _simple_out(val="val")),
    "reduce": _NodeType(lambda reading, node: "reduce", _add_reduce, _simple_out(val="val")),
    "spaccumulator": _NodeType(_accumulator_name, _add_accumulator, _accumulator_out),
    "crddrop": _NodeType(lambda reading, node: f"drop_{node.get('outer')}", _add_drop, _drop_out),
    "crdhold": _NodeType(
        lambda reading, node: f"hold_{node.get('outer')}_{node.get('inner')}", _add_hold, _hold_out
    ),
    "fiberwrite": _NodeType(_write_name, _add_write, _simple_out(ref="ref")),
}
_ALSO = ("broadcast", "repsiggen")
