"""What a simulation tells: the result, the cycles, and where the cycles of each block went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sam.graph import Graph
from sam.tensor import Tensor

TOKEN_KINDS = ("data", "empty", "stop", "done")


@dataclass(frozen=True)
class BlockStats:
    """Where the cycles of one block went.

    ``fired``    how often it fired
    ``busy``     cycles in which it fired, or could not yet because of its initiation interval
    ``starved``  by input port, cycles spent waiting for a token that came last on that port
    ``blocked``  by output port, cycles spent waiting for room that came last behind that port
    ``memory``   cycles spent waiting for memory
    ``done``     cycles after its last firing
    ``tokens``   by output port, the tokens given: ``{"data": 3, "empty": 0, "stop": 1, "done": 1}``

    busy, starved, blocked, memory and done add up to the cycles of the run.
    """

    kind: str
    fired: int
    busy: int
    starved: Mapping[str, int]
    blocked: Mapping[str, int]
    memory: int
    done: int
    tokens: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class StreamStats:
    """What went through one edge: tokens by kind, and the most that its queue held at once."""

    tokens: Mapping[str, int]
    peak: int


@dataclass(frozen=True)
class Run:
    """A finished simulation.

    ``output``   the result, in the format that the program asks for; None for a graph without one
    ``cycles``   the cycle of the last firing of any block, plus one
    ``blocks``   by node name; a reducer that emits on its own has a second entry, ``.emitter``
    ``streams``  by edge, as in ``scan_B_i.crd -> repeat_C_i.in_crd``
    ``config``   the hardware config, fully resolved
    ``sinks``    by node name, the tokens that came to each sink
    ``notes``    what had to be done otherwise than the program asks
    """

    graph: Graph
    output: Tensor | None
    cycles: int
    blocks: Mapping[str, BlockStats]
    streams: Mapping[str, StreamStats]
    config: Mapping[str, Any]
    engine: str
    sinks: Mapping[str, list[tuple[int, Any]]]
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens put on used streams, stop and done tokens included."""
        return sum(sum(stream.tokens.values()) for stream in self.streams.values())
