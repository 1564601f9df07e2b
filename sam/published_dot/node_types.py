"""The types of published nodes: the blocks that each becomes, and where its streams come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sam.blocks.alu import ALU
from sam.blocks.array import ARRAY
from sam.blocks.drop import COORDINATE_DROPPER
from sam.blocks.endpoints import root as add_root
from sam.blocks.merge import INTERSECTER, UNIONER
from sam.blocks.reduce import REDUCER
from sam.blocks.repeat import REPEATER
from sam.blocks.scan import LEVEL_SCANNER
from sam.blocks.writers import LEVEL_WRITER, VALUE_WRITER
from sam.graph import End
from sam.levels import LEVELS
from sam.published_dot.drawn import DrawnNode, DrawnStream
from sam.published_dot.reading import NodeType, Reading
from sam.support.errors import UserError, quoted


def _simple_out(**ports: str) -> Callable[[Reading, DrawnNode, DrawnStream, bool], End]:
    """The way out of a node that gives one stream of each kind."""

    def out(reading: Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
        if stream.kind not in ports:
            raise reading.refuse(node, stream)
        return End(reading.named(node), ports[stream.kind])

    return out


def _add_lookup(reading: Reading, node: DrawnNode) -> None:
    parameters = {"slot": node.get("tensor"), "level": reading.level(node)}
    ref = reading.reference(node, reading.streams(node, "ref"))
    reading.builder.add(LEVEL_SCANNER.name, reading.named(node), parameters, ref=ref)


def _add_repeat(reading: Reading, node: DrawnNode) -> None:
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


def _repeat_out(reading: Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    return End(reading.named(node), stream.kind)


@dataclass(frozen=True)
class _MergeOperand:
    """An operand of a merge: its coordinates, and its payloads with their labels."""

    crd: DrawnStream
    payloads: list[tuple[str, DrawnStream]]


def _operands(reading: Reading, node: DrawnNode) -> list[_MergeOperand]:
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


def _add_merge(kind: str) -> Callable[[Reading, DrawnNode], None]:
    def add(reading: Reading, node: DrawnNode) -> None:
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


def _merge_out(reading: Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    if stream.kind == "crd":
        return End(reading.named(node), "crd")
    label = stream.out.rpartition("-")[2]
    for n, one in enumerate(_operands(reading, node)):
        for k, (known, payload) in enumerate(one.payloads):
            if (known, payload.kind) == (label, stream.kind):
                return End(reading.named(node), f"{payload.kind}{n}_{k}")
    raise reading.refuse(node, stream)


def _add_array(reading: Reading, node: DrawnNode) -> None:
    streams = reading.streams(node, "ref")
    if not streams and reading.root is None:
        reading.root = add_root(reading.builder)
    ref = reading.reference(node, streams) if streams else reading.root
    assert ref is not None
    parameters = {"slot": node.get("tensor")}
    reading.builder.add(ARRAY.name, reading.named(node), parameters, ref=ref)


def _add_alu(operation: Callable[[DrawnNode], str]) -> Callable[[Reading, DrawnNode], None]:
    def add(reading: Reading, node: DrawnNode) -> None:
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


def _add_reduce(reading: Reading, node: DrawnNode) -> None:
    val = reading.end(reading.one(node, reading.streams(node, "val"), "val"))
    parameters = {"dimensions": 0, "empty": node.attributes.get("empty", "zero")}
    reading.builder.add(REDUCER.name, reading.named(node), parameters, val=val)


def _dimensions(node: DrawnNode) -> list[str]:
    """The variables that an accumulator keeps, outermost first."""
    order = node.number("order")
    return [node.get(f"in{k}") for k in reversed(range(order))]


def _add_accumulator(reading: Reading, node: DrawnNode) -> None:
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


def _outer(reading: Reading, node: DrawnNode) -> list[str]:
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


def _accumulator_out(reading: Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
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
    return node.is_set("vals") or node.get("inner") in ("val", "vals")


def _drop_streams(reading: Reading, node: DrawnNode) -> tuple[DrawnStream, list[DrawnStream]]:
    """The outer coordinates into a dropper, and the inner streams."""
    streams = reading.streams(node, "crd", "val")
    outer = [one for one in streams if one.kind == "crd" and one.variable == node.get("outer")]
    if len(outer) != 1:
        raise UserError(f"{node.where} reads no coordinates of {quoted(node.get('outer'))}")
    return outer[0], [stream for stream in streams if stream is not outer[0]]


def _add_drop(reading: Reading, node: DrawnNode) -> None:
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


def _drop_out(reading: Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    name = reading.named(node)
    if _drops_zeros(node):
        return End(name, stream.kind)
    if stream.kind == "crd" and stream.out.rpartition("-")[2] == node.get("outer"):
        return End(name, "crd")
    return End(name, f"{stream.kind}_inner")


def _held(reading: Reading, node: DrawnNode) -> tuple[DrawnStream, DrawnStream]:
    """The outer and the inner coordinates into a node that holds the outer ones."""
    found = {stream.variable: stream for stream in reading.streams(node, "crd")}
    for name in ("outer", "inner"):
        if node.get(name) not in found:
            raise UserError(f"{node.where} reads no coordinates of {quoted(node.get(name))}")
    return found[node.get("outer")], found[node.get("inner")]


def _add_hold(reading: Reading, node: DrawnNode) -> None:
    """Adds a repeater, unless no reader of the outer coordinates needs copies of them."""
    outer, inner = _held(reading, node)
    if _has_copies(reading, node):
        inputs = {"coordinates": reading.end(inner), "crd": reading.end(outer)}
        reading.builder.add(REPEATER.name, reading.named(node), {"stream": "crd"}, **inputs)


def _has_copies(reading: Reading, node: DrawnNode) -> bool:
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


def _hold_out(reading: Reading, node: DrawnNode, stream: DrawnStream, copies: bool) -> End:
    outer, inner = _held(reading, node)
    if stream.out.rpartition("-")[2] != node.get("outer"):
        return reading.end(inner, copies)
    return End(reading.named(node), "crd") if copies else reading.end(outer, False)


def _writers(reading: Reading) -> dict[int, DrawnNode]:
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


def _add_write(reading: Reading, node: DrawnNode) -> None:
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


def _write_name(reading: Reading, node: DrawnNode) -> str:
    what = "vals" if node.get("mode") == "vals" else node.get("index")
    return f"write_{node.get('tensor')}_{what}"


def _accumulator_name(reading: Reading, node: DrawnNode) -> str:
    return "reduce"


TYPES: Mapping[str, NodeType] = {
    "fiberlookup": NodeType(
        lambda reading, node: f"scan_{node.get('tensor')}_{node.get('index')}",
        _add_lookup,
        _simple_out(crd="crd", ref="ref"),
    ),
    "repeat": NodeType(
        lambda reading, node: f"repeat_{node.get('tensor')}_{node.get('index')}",
        _add_repeat,
        _repeat_out,
    ),
    "intersect": NodeType(
        lambda reading, node: f"intersect_{node.get('index')}",
        _add_merge(INTERSECTER.name),
        _merge_out,
    ),
    "union": NodeType(
        lambda reading, node: f"unite_{node.get('index')}", _add_merge(UNIONER.name), _merge_out
    ),
    "arrayvals": NodeType(
        lambda reading, node: f"array_{node.get('tensor')}", _add_array, _simple_out(val="val")
    ),
    "mul": NodeType(lambda reading, node: "multiply", _add_alu(_product), _simple_out(val="val")),
    "add": NodeType(lambda reading, node: _sum(node), _add_alu(_sum), _simple_out(val="val")),
    "reduce": NodeType(lambda reading, node: "reduce", _add_reduce, _simple_out(val="val")),
    "spaccumulator": NodeType(_accumulator_name, _add_accumulator, _accumulator_out),
    "crddrop": NodeType(lambda reading, node: f"drop_{node.get('outer')}", _add_drop, _drop_out),
    "crdhold": NodeType(
        lambda reading, node: f"hold_{node.get('outer')}_{node.get('inner')}", _add_hold, _hold_out
    ),
    "fiberwrite": NodeType(_write_name, _add_write, _simple_out(ref="ref")),
}
