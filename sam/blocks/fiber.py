"""Blocks that move whole fibers: for computed streams of several levels.

A scanned operand is carried through the merges of one level by its references, and its deeper
levels are scanned later. A computed operand has its deeper levels as streams already; they follow
the merges of an outer level fiber by fiber. Parameter ``streams`` lists the kinds of the streams
that are moved, all of one shape, ``depth`` levels below the coordinates that they follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Drawing, Kind, StreamError
from sam.blocks.block_memory import Growing
from sam.blocks.parameters import STREAM, many, whole
from sam.blocks.ports import Port, into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, STOP


def align(p: Any, s: Any, m: Any) -> bool | None:
    """Moves fibers from an old stream of outer coordinates to a new one.

    The fiber of a coordinate that the new stream lacks is removed, and a coordinate that the old
    stream lacks gets an empty fiber.
    """
    if s.moving:
        _move(p, s, m)
        return None
    new_kind, new_value = p.in_new.peek()
    if new_kind == DATA and s.open:
        _give(p, STOP, m.depth - 1)
        s.open = False
        return None
    old_kind, old_value = p.in_old.peek()
    if old_kind == DATA and (new_kind != DATA or old_value < new_value):
        p.in_old.take()
        s.moving, s.keep = True, False
    elif new_kind == DATA and (old_kind != DATA or new_value < old_value):
        p.in_new.take()
        s.open = True
    elif new_kind == DATA:
        p.in_old.take()
        p.in_new.take()
        s.moving, s.keep, s.open = True, True, True
    elif new_kind != old_kind or new_value != old_value:
        raise StreamError("the old and the new coordinates have different shapes")
    elif new_kind == STOP:
        if not s.ended:
            _take(p)
        p.in_old.take()
        p.in_new.take()
        _give(p, STOP, new_value + m.depth)
        s.open, s.ended = False, False
    else:
        _take(p)
        p.in_old.take()
        p.in_new.take()
        _give(p, new_kind, new_value)
        return True
    return None


def _move(p: Any, s: Any, m: Any) -> None:
    """Passes on or removes a token of a fiber. Its stop token waits for its level."""
    kind, value = p.inners[0].peek()
    for stream in p.inners:
        stream.peek()
    if kind == STOP and value >= m.depth - 1:
        s.moving = False
        s.ended = value >= m.depth
    elif s.keep:
        for stream, result in zip(p.inners, p.results, strict=True):
            inner_kind, inner_value = stream.peek()
            result.give(inner_kind, inner_value)
    _take(p)


def repeat_fibers(p: Any, s: Any, m: Any) -> bool | None:
    """Repeats a fiber for each coordinate; it is kept from its first passage on."""
    if s.moving:
        _record(p, s, m)
        return None
    if s.position < len(m.kinds[0]):
        for n, result in enumerate(p.results):
            result.give(m.kinds[n][s.position], m.values[n][s.position])
        s.position += 1
        return None
    kind, value = p.in_coordinates.peek()
    if kind == DATA and s.open:
        _give(p, STOP, m.depth - 1)
        s.open = False
    elif kind == DATA:
        p.in_coordinates.take()
        s.open = True
        s.moving = not s.recorded
        s.keep = True
        s.position = 0
    elif kind == STOP and not s.recorded:
        for stream in p.inners:
            stream.peek()
        s.moving, s.keep = True, False
        _record(p, s, m)
    elif kind == STOP:
        if s.level != value + m.depth - 1:
            raise StreamError("fibers and the coordinates that repeat them end differently")
        p.in_coordinates.take()
        _give(p, STOP, value + m.depth)
        for n in range(len(p.inners)):
            m.kinds[n].clear()
            m.values[n].clear()
        s.open, s.recorded, s.position = False, False, 0
    else:
        _take(p)
        p.in_coordinates.take()
        _give(p, kind, value)
        return True
    return None


def _record(p: Any, s: Any, m: Any) -> None:
    """Passes on a token of a fiber and keeps it, or skips the fiber; ends with its stop token."""
    kind, value = p.inners[0].peek()
    for stream in p.inners:
        stream.peek()
    if kind == STOP and value >= m.depth - 1:
        s.moving = False
        s.recorded = True
        s.level = value
    elif s.keep:
        for stream, result in zip(p.inners, p.results, strict=True):
            inner_kind, inner_value = stream.peek()
            result.give(inner_kind, inner_value)
        for n, stream in enumerate(p.inners):
            kept_kind, kept_value = stream.peek()
            m.kinds[n].append(kept_kind)
            m.values[n].append(kept_value)
        s.position += 1
    for stream in p.inners:
        stream.take()


def _take(p: Any) -> None:
    for stream in p.inners:
        stream.peek()
    for stream in p.inners:
        stream.take()


def _give(p: Any, kind: int, value: int) -> None:
    for result in p.results:
        result.give(kind, value)


def _moved(parameters: Parameters, deeper: int) -> tuple[Port, ...]:
    """The ports of the streams that are moved, which come out deeper than they go in."""
    streams, depth = parameters["streams"], parameters["depth"]
    return (
        *(into(f"in_{stream}", stream, depth, group="inners") for stream in streams),
        *(
            out(stream, stream, depth + deeper, group="results", of=(f"in_{stream}",))
            for stream in streams
        ),
    )


def _aligner(parameters: Parameters) -> Block:
    return Block(
        ports=(into("in_old", "crd"), into("in_new", "crd", operand=1), *_moved(parameters, 0)),
        step=align,
        state={"moving": False, "keep": False, "open": False, "ended": False},
        memory=lambda around: SimpleNamespace(depth=parameters["depth"]),
    )


def _fiber_repeater(parameters: Parameters) -> Block:
    streams = parameters["streams"]
    return Block(
        ports=(into("in_coordinates", "crd", 1, operand=1), *_moved(parameters, 1)),
        step=repeat_fibers,
        state={
            "moving": False,
            "keep": False,
            "open": False,
            "recorded": False,
            "level": 0,
            "position": 0,
        },
        memory=lambda around: SimpleNamespace(
            depth=parameters["depth"],
            kinds=tuple(Growing() for _ in streams),
            values=tuple(Growing(values=stream == "val") for stream in streams),
        ),
    )


_MOVED = {"streams": many(STREAM, least=1, distinct=True), "depth": whole(1)}
FIBER_ALIGNER = Kind("fiber_aligner", "fiber_aligner", _aligner, _MOVED)
FIBER_REPEATER = Kind(
    "fiber_repeater", "repeater", _fiber_repeater, _MOVED, drawing=Drawing("note"), work="repeats"
)


def repeat_nest(
    graph: GraphBuilder, name: str, depth: int, coordinates: End, streams: Mapping[str, End]
) -> dict[str, End]:
    """Adds a repeater of fibers, ``depth`` levels in, over coordinates around them.

    ``streams`` has the streams that are repeated, by kind; so has the result.
    """
    parameters = {"streams": list(streams), "depth": depth}
    ports = graph.add("fiber_repeater", name, parameters, coordinates=coordinates, **streams)
    return {kind: ports[kind] for kind in streams}


def align_nest(
    graph: GraphBuilder, name: str, depth: int, old: End, new: End, streams: Mapping[str, End]
) -> dict[str, End]:
    """Adds an aligner of fibers, ``depth`` levels below, from old coordinates to new ones."""
    parameters = {"streams": list(streams), "depth": depth}
    ports = graph.add("fiber_aligner", name, parameters, old=old, new=new, **streams)
    return {kind: ports[kind] for kind in streams}
