"""Parallelizers and serializers: coarse-grained parallelism (SAM paper, Section 4.4).

A parallelizer deals the coordinates of a stream, one to each of its lanes in turn, with their
payloads: tokens of streams of the same shape, or, ``depth`` levels further in, fibers. The
ends of fibers go to all lanes, so each lane has all the fibers, with a part of the coordinates of
each. Lanes are dealt to round and round, beyond the ends of fibers.

A sum over the dealt variable ends in a reducer of several ways (``sam.blocks.reduce``). Otherwise a
serializer merges the lanes. A lane may have lost coordinates on the way, so the serializer compares
them: the smallest at the heads of all lanes comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Drawing, Kind, StreamError
from sam.blocks.parameters import STREAM, many, whole
from sam.blocks.ports import into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, STOP

_BEYOND = 2**62
"""More than any coordinate."""


def deal(p: Any, s: Any, m: Any) -> bool | None:
    """Gives a coordinate and its payloads to the next lane, and an end to all lanes."""
    kind, value = p.in_crd.peek()
    for stream in p.streams:
        stream.peek()
    for n, crd in enumerate(p.crds):
        if kind != DATA or s.lane == n:
            crd.give(kind, value)
    for result, lane, k in zip(p.results, m.lanes, m.streams, strict=True):
        stream_kind, stream_value = p.streams[k].peek()
        if kind != DATA or s.lane == lane:
            result.give(stream_kind, stream_value)
    p.in_crd.take()
    for stream in p.streams:
        stream.take()
    if kind == DATA:
        s.lane = (s.lane + 1) % len(p.crds)
        return None
    return None if kind == STOP else True


def deal_fibers(p: Any, s: Any, m: Any) -> bool | None:
    """Gives the fiber of a coordinate to the next lane, token by token.

    A fiber ends in its lane when the next fiber begins, or when the fiber around it ends.
    """
    if s.moving:
        _deal_on(p, s, m)
        return None
    kind, value = p.in_crd.peek()
    if kind == DATA:
        for result, lane in zip(p.results, m.lanes, strict=True):
            if s.lane == lane and s.open[lane]:
                result.give(STOP, m.depth - 1)
        for lane in range(len(s.open)):
            if s.lane == lane:
                s.open[lane] = True
        p.in_crd.take()
        s.moving = True
        return None
    if not s.ended:
        for stream in p.streams:
            stream.peek()
        for stream in p.streams:
            stream.take()
    p.in_crd.take()
    for result in p.results:
        result.give(kind, value + m.depth if kind == STOP else value)
    for lane in range(len(s.open)):
        s.open[lane] = False
    s.ended = False
    return None if kind == STOP else True


def _deal_on(p: Any, s: Any, m: Any) -> None:
    """Passes on a token of the fiber that is being dealt, or takes its end."""
    kind, value = p.streams[0].peek()
    for stream in p.streams:
        stream.peek()
    if kind == STOP and value >= m.depth - 1:
        s.moving = False
        s.ended = value >= m.depth
        s.lane = (s.lane + 1) % len(s.open)
    else:
        for result, lane, k in zip(p.results, m.lanes, m.streams, strict=True):
            stream_kind, stream_value = p.streams[k].peek()
            if s.lane == lane:
                result.give(stream_kind, stream_value)
    for stream in p.streams:
        stream.take()


def gather(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the smallest coordinate of all lanes, with its payloads."""
    smallest, lane, waiting = _survey(p)
    for stream in p.streams:
        stream.peek()
    kind, value = p.crds[0].peek()
    if waiting == len(p.crds):
        _require_alike(p)
        p.crd.give(kind, value)
        for result in p.results:
            result.give(kind, value)
        for stream in p.crds + p.streams:
            stream.take()
        return None if kind == STOP else True
    p.crd.give(DATA, smallest)
    for stream, owner, k in zip(p.streams, m.lanes, m.streams, strict=True):
        stream_kind, stream_value = stream.peek()
        if lane == owner:
            p.results[k].give(stream_kind, stream_value)
            stream.take()
    for n, crd in enumerate(p.crds):
        if lane == n:
            crd.take()
    return None


