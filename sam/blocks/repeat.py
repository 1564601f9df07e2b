"""Repeaters (Definition 3.4)."""

from __future__ import annotations

from typing import Any

from sam.blocks.base import CHILDLESS, FINISHED, INSIDE, WALK, Block, Drawing, Kind, walk
from sam.blocks.parameters import STREAM
from sam.blocks.ports import into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DONE, STOP


def repeat(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the reference or value once for each coordinate of its fiber; ``N`` as ``N``."""
    found = walk(p.payloads[0], p.in_coordinates, s)
    kind, value = p.in_coordinates.peek()
    if found == INSIDE:
        p.in_coordinates.take()
        p.results[0].give(s.kind, s.value)
    elif found == FINISHED:
        p.in_coordinates.take()
        p.results[0].give(DONE, 0)
        return True
    elif found != CHILDLESS or value == 0:
        p.in_coordinates.take()
        p.results[0].give(STOP, value)
    return None


def _repeater(parameters: Parameters) -> Block:
    stream = parameters["stream"]
    return Block(
        ports=(
            into("in_coordinates", "crd", 1, loop=True),
            into(f"in_{stream}", stream, group="payloads", payload=True),
            out(stream, stream, 1, group="results", of=(f"in_{stream}",)),
        ),
        step=repeat,
        state=WALK,
    )


REPEATER = Kind(
    "repeater", "repeater", _repeater, {"stream": STREAM}, drawing=Drawing("note"), work="repeats"
)


def repeat_stream(graph: GraphBuilder, name: str, kind: str, stream: End, coordinates: End) -> End:
    """Adds a repeater of a stream of some kind over the coordinates of its fibers."""
    inputs = {"coordinates": coordinates, kind: stream}
    return graph.add("repeater", name, {"stream": kind}, **inputs)[kind]
