"""What a simulation tells: the result, the cycles, and where the cycles of each block went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
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
    ``memory``   cycles spent waiting for a port of memory, for a place among the requests, or for
                 anything else while data that it has asked for were still on their way
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
class Traffic:
    """What a level of memory did for one tensor.

    ``reads``, ``writes``   requests of blocks, and of the level inside of it
    ``hits``, ``misses``    how often a line was there and was not; none in the level that arrays
                            live in
    ``peak_bytes``          the most that it held at once, with what lives there
    """

    reads: int
    writes: int
    bytes_read: int
    bytes_written: int
    hits: int
    misses: int
    peak_bytes: int
    energy_pj: float


@dataclass(frozen=True)
class MemoryStats:
    """What a level of memory did.

    ``busy``        by port, the cycles in which it moved data
    ``peak_bytes``  the most that it held at once
    ``tensors``     by tensor
    """

    busy: Sequence[float]
    peak_bytes: int
    tensors: Mapping[str, Traffic]

    @property
    def total(self) -> Traffic:
        """What it did for all tensors."""
        tensors = self.tensors.values()
        total = {f.name: sum(getattr(t, f.name) for t in tensors) for f in fields(Traffic)}
        return Traffic(**total | {"peak_bytes": self.peak_bytes})


@dataclass(frozen=True, repr=False)
class Run:
    """A finished simulation.

    ``graph``    what ran; of several graphs the last
    ``output``   the result, in the format that the program asks for; None for a graph without one
    ``cycles``   the cycle of the last firing of any block, plus one
    ``blocks``   by node name; a reducer that emits on its own has a second entry, ``.emitter``
    ``streams``  by edge, as in ``scan_B_i.crd -> repeat_C_i.in_crd``
    ``config``   the hardware config, fully resolved
    ``sinks``    by node name, the tokens that came to each sink
    ``memory``   by level of memory, from the outermost; none where memory is ideal
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
    memory: Mapping[str, MemoryStats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: tuple[Run, ...] = ()

    def __repr__(self) -> str:
        title = self.graph.title or "a graph"
        shape = "" if self.output is None else f", result {self.output!r}"
        return (
            f"Run({title}: {self.cycles:,} cycles on {self.config.get('name')}, "
            f"engine {self.engine}, {len(self.blocks)} blocks{shape})"
        )

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
        memory=_together([run.memory for run in runs]),
        engine=" and ".join(engines),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        parts=tuple(runs),
    )


def _together(memories: Sequence[Mapping[str, MemoryStats]]) -> dict[str, MemoryStats]:
    """What levels of memory did in several runs, one after the other."""
    names = dict.fromkeys(name for memory in memories for name in memory)
    found = {}
    for name in names:
        levels = [memory[name] for memory in memories if name in memory]
        busy = zip_longest(*(level.busy for level in levels), fillvalue=0.0)
        tensors: dict[str, Traffic] = {}
        for level in levels:
            for tensor, traffic in level.tensors.items():
                before = tensors.get(tensor)
                tensors[tensor] = traffic if before is None else _sum(before, traffic)
        found[name] = MemoryStats(
            list(map(sum, busy)), max(level.peak_bytes for level in levels), tensors
        )
    return found


def _sum(one: Traffic, other: Traffic) -> Traffic:
    """What happened in one run and then in another."""
    total = {f.name: getattr(one, f.name) + getattr(other, f.name) for f in fields(Traffic)}
    return Traffic(**total | {"peak_bytes": max(one.peak_bytes, other.peak_bytes)})
