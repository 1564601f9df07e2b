"""What a simulation tells: the result, the cycles, and where the cycles of each block went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

    ``graph``    what ran; of several graphs the last
    ``output``   the result, in the format that the program asks for; None for a graph without one
    ``cycles``   the cycle of the last firing of any block, plus one
    ``blocks``   by node name; a reducer that emits on its own has a second entry, ``.emitter``
    ``streams``  by edge, as in ``scan_B_i.crd -> repeat_C_i.in_crd``
    ``config``   the hardware config, fully resolved
    ``sinks``    by node name, the tokens that came to each sink
    ``notes``    what had to be done otherwise than the program asks
    ``parts``    the runs of the graphs of a program that has several, in turn: see ``in_turn``
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
    parts: tuple[Run, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens put on used streams, stop and done tokens included."""
        return sum(sum(stream.tokens.values()) for stream in self.streams.values())


def in_turn(runs: Sequence[Run]) -> Run:
    """Several runs, each begun when the one before is done, as one.

    The names of blocks and streams begin with the tensor that their graph makes, as in
    ``ws.scan_B_i``. The statistics of a block are those of its own run: they add up to the cycles
    of that, which ``parts`` tells.
    """
    if len(runs) == 1:
        return runs[0]
    blocks: dict[str, BlockStats] = {}
    streams: dict[str, StreamStats] = {}
    sinks: dict[str, list[tuple[int, Any]]] = {}
    for run in runs:
        tensor = "" if run.graph.result is None else run.graph.result.slot.tensor
        blocks |= {f"{tensor}.{name}": block for name, block in run.blocks.items()}
        streams |= {f"{tensor}.{name}": stream for name, stream in run.streams.items()}
        sinks |= {f"{tensor}.{name}": tokens for name, tokens in run.sinks.items()}
    engines = dict.fromkeys(run.engine for run in runs)
    return replace(
        runs[-1],
        cycles=sum(run.cycles for run in runs),
        blocks=blocks,
        streams=streams,
        sinks=sinks,
        engine=" and ".join(engines),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        parts=tuple(runs),
    )
