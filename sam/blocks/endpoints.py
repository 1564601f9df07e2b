"""Where streams begin and end: sources of given tokens, and sinks that keep all tokens.

The ``root`` starts every graph, with one reference to the root fiber of each tensor. Sources and
sinks put a generator and a checker around a block that is tested.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.blocks.base import Block, Drawing, Kind, Role, Surroundings, Values
from sam.blocks.block_memory import Growing, Written
from sam.blocks.parameters import STREAM, TEXT, whole
from sam.blocks.ports import ROOT as ROOT_POSITION
from sam.blocks.ports import Port, into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.support.errors import UserError, quoted
from sam.token import DATA, DONE, D, Token, parse_stream


def generate(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the next token."""
    kind = m.kinds[s.next]
    p.outs[0].give(kind, m.values[s.next])
    s.next += 1
    return True if kind == DONE else None


def keep(p: Any, s: Any, m: Any) -> bool | None:
    """Takes a token and keeps it."""
    kind, value = p.in_stream.peek()
    p.in_stream.take()
    m.kinds.append(kind)
    m.values.append(value)
    return True if kind == DONE else None


def _generator(port: Port, tokens: list[Token]) -> Block:
    def memory(around: Surroundings) -> Any:
        values: Any = [value for _, value in tokens]
        if port.stream == "bv" and not around.lists:
            values = np.array(values, np.uint64)  # else large words become floats
        kinds = around.numbers([kind for kind, _ in tokens])
        return SimpleNamespace(kinds=kinds, values=around.numbers(values))

    numbers = (value for _, value in tokens)
    first = next((value for value in numbers if not isinstance(value, int)), 0)
    return Block((port,), generate, {"next": 0}, memory, values=Values(number=first))


def _root(parameters: Parameters) -> Block:
    return _generator(out("ref", "ref", group="outs", meaning=ROOT_POSITION), [(DATA, 0), D])


def _source(parameters: Parameters) -> Block:
    """Emits the stream that ``tokens`` spells, of kind ``stream`` and depth ``depth``."""
    stream = parameters["stream"]
    port = out(stream, stream, parameters["depth"], group="outs")
    tokens = parse_stream(parameters["tokens"])
    if D not in tokens or tokens.index(D) < len(tokens) - 1:
        raise UserError(f"the tokens of a source end with D: {quoted(parameters['tokens'])}")
    return _generator(port, tokens)


def _sink(parameters: Parameters) -> Block:
    return Block(
        ports=(into("in_stream", "any"),),
        step=keep,
        memory=lambda around: SimpleNamespace(
            kinds=Growing(written=Written.IN_ORDER),
            values=Growing(values=True, written=Written.IN_ORDER),
        ),
    )


ROOT = Kind("root", None, _root, {}, source=True, drawing=Drawing("circle"))
SOURCE = Kind(
    "source", None, _source, {"stream": STREAM, "depth": whole(), "tokens": TEXT}, source=True
)
SINK = Kind("sink", None, _sink, {}, role=Role.SINK)


def root(graph: GraphBuilder) -> End:
    """Adds the root of a graph: the reference to the root fiber of each tensor."""
    return graph.add("root", "root")["ref"]
