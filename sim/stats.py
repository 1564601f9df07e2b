"""The outcome of a simulation: result, cycles, and where the cycles of each block went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING, Any

from sam.blocks import KINDS, block_of
from sam.graph import Graph
from sam.support.errors import UserError
from sam.tensor import Tensor
from sim.config.naming import called

if TYPE_CHECKING:
    from sim.attribution.critical_path import PathPart
    from sim.attribution.log import Log
    from sim.attribution.shares import Shares
    from sim.explain import Explanation
    from sim.order_of_service import Order

TOKEN_KINDS = ("data", "empty", "stop", "done")


@dataclass(frozen=True)
class BlockStats:
    """Where the cycles of one block went.

    ``fired``    how often it fired
    ``busy``     cycles in which it fired, or could not yet because of its initiation interval
    ``starved``  by input port, cycles spent waiting for a token that came last on that port
    ``blocked``  by output port, cycles spent waiting for room that came last behind that port
    ``memory``   cycles spent waiting for a port of memory, for a place among the requests, or for
                 anything else while requested data were on their way
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


def of_machine(blocks: Mapping[str, BlockStats]) -> dict[str, BlockStats]:
    """The blocks without those that stand outside the machine, such as the root."""
    outside = {kind.name for kind in KINDS.values() if kind.source}
    return {name: block for name, block in blocks.items() if block.kind not in outside}


@dataclass(frozen=True)
class StreamStats:
    """The traffic of one edge: tokens by kind, and the most that its queue held at once."""

    tokens: Mapping[str, int]
    peak: int


@dataclass(frozen=True)
class Traffic:
    """The traffic of a level of memory for one tensor.

    ``reads``, ``writes``   requests of blocks, and of the level inside of it
    ``hits``, ``misses``    accesses whose line was there, and was not; none in the level that
                            arrays live in
    ``peak_bytes``          the most bytes that it held at once, arrays that live there included
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
    """The work of a level of memory.

    ``busy``        by port, the cycles in which it moved data; writes may go on after the last
                    firing, so these may be more cycles than those of the run
    ``peak_bytes``  the most bytes that it held at once
    ``tensors``     by tensor
    ``before``      by port, the cycles of ``busy`` before the last transfer that a block waited
                    for; the run takes more than these
    """

    busy: Sequence[float]
    peak_bytes: int
    tensors: Mapping[str, Traffic]
    before: Sequence[float] = field(default_factory=list)

    @property
    def total(self) -> Traffic:
        """The level's traffic for all tensors."""
        tensors = self.tensors.values()
        total = {f.name: sum(getattr(t, f.name) for t in tensors) for f in fields(Traffic)}
        return Traffic(**total | {"peak_bytes": self.peak_bytes})


@dataclass(frozen=True)
class Alternative:
    """Another way to the same result: ``what`` it is, and ``how`` it is asked for, line by line.

    ``run`` runs it on the same inputs and config, and takes keyword arguments of ``simulate``.
    """

    what: str
    how: tuple[str, ...]
    run: Callable[..., Run]


