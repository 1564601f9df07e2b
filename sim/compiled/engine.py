"""The compiled engine: the same steps as the SimPy engine runs, translated to C.

Every block runs ahead in its own local time, many firings per call, until an input is empty or an
output is full; a scheduler wakes only what waits for what has moved. Tokens carry the cycle in
which they become visible, and places of queues the cycle in which they were freed, so a firing's
cycle comes out as in the SimPy engine, and with it all statistics. What reads a wire or touches
memory runs ahead no further than it may, as ``scheduler.c`` tells.

Kernels are compiled once for each step, arity and type of values, and kept on disk.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sam.blocks import KINDS, StreamError, block_of
from sam.blocks.base import Block, Step
from sam.blocks.block_memory import Accumulator, Growing, Stored, too_full
from sam.graph import Edge, End, Node
from sam.memory_regions import asks_memory
from sam.support.errors import UserError
from sim.binding import Bound
from sim.compiled.kernel import COMPLEX, INT, REAL, Port, Queue
from sim.compiled.memory import CompiledHierarchy
from sim.compiled.step_to_c import Kernel
from sim.compiled.translations import libraries, text, translation
from sim.config.hardware import BlockTiming, Config
from sim.deadlock import Wait, deadlock
from sim.endless import no_memory, no_progress, require_memory, too_long
from sim.memory.hierarchy import Layout
from sim.stats import TOKEN_KINDS, BlockStats, Run, StreamStats

Progress = Callable[[int], None]

_ROUNDS = 4096
_SECONDS_BETWEEN_LOOKS = 0.25
_PLACES, _GAP, _FEW, _SHORT = 1024, 8, 64, 17
_FINISHED, _FAILED, _OVER_CAPACITY = 4, 6, 7
_STARVED = 1
_NEVER = 2**62
# Cycles that a queue compares are less than this many apart, as what it compares lies few firings
# apart; but where the busiest block fires as seldom as this, they may be more.
_APART, _SELDOM = 2**31, 1024
_TYPES = {INT: np.int64, REAL: np.float64, COMPLEX: np.complex128}


def run(
    bound: Bound,
    config: Config,
    progress: Progress | None = None,
    max_cycles: int | None = None,
) -> Run:
    """Runs a bound graph to its end.

    Raises UserError where it deadlocks, makes no progress, or is not done in ``max_cycles``.
    """
    machine = _Machine(bound, config)
    try:
        machine.run(progress, max_cycles)
        return machine.report()
    finally:
        machine.close()


class _Queue(ctypes.Structure):
    _fields_ = [
        ("writer", ctypes.c_void_p),
        ("reader", ctypes.c_void_p),
        ("from_", ctypes.c_void_p),
        ("to", ctypes.c_void_p),
        ("oldest", ctypes.c_void_p),
        ("newest", ctypes.c_void_p),
        ("spare", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("size", "places", "head", "tail", "base")),
        ("depth", ctypes.c_int64),
        *((name, ctypes.c_int64) for name in ("latency", "seen", "batch", "peak", "grew")),
        *((name, ctypes.c_int64) for name in ("starves", "crowds", "prepared", "stamps", "wire")),
        ("latest", ctypes.c_uint32 * _FEW),
    ]


class _Growing(ctypes.Structure):
    _fields_ = [
        ("items", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("length", "room", "mapped")),
    ]


class _Accumulator(ctypes.Structure):
    _fields_ = [
        ("dimensions", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        *(
            (name, _Growing)
            for name in (
                *("points", "values", "table", "bits", "tops"),
                *("order", "out_points", "out_values"),
            )
        ),
    ]


class _Block(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("in_", "out")),
        ("outs", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("state", "memory", "numbers", "waits", "counts")),
        *((name, ctypes.c_void_p) for name in ("fire", "account", "pull")),
        ("pulls", ctypes.c_int64),
        ("awake", ctypes.c_void_p),
        ("bit", ctypes.c_uint64),
        *(
            (name, ctypes.c_int64)
            for name in ("interval", "ready", "fired", "tries", "always", "status", "port", "which")
        ),
        *((name, ctypes.c_int64) for name in ("key", "limit", "ahead")),
        *((name, ctypes.c_int64) for name in ("asks", "until", "reach")),
        *((name, ctypes.c_void_p) for name in ("hierarchy", "touch", "regions")),
        *((name, ctypes.c_int64) for name in ("asker", "taken", "served", "waited", "made")),
        ("places", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("outstanding", "place")),
    ]


class _Scheduled(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_int64),
        ("blocks", ctypes.c_void_p),
        ("awake", ctypes.c_void_p),
        ("failed", ctypes.c_int64),
        ("ordered_count", ctypes.c_int64),
        ("ordered", ctypes.c_void_p),
    ]


@dataclass
class _Part:
    """A block, or one half of it, while it is put together."""

    name: str
    node: Node
    step: Step
    state: Mapping[str, Any]
    memory: Any
    timing: BlockTiming
    values: str
    ports: dict[str, Any] = field(default_factory=dict)
    inputs: list[tuple[str, Edge]] = field(default_factory=list)
    outputs: list[tuple[str, list[Edge]]] = field(default_factory=list)
    channels_in: list[_Channel] = field(default_factory=list)
    channels_out: list[_Channel] = field(default_factory=list)
    counts: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    waits: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    block: _Block = field(default_factory=_Block)
    asks: bool = False

    @property
    def wires(self) -> list[_Channel]:
        """The wires that it reads."""
        return [channel for channel in self.channels_in if channel.wire]

    @property
    def ordered(self) -> bool:
        """Whether it depends on time."""
        return self.asks or bool(self.wires)


@dataclass
class _Channel:
    """A queue, with the edges that share it and the numbers of their ports at either end.

    Edges between two blocks share a queue where one gives to all of them in the same firings, and
    the other takes from all of them in the same firings.
    """

    depth: int
    latency: int
    wire: bool = False
    stamped: bool = False
    ahead: bool = False
    sizes: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    givers: list[int] = field(default_factory=list)
    takers: list[int] = field(default_factory=list)
    queue: _Queue = field(default_factory=_Queue)

    @property
    def places(self) -> int:
        """The places of its stretches: more than four times as many as a finite depth."""
        return 1 << max(6, (4 * self.depth + 15).bit_length()) if self.depth else _PLACES

    @property
    def short(self) -> bool:
        """Whether it has so few places that those who share it take turns all the time."""
        return 0 < self.depth < _SHORT

    def end(self, ports: Sequence[int], read: bool = False) -> Queue:
        """The end that is given to, or the one that is read, as kernels know it."""
        return Queue(
            ports=tuple(ports),
            places=self.places,
            bounded=self.depth > 0,
            short=self.short,
            quick=self.latency == 1,
            wire=self.wire and read,
            ahead=self.ahead,
        )


class _Machine:
    """All blocks and queues of a run, laid out for C."""

    def __init__(self, bound: Bound, config: Config) -> None:
        self.bound, self.config = bound, config
        self.kept: list[Any] = []
        self.memories: dict[str, Any] = {}
        self.grown: list[tuple[Any, Any, str]] = []
        self.states: list[ctypes.Array[ctypes.c_char]] = []
        self.regions = bound.regions(config.memory)
        self.hierarchy: CompiledHierarchy | None = None
        self.parts: list[_Part] = []
        self.nodes = {node.name: node for node in bound.graph.nodes}
        self.into: dict[End, Edge] = {edge.target: edge for edge in bound.graph.edges}
        self.out_of: dict[End, list[Edge]] = {}
        for edge in bound.graph.edges:
            self.out_of.setdefault(edge.source, []).append(edge)
        for node in bound.graph.nodes:
            self._add(node)
        translated = [
            translation(part.step, part.ports, part.state, part.memory, part.values)
            for part in self.parts
        ]
        self.kernels = [kernel for _, kernel in translated]
        for part, kernel in zip(self.parts, self.kernels, strict=True):
            part.asks = bool(kernel.regions)
        self.channels = self._channels()
        sources = [
            kept.source(
                [one.end(one.takers, read=True) for one in part.channels_in],
                [one.end(one.givers) for one in part.channels_out],
                part.timing.initiation_interval == 1,
            )
            for part, (kept, _) in zip(self.parts, translated, strict=True)
        ]
        self.runtime, *built = libraries([text("scheduler.c"), *sources])
        self.runtime.run.restype = ctypes.c_int64
        if self.regions is not None:
            askers = [part for part in self.parts if asks_memory(part.memory)]
            for n, part in enumerate(askers):
                part.block.asker = n
            regions = list(self.regions.made.values())
            memories = [part.memory for part in askers]
            layout = Layout(config.memory, config.clock.clock_ghz, memories, regions)
            [library] = libraries([text("hierarchy.c")])
            self.hierarchy = CompiledHierarchy(layout, library)
        for channel in self._distinct():
            self._open(channel)
        for part, kernel, library in zip(self.parts, self.kernels, built, strict=True):
            self._fill(part, kernel, library)
        self.givers = {
            edge: part.name for part in self.parts for _, edges in part.outputs for edge in edges
        }
        self.scheduled = self._schedule(built)

    # Building

    def _add(self, node: Node) -> None:
        """Adds the parts of a node: two where its output side works on its own."""
        timing = self.config.block(node.name, node.kind)
        block = block_of(node)
        memory = block.memory(self.bound.surroundings(node.name, timing, self.regions, False))
        self.memories[node.name] = memory
        values = _ctype(self.bound.types[node.name])
        first = _Part(node.name, node, block.step, block.state, memory, timing, values)
        giver = first
        self.parts.append(first)
        if block.emitter is not None:
            giver = _Part(
                f"{node.name}.emitter",
                node,
                block.emitter.step,
                block.emitter.state,
                memory,
                timing,
                values,
            )
            self.parts.append(giver)
        self._connect(block, first, giver)

    def _connect(self, block: Block, taker: _Part, giver: _Part) -> None:
        grouped = [port.group for port in block.ports if port.group is not None]
        for part in {taker.name: taker, giver.name: giver}.values():
            part.ports |= {group: [] for group in (*block.groups, *grouped)}
        for port in block.ports:
            end = End(taker.node.name, port.name)
            if port.direction == "in":
                edge = self.into[end]
                part, ctype = taker, self._carried(edge)
                here = Port(port.name, len(taker.inputs), ctype, wire=port.wire)
                taker.inputs.append((port.name, edge))
            else:
                edges = self.out_of.get(end, [])
                ctype = giver.values if port.stream == "val" else INT
                part = giver
                here = Port(port.name, len(giver.outputs), ctype, True)
                giver.outputs.append((port.name, edges))
            if port.group is None:
                part.ports[port.name] = here
            else:
                part.ports[port.group].append(here)
        if giver is not taker:
            edge = Edge(End(taker.name, "handover"), End(giver.name, "handed"))
            giver.ports["handed"] = Port("handed", len(giver.inputs), INT)
            giver.inputs.append(("handed", edge))
            taker.ports["handover"] = Port("handover", len(taker.outputs), INT, True)
            taker.outputs.append(("handover", [edge]))

    def _carried(self, edge: Edge) -> str:
        """The C type of what an edge carries."""
        if self.bound.streams[edge].kind != "val":
            return INT
        return _ctype(self.bound.types[edge.source.node])

    def _channels(self) -> dict[Edge, _Channel]:
        """The channel of each edge, in the order of its givers."""
        takers = {
            edge: (part, kernel, n)
            for part, kernel in zip(self.parts, self.kernels, strict=True)
            for n, (_, edge) in enumerate(part.inputs)
        }
        found: dict[Edge, _Channel] = {}
        shared: dict[Any, _Channel] = {}
        for giver, kernel in zip(self.parts, self.kernels, strict=True):
            for n, (_, edges) in enumerate(giver.outputs):
                for edge in edges:
                    taker, other, k = takers[edge]
                    depth, latency, ctype = self._passage(edge)
                    wire = other.body.inputs[k].wire
                    ends = (kernel.body.given[n], other.body.taken[k])
                    key = (giver.name, taker.name, ends, depth, latency)
                    if key not in shared:
                        shared[key] = _Channel(depth, latency, wire, giver.asks)
                        giver.channels_out.append(shared[key])
                        taker.channels_in.append(shared[key])
                    found[edge] = channel = shared[key]
                    channel.edges.append(edge)
                    channel.givers.append(n)
                    channel.takers.append(k)
                    channel.sizes.append(np.dtype(_TYPES[ctype]).itemsize)
            if kernel.body.prepares and len(giver.channels_out) == 1:
                [channel] = giver.channels_out
                channel.ahead = channel.short and len({*channel.givers}) == len(giver.outputs)
        return found

    def _distinct(self) -> Iterable[_Channel]:
        return (channel for part in self.parts for channel in part.channels_in)

    def _passage(self, edge: Edge) -> tuple[int, int, str]:
        """The depth and the latency of an edge, and the type of what it carries."""
        if edge not in self.bound.streams:
            return 1, 1, INT
        source, stream = self.nodes[edge.source.node], self.bound.streams[edge]
        is_source = KINDS[source.kind].source
        if is_source and not stream.wire:
            return 0, 0, self._carried(edge)
        reader = self.nodes[edge.target.node].kind
        depth, latency = self.config.queue(str(edge), stream.kind, reader)
        latency += self.config.block(source.name, source.kind).latency - 1
        if is_source or stream.wire or stream.feedback:
            depth = None
        return depth or 0, latency, self._carried(edge)

    def _open(self, channel: _Channel) -> None:
        queue = channel.queue
        queue.depth, queue.latency, queue.wire = channel.depth, channel.latency, channel.wire
        queue.places = channel.places
        queue.size = 16 + (queue.places + _GAP) * (12 + sum(channel.sizes)) + 4 * _GAP
        if channel.stamped:
            queue.stamps = queue.size
            queue.size += 4 * queue.places
        if not self.runtime.open_queue(ctypes.byref(queue)):
            raise MemoryError

    def _fill(self, part: _Part, kernel: Kernel, library: ctypes.CDLL) -> None:
        """Fills in what C sees of a part."""
        library.state_size.restype = ctypes.c_int64
        state = ctypes.create_string_buffer(library.state_size())
        library.start(state)
        part.counts = np.zeros((max(1, len(part.outputs)), 4), np.int64)
        part.waits = np.zeros(max(1, len(part.inputs) + len(part.outputs)), np.int64)
        # A block that hands over gives but seldom what has to wait for room.
        hands_over = any(name == "handover" for name, _ in part.outputs)
        numbers = np.array([_at(part.memory, path) for path in kernel.numbers] or [0], np.int64)
        part.block = _Block(
            asker=part.block.asker,
            in_=self._pointers([channel.queue for channel in part.channels_in]),
            out=self._pointers([channel.queue for channel in part.channels_out]),
            outs=len(part.channels_out),
            state=ctypes.addressof(state),
            memory=self._pointers([self._object(part, path) for path in kernel.memory]),
            numbers=numbers.ctypes.data,
            waits=part.waits.ctypes.data,
            counts=part.counts.ctypes.data,
            fire=ctypes.cast(library.fire, ctypes.c_void_p),
            interval=part.timing.initiation_interval,
            tries=hands_over,
            always=hands_over,
        )
        self.kept += [state, numbers]
        self.states.append(state)
        if self.hierarchy is not None and part.asks:
            self._give_memory(part, kernel, self.hierarchy)

    def _give_memory(self, part: _Part, kernel: Kernel, hierarchy: CompiledHierarchy) -> None:
        """Fills in what a part needs to touch memory."""
        block, layout = part.block, hierarchy.layout
        numbers = [layout.regions.index(region) for region in kernel.regions]
        regions = np.array(numbers, np.int64)
        outstanding = layout.outstanding[block.asker]
        places = np.zeros(max(1, outstanding), np.int64)
        self.kept += [regions, places]
        block.hierarchy, block.touch = hierarchy.address, hierarchy.touch
        block.regions, block.places = regions.ctypes.data, places.ctypes.data
        block.outstanding = outstanding
        block.made, block.until = -1, -1
        latency = min(layout.latency[layout.kept[n]] // layout.unit for n in numbers)
        block.reach = min(
            *(latency + channel.latency for channel in part.channels_out),
            *(1 for channel in part.channels_in if channel.depth),
            _NEVER,
            _NEVER,
        )

    def _object(self, part: _Part, path: tuple[str, ...]) -> Any:
        """Something of a part's memory, as C has it: an array, or a structure."""
        found = _at(part.memory, path)
        if isinstance(found, np.ndarray):
            kind = _TYPES[_ctype(found.dtype)]
            return np.ascontiguousarray(found, kind)
        for known, made_before, _ in self.grown:
            if known is found:
                return made_before
        made: _Accumulator | _Growing
        if isinstance(found, Accumulator):
            limit = -1 if found.capacity is None else found.capacity
            made = _Accumulator(dimensions=found.dimensions, capacity=limit)
        else:
            made = _Growing()
        self.grown.append((found, made, part.values))
        for value in found if isinstance(found, Growing) else ():
            self.runtime.append(ctypes.byref(made), ctypes.c_int64(value))
        return made

    def _pointers(self, objects: list[Any]) -> int:
        """An array of pointers to objects, which are kept alive."""
        addresses = [
            one.ctypes.data if isinstance(one, np.ndarray) else ctypes.addressof(one)
            for one in objects
        ]
        array = np.array(addresses or [0], np.uint64)
        self.kept += [array, *objects]
        return array.ctypes.data

    def _schedule(self, libraries: list[ctypes.CDLL]) -> _Scheduled:
        """What the scheduler sees; and, for each queue, the blocks at its two ends."""
        for part in self.parts:
            here = ctypes.addressof(part.block)
            for channel in part.channels_in:
                channel.queue.reader = here
            for channel in part.channels_out:
                channel.queue.writer = here
        ordered = [part.block for part in self.parts if part.ordered]
        for part in self.parts:
            part.block.limit, part.block.ahead = -1, self._ahead(part)
        awake = np.zeros(len(self.parts) // 64 + 1, np.uint64)
        self.kept += [awake, *libraries]
        scheduled = _Scheduled(
            count=len(self.parts),
            blocks=self._pointers([part.block for part in self.parts]),
            awake=awake.ctypes.data,
            ordered_count=len(ordered),
            ordered=self._pointers(ordered),
        )
        self.runtime.prepare(ctypes.byref(scheduled))
        return scheduled

    def _ahead(self, part: _Part) -> int:
        """How many cycles behind the first that anything is yet to happen in a part may fire.

        What comes of that first firing are tokens that are seen, or room that is used, a cycle
        later at least, and a message on a wire only after its latency.
        """
        if not part.wires:
            return 0
        by_name = {one.name: one for one in self.parts}
        return min(
            (wire.latency - by_name[self.givers[wire.edges[0]]].ordered for wire in part.wires),
            default=0,
        )

    # Running

    def run(self, progress: Progress | None, max_cycles: int | None = None) -> None:
        """Runs all blocks to their ends."""
        before, look_at = self._moved(), time.monotonic() + _SECONDS_BETWEEN_LOOKS
        while True:
            status = self.runtime.run(ctypes.byref(self.scheduled), ctypes.c_int64(_ROUNDS))
            if status == 1:
                break
            if status == 2:
                raise self.failure()
            if progress is not None:
                progress(self.last_cycle())
            if max_cycles is not None and self.last_cycle() >= max_cycles:
                raise too_long(max_cycles)
            if time.monotonic() < look_at:
                continue
            require_memory(self._held())
            now, look_at = self._moved(), time.monotonic() + _SECONDS_BETWEEN_LOOKS
            if now == before:
                raise no_progress(self._busiest())
            before = now
        if max_cycles is not None and self.last_cycle() >= max_cycles:
            raise too_long(max_cycles)
        self._require_firings()
        stuck = [part for part in self.parts if part.block.status != _FINISHED]
        if stuck:
            waits = [self.wait(part) for part in stuck]
            raise deadlock(waits, self._held(), self.last_cycle())

    def _held(self) -> dict[str, int]:
        """The tokens in each queue."""
        return {
            str(edge): channel.queue.tail - channel.queue.head
            for edge, channel in self.channels.items()
        }

    def _moved(self) -> list[Any]:
        """What changes while blocks make progress: the ends of their queues, and their states."""
        ends = [(one.queue.head, one.queue.tail) for one in self._distinct()]
        return [*ends, *(state.raw for state in self.states)]

    def _busiest(self) -> str:
        """The block that has fired most often."""
        return max(self.parts, key=lambda part: int(part.block.fired)).name

    def _require_firings(self) -> None:
        """Raises UserError where the cycles of a run may be too far apart to be told."""
        most = max(part.block.fired for part in self.parts)
        if self.last_cycle() >= max(_APART, most * _SELDOM):
            raise UserError(
                f"the run takes more than {_APART} cycles, in which no block fires more than "
                f"{most} times: the engine compiled cannot tell cycles that are so far apart",
                hint="use engine simpy, or lower the latencies and intervals",
            )

    def last_cycle(self) -> int:
        """The cycle of the last firing of any block."""
        return max((_last(part.block) for part in self.parts), default=-1)

    def failure(self) -> Exception:
        """The error of the block that failed."""
        part = self.parts[self.scheduled.failed]
        if part.block.status == _FAILED:
            messages = self.kernels[self.scheduled.failed].messages
            return StreamError(messages[part.block.port])
        if part.block.status == _OVER_CAPACITY:
            memory = part.memory.memory
            return too_full(memory.dimensions, memory.capacity)
        return no_memory(self._held())

    def wait(self, part: _Part) -> Wait:
        """What a part waits for, in a machine that has come to a stop."""
        if part.block.status == _STARVED:
            edge = part.inputs[part.block.port][1]
        else:
            channel = part.channels_out[part.block.which]
            edge = channel.edges[channel.givers.index(part.block.port - len(part.inputs))]
        return Wait(edge, part.block.status != _STARVED, self.givers[edge])

    # Reporting

    def report(self) -> Run:
        """The result and the statistics of a finished run."""
        for channel in self._distinct():
            if not self.runtime.settle(ctypes.byref(channel.queue)):
                raise MemoryError
        for part, kernel in zip(self.parts, self.kernels, strict=True):
            for channel in part.channels_out:
                counts = part.counts[kernel.body.given[channel.givers[0]]]
                counts[0] = channel.queue.tail - counts[1:].sum()
            part.counts = part.counts[list(kernel.body.given)]
        for found, made, values in self.grown:
            _copy_back(found, made, values)
        cycles = 1 + self.last_cycle()
        given = {
            edge: part.counts[n]
            for part in self.parts
            for n, (_, edges) in enumerate(part.outputs)
            for edge in edges
        }
        output, notes = self.bound.output(self.memories)
        memory = {} if self.hierarchy is None else self.hierarchy.finish()
        return Run(
            graph=self.bound.graph,
            output=output,
            notes=notes,
            memory=memory,
            cycles=cycles,
            blocks={part.name: _statistics(part, cycles) for part in self.parts},
            streams={
                str(edge): StreamStats(_tokens(given[edge]), self.channels[edge].queue.peak)
                for edge in self.bound.graph.edges
            },
            config=self.config.resolved(),
            engine="compiled",
            sinks=self.bound.sinks(self.memories),
        )

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for channel in self._distinct():
            self.runtime.close_queue(ctypes.byref(channel.queue))
        if self.hierarchy is not None:
            self.hierarchy.close()
        for _, made, _ in self.grown:
            for growing in _arrays(made):
                self.runtime.release(ctypes.byref(growing))


def _arrays(made: Any) -> list[_Growing]:
    if isinstance(made, _Growing):
        return [made]
    return [getattr(made, name) for name, kind in made._fields_ if kind is _Growing]


def _copy_back(found: Any, made: Any, values: str) -> None:
    """Brings what C has stored into the memory of the block."""
    if isinstance(found, Accumulator):
        return
    of_values = not found.integers if isinstance(found, Stored) else found.values
    kind = _TYPES[values if of_values else INT]
    size = made.length * np.dtype(kind).itemsize
    stored = (ctypes.c_char * size).from_address(made.items) if size else b""
    found.whole = np.frombuffer(stored, kind).copy()


def _last(block: _Block) -> int:
    """The cycle of the last firing; -1 before the first."""
    return block.ready - block.interval if block.fired else -1


def _statistics(part: _Part, cycles: int) -> BlockStats:
    block = part.block
    names = [name for name, _ in part.inputs]
    out_names = [name for name, _ in part.outputs]
    starved = dict(zip(names, part.waits.tolist(), strict=False))
    blocked = dict(zip(out_names, part.waits[len(names) :].tolist(), strict=False))
    return BlockStats(
        kind=part.node.kind,
        fired=block.fired,
        busy=block.fired + max(0, block.fired - 1) * (block.interval - 1),
        starved={name: count for name, count in starved.items() if count},
        blocked={name: count for name, count in blocked.items() if count},
        memory=block.waited,
        done=cycles - _last(block) - 1,
        tokens={
            name: _tokens(part.counts[n]) for n, name in enumerate(out_names) if name != "handover"
        },
    )


def _tokens(counts: np.ndarray) -> dict[str, int]:
    return dict(zip(TOKEN_KINDS, counts.tolist(), strict=True))


def _ctype(dtype: np.dtype[Any]) -> str:
    return {"f": REAL, "c": COMPLEX}.get(dtype.kind, INT)


def _at(memory: Any, path: tuple[str, ...]) -> Any:
    """What lies at a path in a memory."""
    for name in path:
        memory = memory[int(name)] if isinstance(memory, tuple) else getattr(memory, name)
    return memory