def gather_fibers(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the fiber of the smallest coordinate of all lanes, token by token."""
    if s.lane >= 0:
        _move(p, s, m)
        return None
    smallest, lane, waiting = _survey(p)
    if waiting < len(p.crds):
        if s.open:
            for result in p.results:
                result.give(STOP, m.depth - 1)
        for n, crd in enumerate(p.crds):
            if lane == n:
                crd.take()
        s.lane = lane
        s.open = True
        return None
    _require_alike(p)
    kind, value = p.crds[0].peek()
    for stream, owner in zip(p.streams, m.lanes, strict=True):
        if not s.ended[owner]:
            stream.peek()
    for stream, owner in zip(p.streams, m.lanes, strict=True):
        if not s.ended[owner]:
            stream.take()
    for crd in p.crds:
        crd.take()
    for result in p.results:
        result.give(kind, value + m.depth if kind == STOP else value)
    for lane in range(len(s.ended)):
        s.ended[lane] = False
    s.open = False
    return None if kind == STOP else True


def _move(p: Any, s: Any, m: Any) -> None:
    """Passes on a token of the fiber that is being moved. Its end waits for its level."""
    first_kind, first_value = DATA, 0
    for lane in range(len(s.ended)):
        if s.lane == lane:
            first_kind, first_value = p.streams[lane].peek()
    for stream, owner in zip(p.streams, m.lanes, strict=True):
        if s.lane == owner:
            stream.peek()
    for stream, owner, k in zip(p.streams, m.lanes, m.streams, strict=True):
        if s.lane == owner:
            kind, value = stream.peek()
            if kind != STOP or value < m.depth - 1:
                p.results[k].give(kind, value)
    for stream, owner in zip(p.streams, m.lanes, strict=True):
        if s.lane == owner:
            stream.take()
    if first_kind == STOP and first_value >= m.depth - 1:
        for lane in range(len(s.ended)):
            if s.lane == lane:
                s.ended[lane] = first_value >= m.depth
        s.lane = -1


def _survey(p: Any) -> tuple[int, int, int]:
    """The smallest coordinate at the heads, its lane, and how many lanes wait at an end."""
    smallest = _BEYOND
    lane = 0
    waiting = 0
    for n, crd in enumerate(p.crds):
        kind, value = crd.peek()
        waiting += kind != DATA
        lane = n if kind == DATA and value < smallest else lane
        smallest = min(smallest, value if kind == DATA else _BEYOND)
    return smallest, lane, waiting


def _require_alike(p: Any) -> None:
    """Raises StreamError unless all lanes wait at the same end."""
    kind, value = p.crds[0].peek()
    for crd in p.crds:
        other_kind, other_value = crd.peek()
        if other_kind != kind or other_value != value:
            raise StreamError("the lanes end their fibers differently")


def _streams(parameters: Parameters) -> tuple[list[str], list[tuple[str, str, int, int]]]:
    """The names of the streams that go along; and for each stream in each lane its name, its kind,
    the lane and the number of the stream. All lanes of one stream come before the next stream."""
    kinds = parameters["streams"]
    names = [f"{kind}{k}" for k, kind in enumerate(kinds)]
    lanes = range(parameters["lanes"])
    dealt = [(f"{names[k]}_{n}", kind, n, k) for k, kind in enumerate(kinds) for n in lanes]
    return names, dealt


def _memory(parameters: Parameters) -> SimpleNamespace:
    _, dealt = _streams(parameters)
    return SimpleNamespace(
        lanes=tuple(lane for _, _, lane, _ in dealt),
        streams=tuple(k for _, _, _, k in dealt),
        depth=parameters["depth"],
    )


def _parallelizer(parameters: Parameters) -> Block:
    """Deals ``streams``, a list of kinds, to so many ``lanes``; at ``depth`` 0 with coordinates."""
    depth, lanes = parameters["depth"], parameters["lanes"]
    names, dealt = _streams(parameters)
    crds = tuple(
        out(f"crd{n}", "crd", group="crds", of=("in_crd",))
        for n in range(lanes if depth == 0 else 0)
    )
    return Block(
        ports=(
            into("in_crd", "crd"),
            *(
                into(f"in_{name}", kind, depth, group="streams", payload=depth == 0)
                for name, kind in zip(names, parameters["streams"], strict=True)
            ),
            *crds,
            *(
                out(name, kind, depth, group="results", of=(f"in_{names[k]}",))
                for name, kind, _, k in dealt
            ),
        ),
        step=deal_fibers if depth else deal,
        state={"lane": 0, "moving": False, "ended": False, "open": [False] * lanes},
        memory=lambda around: _memory(parameters),
        groups=("streams", "results"),
    )


def _serializer(parameters: Parameters) -> Block:
    """Joins the streams that a parallelizer has dealt; at ``depth`` 0 the coordinates too."""
    depth, lanes = parameters["depth"], parameters["lanes"]
    names, dealt = _streams(parameters)
    return Block(
        ports=(
            *(into(f"in_crd{n}", "crd", group="crds", operand=n) for n in range(lanes)),
            *(
                into(f"in_{name}", kind, depth, group="streams", operand=n, payload=depth == 0)
                for name, kind, n, _ in dealt
            ),
            *((out("crd", "crd", of=tuple(f"in_crd{n}" for n in range(lanes))),) * (depth == 0)),
            *(
                out(
                    name,
                    kind,
                    depth,
                    group="results",
                    of=tuple(f"in_{name}_{lane}" for lane in range(lanes)),
                )
                for name, kind in zip(names, parameters["streams"], strict=True)
            ),
        ),
        step=gather_fibers if depth else gather,
        state={"lane": -1, "open": False, "ended": [False] * lanes},
        memory=lambda around: _memory(parameters),
        groups=("streams", "results"),
    )


_LANES = {"lanes": whole(1), "streams": many(STREAM), "depth": whole()}
PARALLELIZER = Kind(
    "parallelizer",
    "parallelizer",
    _parallelizer,
    _LANES,
    drawing=Drawing("trapezium"),
    work="deals to lanes",
    deals=True,
)
SERIALIZER = Kind(
    "serializer",
    "serializer",
    _serializer,
    _LANES,
    drawing=Drawing("invtrapezium"),
    work="joins lanes",
)


def deal_to_lanes(
    graph: GraphBuilder,
    name: str,
    lanes: int,
    crd: End,
    streams: Sequence[tuple[str, End]],
    depth: int = 0,
) -> list[tuple[End, list[End]]]:
    """Adds a parallelizer of coordinates, or of fibers ``depth`` levels below them.

    ``streams`` are kinds and ends. Gives the coordinates and the streams of each lane; the
    coordinates exist at depth 0 alone.
    """
    kinds = [kind for kind, _ in streams]
    names = [f"{kind}{k}" for k, kind in enumerate(kinds)]
    inputs = {name: end for name, (_, end) in zip(names, streams, strict=True)}
    parameters = {"lanes": lanes, "streams": kinds, "depth": depth}
    ports = graph.add("parallelizer", name, parameters, crd=crd, **inputs)
    return [(ports[f"crd{n}"], [ports[f"{stream}_{n}"] for stream in names]) for n in range(lanes)]


def join_lanes(
    graph: GraphBuilder,
    name: str,
    kinds: Sequence[str],
    lanes: Sequence[tuple[End, Sequence[End]]],
    depth: int = 0,
) -> tuple[End, list[End]]:
    """Adds a serializer of the streams of lanes, ``depth`` levels below their coordinates.

    Each lane is its coordinates and its streams, of the given kinds. Gives the coordinates, which
    exist at depth 0 alone, and the streams.
    """
    inputs = {f"crd{n}": crd for n, (crd, _) in enumerate(lanes)}
    for n, (_, streams) in enumerate(lanes):
        inputs |= {
            f"{kind}{k}_{n}": end for k, (kind, end) in enumerate(zip(kinds, streams, strict=True))
        }
    parameters = {"lanes": len(lanes), "streams": list(kinds), "depth": depth}
    ports = graph.add("serializer", name, parameters, **inputs)
    return ports["crd"], [ports[f"{kind}{k}"] for k, kind in enumerate(kinds)]