@dataclass(frozen=True, repr=False)
class Run:
    """A finished simulation.

    ``graph``    the graph that ran; of several graphs the last
    ``output``   the result, in the format that the program asks for; None for a graph without one
    ``cycles``   the cycle of the last firing of any block, plus one
    ``blocks``   by node name; a reducer that emits on its own has a second entry, ``.emitter``
    ``streams``  by edge, as in ``scan_B_i.crd -> repeat_C_i.in_crd``
    ``config``   the hardware config, fully resolved
    ``sinks``    by node name, the tokens that came to each sink
    ``memory``   by level of memory, from the outermost; none if memory is ideal
    ``notes``    differences from what the program asks for
    ``parts``    the runs of the graphs of a program that has several, in turn: see ``in_turn``
    ``log``      why each firing waited, if the run was asked to keep it; of several graphs their
                 ``parts`` have it
    ``again``    runs the graph once more, as ``simulate`` does, with other keyword arguments
    ``about``    facts about the program: ``expression``, ``cin``, ``formats``, ``schedule`` and
                 ``notes``; empty for a graph by itself
    ``alternatives``  gives the other programs for the same expression that the compiler offers, or
                 other graphs
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
    log: Log | None = field(default=None, compare=False)
    again: Callable[..., Run] | None = field(default=None, compare=False)
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)
    alternatives: Callable[[], Sequence[Alternative]] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        title = self.about.get("expression") or self.graph.title or "a graph"
        shape = "" if self.output is None else f", result {self.output!r}"
        return (
            f"Run({title}: {self.cycles:,} cycles on {called(self.config)}, "
            f"engine {self.engine}, {len(self.blocks)} blocks{shape})"
        )

    @property
    def tokens(self) -> int:
        """Tokens put on used streams, stop and done tokens included."""
        return sum(sum(stream.tokens.values()) for stream in self.streams.values())

    @property
    def multipliers(self) -> list[BlockStats]:
        """The blocks that multiply; of several graphs, their parts have them."""
        graph = self.graph.nodes
        names = [one.name for one in graph if block_of(one).values.operation == "multiply"]
        return [self.blocks[name] for name in names]

    def block_records(self) -> list[dict[str, Any]]:
        """A record for each block, as pandas takes them: ``pandas.DataFrame(records)``."""
        from sim.notebook import block_records

        return block_records(self)

    def stream_records(self) -> list[dict[str, Any]]:
        """A record for each stream, as pandas takes them."""
        from sim.notebook import stream_records

        return stream_records(self)

    def _repr_html_(self) -> str:
        from sim.notebook import of_run

        return of_run(self)

    @cached_property
    def attributed(self) -> Run:
        """The run with its ``log``: this run, or a rerun that keeps it. Raises UserError."""
        runs = self.parts or (self,)
        if all(run.log is not None for run in runs):
            return self
        if self.again is None:
            raise UserError(
                "this run did not keep why its blocks waited",
                hint="simulate(..., attribution=True) of a run that is done",
            )
        return self.again(config=self.config, attribution=True)

    @property
    def orders(self) -> tuple[Order | None, ...]:
        """By graph, the order in which memory served its blocks and wires were read.

        None for a graph whose work does not depend on time. A run without ``log`` is run again.
        """
        runs = self.attributed.parts or (self.attributed,)
        return tuple(None if run.log is None else run.log.order for run in runs)

    def to_html(self, path: str | PathLike[str] | None = None, explained: bool = True) -> str:
        """The run as one self-contained HTML page; also written to ``path``, if any.

        With ``explained`` the page has the explanation, for which the graph is run some more times.
        Raises UserError if it cannot be run again and kept no ``log``.
        """
        from sam.support.files import write_whole
        from sim.report_page.page import page

        text = page(self, explained)
        if path is not None:
            write_whole(path, text)
        return text

    def to_trace(
        self,
        path: str | PathLike[str],
        window: tuple[int, int] | None = None,
        most_bytes: int | None = None,
    ) -> str | None:
        """Writes a trace for viewers: what blocks, queues and memory did from cycle to cycle.

        ``path``        .vcd for GTKWave and Surfer; .pftrace for Perfetto
        ``window``      the first cycle that is shown, and the one after the last
        ``most_bytes``  how large the file may be; 200 MB by default

        Gives a sentence on what the trace leaves out, if anything. Raises UserError for another
        suffix, and if the package that writes such a file is not installed.
        """
        from sim.traces import MOST_BYTES, writer_of

        most = MOST_BYTES if most_bytes is None else most_bytes
        return writer_of(path)(self, path, window, most)

    def explain(self) -> Explanation:
        """Why the run took as long as it did, and what would make it shorter.

        It is run again with each resource on its critical path made ideal. Raises UserError if
        it cannot be run again and kept no ``log``.
        """
        from sim.explain import explain

        return explain(self)

    @cached_property
    def critical_path(self) -> tuple[PathPart, ...]:
        """The causes that took the cycles of the run, largest first; they add up to ``cycles``.

        The causes of the last firing, walked back to the first cycle. A run without ``log`` is run
        again. For several graphs the names are those of ``in_turn``.
        """
        from sim.attribution import critical_path as paths

        runs = self.attributed.parts or (self.attributed,)
        found = [paths.critical_path(run.log) for run in runs if run.log is not None]
        return (
            found[0]
            if len(found) == 1
            else paths.in_turn([*zip(prefixes(runs), found, strict=True)])
        )

    @cached_property
    def attribution(self) -> Mapping[str, Shares]:
        """Where the cycles of each block went, and whose fault its waits are.

        The shares of a block add up to the cycles of its graph. A run without ``log`` is run again.
        """
        from sim.attribution.shares import shares

        runs = self.attributed.parts or (self.attributed,)
        found = [shares(run.log) for run in runs if run.log is not None]
        if len(found) == 1:
            return found[0]
        return {
            f"{prefix}.{name}": share
            for prefix, by_name in zip(prefixes(runs), found, strict=True)
            for name, share in by_name.items()
        }


def prefixes(runs: Sequence[Run]) -> list[str]:
    """The prefixes of block names for several runs in turn."""
    return ["" if run.graph.result is None else run.graph.result.slot.tensor or "" for run in runs]


def graphs_of(run: Run) -> list[tuple[Run, str]]:
    """The run of each graph, and what stands before the names of its blocks in the run of all."""
    before = [f"{prefix}." if prefix else "" for prefix in prefixes(run.parts)]
    return list(zip(run.parts, before, strict=True)) or [(run, "")]


def in_turn(runs: Sequence[Run]) -> Run:
    """Several runs, each begun when the one before is done, as one.

    The names of blocks and streams begin with the tensor that their graph makes, as in
    ``ws.scan_B_i``. The statistics of a block are those of its own run, and add up to the
    cycles of that run, which is in ``parts``.
    """
    if len(runs) == 1:
        return runs[0]
    blocks: dict[str, BlockStats] = {}
    streams: dict[str, StreamStats] = {}
    sinks: dict[str, list[tuple[int, Any]]] = {}
    for run, tensor in zip(runs, prefixes(runs), strict=True):
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
        log=None,
    )


def _together(memories: Sequence[Mapping[str, MemoryStats]]) -> dict[str, MemoryStats]:
    """The work of the levels of memory in several runs, one after the other."""
    names = dict.fromkeys(name for memory in memories for name in memory)
    found = {}
    for name in names:
        levels = [memory[name] for memory in memories if name in memory]
        busy = zip_longest(*(level.busy for level in levels), fillvalue=0.0)
        before = zip_longest(*(level.before for level in levels), fillvalue=0.0)
        tensors: dict[str, Traffic] = {}
        for level in levels:
            for tensor, traffic in level.tensors.items():
                known = tensors.get(tensor)
                tensors[tensor] = traffic if known is None else _sum(known, traffic)
        found[name] = MemoryStats(
            busy=list(map(sum, busy)),
            peak_bytes=max(level.peak_bytes for level in levels),
            tensors=tensors,
            before=list(map(sum, before)),
        )
    return found


def _sum(one: Traffic, other: Traffic) -> Traffic:
    """The traffic of two runs, one after the other."""
    total = {f.name: getattr(one, f.name) + getattr(other, f.name) for f in fields(Traffic)}
    return Traffic(**total | {"peak_bytes": max(one.peak_bytes, other.peak_bytes)})
