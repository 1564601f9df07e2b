"""Coordinate droppers (Definition 3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sam.blocks.base import CHILDLESS, CLOSED, INSIDE, WALK, Block, Kind, walk
from sam.blocks.parameters import STREAM, choice, many, optional
from sam.blocks.ports import into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, DONE, EMPTY, STOP


def drop_coordinates(p: Any, s: Any, m: Any) -> bool | None:
    """Removes outer coordinates with an empty inner fiber, and the stop token of that fiber.

    An empty fiber behind a stop token of the inner streams may replace that token, so the inner
    streams run one token late. The outer coordinate goes out with its fiber's first token.
    """
    kind, value = p.inners[0].peek()
    for stream in p.inners:
        stream.peek()
    if kind == DONE and s.holding:
        _release(p, s)
        return None
    opening = not s.open
    found = walk(p.in_outer, p.inners[0], s)
    if found == INSIDE:
        if opening:
            p.crd.give(s.kind, s.value)
        _release(p, s)
        _hold(p, s)
    elif found == CHILDLESS:
        if value == 0:
            for stream in p.inners:
                stream.take()
    elif found == CLOSED:
        if value > 0:
            p.crd.give(STOP, value - 1)
        if not (s.holding and s.kinds[0] == STOP and s.values[0] == 0):
            _release(p, s)
        _hold(p, s)
    else:
        p.crd.give(DONE, 0)
        for stream, result in zip(p.inners, p.results, strict=True):
            stream.take()
            result.give(DONE, 0)
        return True
    return None


def _hold(p: Any, s: Any) -> None:
    """Takes the inner tokens and keeps them back."""
    for n, stream in enumerate(p.inners):
        s.kinds[n], s.values[n] = stream.peek()
        stream.take()
    s.holding = True


def _release(p: Any, s: Any) -> None:
    """Emits the inner tokens that were kept back, if there are any."""
    if s.holding:
        for n, result in enumerate(p.results):
            result.give(s.kinds[n], s.values[n])
        s.holding = False


def drop_zeros(p: Any, s: Any, m: Any) -> bool | None:
    """Removes the coordinates whose value is zero."""
    kind, value = p.in_val.peek()
    crd_kind, coordinate = p.in_crd.peek()
    p.in_val.take()
    p.in_crd.take()
    if kind == EMPTY or (kind == DATA and value == 0):
        return None
    p.crd.give(crd_kind, coordinate)
    p.val.give(kind, value)
    return True if kind == DONE else None


def drop_absent(p: Any, s: Any, m: Any) -> bool | None:
    """Removes the coordinates whose value is ``N``."""
    kind, value = p.in_val.peek()
    crd_kind, coordinate = p.in_crd.peek()
    p.in_val.take()
    p.in_crd.take()
    if kind == EMPTY:
        return None
    p.crd.give(crd_kind, coordinate)
    p.val.give(kind, value)
    return True if kind == DONE else None


def _dropper(parameters: Parameters) -> Block:
    """Drops zeros, absent values, or outer coordinates of empty fibers; ``inner`` lists the inner
    streams."""
    if parameters["drop"] != "coordinates":
        return Block(
            ports=(
                into("in_crd", "crd"),
                into("in_val", "val"),
                out("crd", "crd", of=("in_crd",)),
                out("val", "val", of=("in_val",)),
            ),
            step=drop_zeros if parameters["drop"] == "zeros" else drop_absent,
        )
    streams = parameters["inner"]
    n = len(streams)
    return Block(
        ports=(
            into("in_outer", "crd"),
            *(into(f"in_inner_{stream}", stream, 1, group="inners") for stream in streams),
            out("crd", "crd", of=("in_outer",)),
            *(
                out(f"{stream}_inner", stream, 1, group="results", of=(f"in_inner_{stream}",))
                for stream in streams
            ),
        ),
        step=drop_coordinates,
        state={**WALK, "holding": False, "kinds": [EMPTY] * n, "values": [0] * n},
    )


COORDINATE_DROPPER = Kind(
    "coordinate_dropper",
    "coordinate_dropper",
    _dropper,
    {
        "drop": choice(("coordinates", "zeros", "absent")),
        "inner": optional(many(STREAM, least=1, distinct=True)),
    },
    work="drops coordinates",
)


def drop_childless(
    graph: GraphBuilder, name: str, outer: End, inner: Mapping[str, End]
) -> tuple[End, dict[str, End]]:
    """Adds a dropper of the outer coordinates whose inner fibers are empty.

    ``inner`` are the streams of the inner fibers by kind. Gives the outer coordinates and those.
    """
    parameters = {"drop": "coordinates", "inner": list(inner)}
    inputs = {f"inner_{kind}": end for kind, end in inner.items()}
    ports = graph.add("coordinate_dropper", name, parameters, outer=outer, **inputs)
    return ports["crd"], {kind: ports[f"{kind}_inner"] for kind in inner}


def drop_values(graph: GraphBuilder, name: str, what: str, crd: End, val: End) -> tuple[End, End]:
    """Adds a dropper of coordinates whose value is 0 (``zeros``) or ``N`` (``absent``)."""
    ports = graph.add("coordinate_dropper", name, {"drop": what}, crd=crd, val=val)
    return ports["crd"], ports["val"]
