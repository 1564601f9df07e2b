"""The compiled engine: the same steps as the SimPy engine runs, translated to C.

Every block runs ahead in its own local time, many firings per call, until an input is empty or an
output is full; a scheduler wakes only what waits for what has moved. Tokens carry the cycle in
which they become visible, and places of queues the cycle in which they were freed, so a firing's
cycle comes out as in the SimPy engine, and with it all statistics.

Kernels are compiled once for each step, arity and type of values, and kept on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np

from sam import cc
from sam.blocks import KINDS, StreamError
from sam.blocks.base import Block, Step
from sam.blocks.memories import Accumulator, Growing, Stored, too_full
from sam.graph import Edge, End, Node
from sim.binding import Bound
from sim.config import BlockTiming, Config
from sim.deadlock import Wait, deadlock
from sim.kernel import COMPLEX, INT, REAL, Port
from sim.stats import TOKEN_KINDS, BlockStats, Run, StreamStats
from sim.step_to_c import Kernel, translate

Progress = Callable[[int], None]

_ROUNDS = 256
_PLACES = 512
_FINISHED, _FAILED, _OVER_CAPACITY = 4, 5, 6
_STARVED = 1
_TYPES = {INT: np.int64, REAL: np.float64, COMPLEX: np.complex128}


def run(bound: Bound, config: Config, progress: Progress | None = None) -> Run:
    """Runs a bound graph to its end; raises UserError where it deadlocks."""
    machine = _Machine(bound, config)
    try:
        machine.run(progress)
        return machine.report()
    finally:
        machine.close()


class _Queue(ctypes.Structure):
    _fields_ = [
        ("writer", ctypes.c_void_p),
        ("reader", ctypes.c_void_p),
        ("reader_port", ctypes.c_int64),
        ("places", ctypes.c_void_p),
        ("taken", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("size", "mask", "past", "head", "tail", "depth")),
        ("latency", ctypes.c_int64),
        *((name, ctypes.c_int64) for name in ("seen", "peak")),
    ]


class _Growing(ctypes.Structure):
    _fields_ = [
        ("items", ctypes.c_void_p),
        ("length", ctypes.c_int64),
        ("room", ctypes.c_int64),
    ]


class _Accumulator(ctypes.Structure):
    _fields_ = [
        ("dimensions", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        *(
            (name, _Growing)
            for name in ("points", "values", "table", "order", "out_points", "out_values")
        ),
    ]


class _Block(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_void_p)
            for name in ("in_", "out", "readers", "state", "memory", "numbers", "waits", "counts")
        ),
        *(
            (name, ctypes.c_int64)
            for name in ("interval", "ready", "fired", "status", "port", "which", "awake")
        ),
    ]


class _Scheduled(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_int64),
        ("blocks", ctypes.c_void_p),
        ("fire", ctypes.c_void_p),
        ("failed", ctypes.c_int64),
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
    counts: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    waits: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    block: _Block = field(default_factory=_Block)


class _Machine:
    """All blocks and queues of a run, laid out for C."""

    def __init__(self, bound: Bound, config: Config) -> None:
        self.bound, self.config = bound, config
        self.kept: list[Any] = []
        self.memories: dict[str, Any] = {}
        self.grown: list[tuple[Any, Any, str]] = []
        self.headers = {"runtime.h": _text("runtime.h")}
        self.parts: list[_Part] = []
        self.nodes = {node.name: node for node in bound.graph.nodes}
        self.into: dict[End, Edge] = {edge.target: edge for edge in bound.graph.edges}
        self.out_of: dict[End, list[Edge]] = {}
        for edge in bound.graph.edges:
            self.out_of.setdefault(edge.source, []).append(edge)
        for node in bound.graph.nodes:
            self._add(node)
        kernels = [
            translate(part.step, part.ports, part.state, part.memory, part.values)
            for part in self.parts
        ]
        sources = [kernel.source for kernel in kernels]
        self.runtime, *libraries = cc.build([_text("scheduler.c"), *sources], self.headers)
        self.runtime.run.restype = ctypes.c_int64
        self.queues = {edge: self._queue(edge) for part in self.parts for _, edge in part.inputs}
        self.givers = {
            edge: part.name for part in self.parts for _, edges in part.outputs for edge in edges
        }
        self.kernels = kernels
        for part, kernel, library in zip(self.parts, kernels, libraries, strict=True):
            self._fill(part, kernel, library)
        self.scheduled = self._schedule(libraries)

    # Building

    def _add(self, node: Node) -> None:
        """Adds the parts of a node: two where its output side works on its own."""
        timing = self.config.block(node.name, node.kind)
        block = KINDS[node.kind].block(node.parameters)
        memory = block.memory(self.bound.surroundings(node.name, timing.capacity, lists=False))
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
                part, here = taker, Port(port.name, len(taker.inputs), self._carried(edge))
                taker.inputs.append((port.name, edge))
            else:
                edges = self.out_of.get(end, [])
                ctype = giver.values if port.stream == "val" else INT
                part = giver
                bounded = any(self._depth(edge) for edge in edges)
                here = Port(port.name, len(giver.outputs), ctype, True, len(edges), bounded)
                giver.outputs.append((port.name, edges))
            if port.group is None:
                part.ports[port.name] = here
            else:
                part.ports[port.group].append(here)
        if giver is not taker:
            edge = Edge(End(taker.name, "handover"), End(giver.name, "handed"))
            giver.ports["handed"] = Port("handed", len(giver.inputs), INT)
            giver.inputs.append(("handed", edge))
            taker.ports["handover"] = Port("handover", len(taker.outputs), INT, True, 1, True)
            taker.outputs.append(("handover", [edge]))

    def _carried(self, edge: Edge) -> str:
        """The C type of what an edge carries."""
        if self.bound.streams[edge].kind != "val":
            return INT
        return _ctype(self.bound.types[edge.source.node])

    def _depth(self, edge: Edge) -> int:
        """The depth of an edge's queue; 0 where it is unbounded."""
        if KINDS[self.nodes[edge.source.node].kind].source:
            return 0
        kind = self.bound.streams[edge].kind
        return self.config.queue(str(edge), str(edge.target), kind)[0] or 0

    def _latency(self, edge: Edge) -> int:
        source = self.nodes[edge.source.node]
        if KINDS[source.kind].source:
            return 0
        kind = self.bound.streams[edge].kind
        pipeline = self.config.block(source.name, source.kind).latency
        return self.config.queue(str(edge), str(edge.target), kind)[1] + pipeline - 1

    def _queue(self, edge: Edge) -> _Queue:
        depth, latency, ctype = 1, 1, INT
        if edge in self.bound.streams:
            depth, latency, ctype = self._depth(edge), self._latency(edge), self._carried(edge)
        queue = _Queue(size=8 + np.dtype(_TYPES[ctype]).itemsize, depth=depth, latency=latency)
        places = _PLACES if depth == 0 else 1 << (2 * depth + 2).bit_length()
        if not self.runtime.open_queue(ctypes.byref(queue), ctypes.c_int64(places)):
            raise MemoryError
        return queue

    def _fill(self, part: _Part, kernel: Kernel, library: ctypes.CDLL) -> None:
        """Fills in what C sees of a part."""
        library.state_size.restype = ctypes.c_int64
        state = ctypes.create_string_buffer(library.state_size())
        library.start(state)
        readers = [self.queues[edge] for _, edges in part.outputs for edge in edges]
        part.counts = np.zeros((max(1, len(part.outputs)), 4), np.int64)
        part.waits = np.zeros(max(1, len(part.inputs) + len(part.outputs)), np.int64)
        numbers = np.array([_at(part.memory, path) for path in kernel.numbers] or [0], np.int64)
        part.block = _Block(
            in_=self._pointers([self.queues[edge] for _, edge in part.inputs]),
            out=self._pointers(readers),
            state=ctypes.addressof(state),
            memory=self._pointers([self._object(part, path) for path in kernel.memory]),
            numbers=numbers.ctypes.data,
            waits=part.waits.ctypes.data,
            counts=part.counts.ctypes.data,
            interval=part.timing.initiation_interval,
            awake=1,
        )
        self.kept += [state, numbers]

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
            for port, (_, edge) in enumerate(part.inputs):
                self.queues[edge].reader, self.queues[edge].reader_port = here, port
            for edge in (edge for _, edges in part.outputs for edge in edges):
                self.queues[edge].writer = here
        fire = np.array(
            [ctypes.cast(library.fire, ctypes.c_void_p).value for library in libraries], np.uint64
        )
        self.kept += [fire, *libraries]
        return _Scheduled(
            count=len(self.parts),
            blocks=self._pointers([part.block for part in self.parts]),
            fire=fire.ctypes.data,
        )

    # Running

    def run(self, progress: Progress | None) -> None:
        """Runs all blocks to their ends."""
        while True:
            status = self.runtime.run(ctypes.byref(self.scheduled), ctypes.c_int64(_ROUNDS))
            if status == 1:
                break
            if status == 2:
                raise self.failure()
            if progress is not None:
                progress(self.last_cycle())
        stuck = [part for part in self.parts if part.block.status != _FINISHED]
        if stuck:
            held = {str(edge): queue.tail - queue.head for edge, queue in self.queues.items()}
            raise deadlock([self.wait(part) for part in stuck], held, self.last_cycle())

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
        return MemoryError()

    def wait(self, part: _Part) -> Wait:
        """What a part waits for, in a machine that has come to a stop."""
        if part.block.status == _STARVED:
            edge = part.inputs[part.block.port][1]
        else:
            edge = [edge for _, edges in part.outputs for edge in edges][part.block.which]
        return Wait(edge, part.block.status != _STARVED, self.givers[edge])

    # Reporting

    def report(self) -> Run:
        """The result and the statistics of a finished run."""
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
        return Run(
            graph=self.bound.graph,
            output=output,
            notes=notes,
            cycles=cycles,
            blocks={part.name: _statistics(part, cycles) for part in self.parts},
            streams={
                str(edge): StreamStats(_tokens(given[edge]), self.queues[edge].peak)
                for edge in self.bound.graph.edges
            },
            config=self.config.resolved(),
            engine="compiled",
            sinks=self.bound.sinks(self.memories),
        )

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for queue in self.queues.values():
            self.runtime.close_queue(ctypes.byref(queue))
        for _, made, _ in self.grown:
            for growing in _arrays(made):
                self.runtime.release(ctypes.c_void_p(growing.items))


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
    found.whole = np.frombuffer(ctypes.string_at(made.items, size) if size else b"", kind)


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
        memory=0,
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


def _text(name: str) -> str:
    return resources.files("sim").joinpath(name).read_text()
