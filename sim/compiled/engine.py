"""The compiled engine: the same steps as the SimPy engine runs, translated to C.

Every block runs ahead in its own local time, many firings per call, until an input is empty or an
output is full. The scheduler (``scheduler.c``) wakes a block when a queue that it waits for has
moved. Tokens carry the cycle in which they become visible, and places of queues the cycle in which
they were freed, so the cycle of each firing is the one of the SimPy engine, and so are all
statistics. Blocks that read a wire or touch memory are ordered in time. A long run may be divided
among threads (``crew.py``).

Kernels are compiled once for each step, arity and type of values, and kept on disk.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sam.blocks import StreamError
from sam.blocks.block_memory import too_full
from sam.support.errors import UserError
from sim.attribution.log import Log, Waits, awaited_at, decoded_requests, decoded_waits, names
from sim.attribution.over_time import OverTime
from sim.binding import BoundGraph, located
from sim.compiled import crew
from sim.compiled.bundles import bundles
from sim.compiled.collection import no_collection
from sim.compiled.kernel.paths.prepare import may_prepare
from sim.compiled.logs import CLog, Logs
from sim.compiled.memory import SHARED_HIERARCHY, CompiledHierarchy
from sim.compiled.objects import TYPES, Objects, at, pointers
from sim.compiled.parts import CompiledPart, SharedQueue, numbers
from sim.compiled.residual import c_type
from sim.compiled.structures import GAP, SHARED, CBlock, CMachine, Status
from sim.compiled.translations import libraries, text, translated
from sim.config.hardware import Config
from sim.deadlock import WaitingBlock, deadlock
from sim.endless import OutOfCycles, no_memory, no_progress, require_memory
from sim.machine import HANDOVER, elaborate
from sim.stats import TOKEN_KINDS, BlockStats, Run, StreamStats

Progress = Callable[[int], None]

_SHARED = replace(
    SHARED,
    structures={**SHARED.structures, **crew.STRUCTURES},
    beginnings=frozenset({"Crew"}),
)

_ROUNDS, _FEW_ROUNDS = 4096, 16
_SECONDS_BETWEEN_LOOKS = 0.25
_NEVER = 2**62
# Queues compare cycles that are less than _APART from each other. That holds unless the busiest
# block fires less than once in _SELDOM cycles of a long run.
_APART, _SELDOM = 2**31, 1024


def run(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None = None,
    max_cycles: int | None = None,
    attribution: bool = False,
    threads: int = 1,
    at_hand: bool = False,
) -> Run:
    """Runs a bound graph to its end; with ``attribution`` it keeps why each firing waited.

    A long run is shared by up to ``threads`` threads, if its parts allow: see ``crew.py``.

    Raises UserError if it deadlocks, makes no progress, or takes more than ``max_cycles``;
    NotAtHand where its kernels must be ``at_hand``, and one would have to be made first.
    """
    with no_collection():
        machine = _CompiledMachine(bound, config, attribution, at_hand=at_hand)
    try:
        machine.run(progress, max_cycles, threads)
        with no_collection():
            return machine.report()
    finally:
        machine.close()


def _reached(bound: BoundGraph, config: Config, cycles: int) -> Run:
    """The first cycles of a run that takes more."""
    machine = _CompiledMachine(bound, config, end=cycles)
    try:
        machine.run(None)
        return machine.report()
    except MemoryError:
        raise no_memory({}) from None
    finally:
        machine.close()


def out_of_cycles(bound: BoundGraph, config: Config, cycles: int) -> OutOfCycles:
    """The error for a run that takes more than so many cycles."""
    return OutOfCycles(cycles, partial(_reached, bound, config, cycles))


class _CompiledMachine:
    """The parts and queues of a machine, laid out for C.

    ``end``  the cycle before which the run is ended, if it is
    """

    def __init__(
        self,
        bound: BoundGraph,
        config: Config,
        attribution: bool = False,
        end: int | None = None,
        at_hand: bool = False,
    ) -> None:
        self.machine, self.attribution, self.end = elaborate(bound, config), attribution, end
        self.kept: list[Any] = []
        self.states: list[ctypes.Array[ctypes.c_char]] = []
        self.parts = [CompiledPart(part, *translated(part, at_hand)) for part in self.machine.parts]
        self.by_name = {one.part.name: one for one in self.parts}
        self.queues = self._share()
        self.channels = {edge: shared for shared in self.queues for edge in shared.edges}
        sources = [
            one.translation.source(
                [shared.taken_from() for shared in one.queues_in],
                [shared.given_to() for shared in one.queues_out],
                attribution,
                limited=end is not None,
            )
            for one in self.parts
        ]
        sources = [_SHARED.exported(text("scheduler.c")), *sources]
        self.runtime, *built = libraries(sources, at_hand=at_hand)
        _SHARED.require(self.runtime)
        self.runtime.run.restype = ctypes.c_int64
        self.objects = Objects(self.runtime)
        self.logs = Logs(self.runtime) if attribution else None
        self.hierarchy: CompiledHierarchy | None = None
        if self.machine.layout is not None:
            [library] = libraries([SHARED_HIERARCHY.exported(text("hierarchy.c"))])
            SHARED_HIERARCHY.require(library)
            self.hierarchy = CompiledHierarchy(self.machine.layout, library, attribution)
        for shared in self.queues:
            self._open(shared)
        for one, library in zip(self.parts, built, strict=True):
            self._fill(one, library)
        self.scheduled = self._schedule(built)
        self.crew: crew.Crew | None = None
        self.notes: list[str] = []

    # Building

    def _share(self) -> list[SharedQueue]:
        """The queues that channels share, in the order of their givers."""
        bodies = {one.part.name: one.residual.body for one in self.parts}
        found = [
            SharedQueue(bundle, self.by_name[bundle.giver].asks)
            for bundle in bundles(self.machine, bodies, lambda one: (one.depth, one.latency))
        ]
        for shared in found:
            self.by_name[shared.bundle.giver].queues_out.append(shared)
            self.by_name[shared.bundle.taker].queues_in.append(shared)
        for one in self.parts:
            if may_prepare(one.residual.body) and len(one.queues_out) == 1:
                [shared] = one.queues_out
                gives_all = len({*shared.bundle.givers}) == len(one.part.outputs)
                shared.ahead = shared.short and gives_all
        return found

    def _open(self, shared: SharedQueue) -> None:
        queue = shared.queue
        queue.depth, queue.latency, queue.wire = shared.depth, shared.latency, shared.wire
        queue.places = shared.places
        sizes = sum(np.dtype(TYPES[c_type(one.dtype)]).itemsize for one in shared.bundle.channels)
        queue.size = 16 + (queue.places + GAP) * (12 + sizes) + 4 * GAP
        if shared.stamped:
            queue.stamps = queue.size
            queue.size += 4 * queue.places
        if self.attribution and not shared.wire:
            queue.given, queue.taken = (one.ctypes.data for one in shared.moved)
        if not self.runtime.open_queue(ctypes.byref(queue)):
            raise MemoryError

    def _fill(self, one: CompiledPart, library: ctypes.CDLL) -> None:
        """Fills in the structure of a part for C."""
        part, residual = one.part, one.residual
        library.state_size.restype = ctypes.c_int64
        state = ctypes.create_string_buffer(library.state_size())
        library.start(state)
        one.counts = numbers(max(1, len(TOKEN_KINDS) * len(part.outputs)))
        one.waits = numbers(max(1, len(part.inputs) + len(one.slots)))
        own_numbers = [int(at(part.memory, path)) for path in residual.numbers]
        own = numbers(len(own_numbers), own_numbers)
        one.block = CBlock(
            asker=part.asker or 0,
            in_=pointers(self.kept, [shared.queue for shared in one.queues_in]),
            out=pointers(self.kept, [shared.queue for shared in one.queues_out]),
            outs=len(one.queues_out),
            state=ctypes.addressof(state),
            memory=pointers(self.kept, [self.objects.of(part, path) for path in residual.memory]),
            numbers=ctypes.addressof(own),
            waits=ctypes.addressof(one.waits),
            counts=ctypes.addressof(one.counts),
            fire=ctypes.cast(library.fire, ctypes.c_void_p),
            interval=part.timing.initiation_interval,
            end=_NEVER if self.end is None else self.end,
        )
        if self.logs is not None:
            one.log_to(self.logs)
        self.kept += [state, own]
        self.states.append(state)
        if self.hierarchy is not None and one.asks:
            self._give_memory(one, self.hierarchy)

    def _give_memory(self, one: CompiledPart, hierarchy: CompiledHierarchy) -> None:
        """Fills in the fields of a part that touches memory."""
        block, layout = one.block, hierarchy.layout
        numbers = [layout.regions.index(region) for region in one.residual.regions]
        regions = np.array(numbers, np.int64)
        outstanding = layout.outstanding[block.asker]
        places = np.zeros(max(1, outstanding), np.int64)
        self.kept += [regions, places]
        block.hierarchy, block.touch = hierarchy.address, hierarchy.touch
        block.regions, block.places = regions.ctypes.data, places.ctypes.data
        block.outstanding = outstanding
        block.made, block.until = -1, -1
        if self.attribution:
            block.link = hierarchy.room_for_links()
        latency = min(layout.latency[layout.kept[n]] // layout.unit for n in numbers)
        block.reach = min(
            *(latency + shared.latency for shared in one.queues_out),
            *(1 for shared in one.queues_in if shared.depth),
            _NEVER,
            _NEVER,
        )

    def _schedule(self, libraries: list[ctypes.CDLL]) -> CMachine:
        """The structure of the machine for C; sets the blocks at the two ends of each queue."""
        for one in self.parts:
            here = ctypes.addressof(one.block)
            for shared in one.queues_in:
                shared.queue.reader = here
            for shared in one.queues_out:
                shared.queue.writer = here
        ordered = [one.block for one in self.parts if one.ordered]
        for one in self.parts:
            one.block.limit, one.block.ahead = -1, self._ahead(one)
        awake = np.zeros(len(self.parts) // 64 + 1, np.uint64)
        self.kept += [awake, *libraries]
        scheduled = CMachine(
            count=len(self.parts),
            blocks=pointers(self.kept, [one.block for one in self.parts]),
            awake=awake.ctypes.data,
            ordered_count=len(ordered),
            ordered=pointers(self.kept, ordered),
        )
        self.runtime.prepare(ctypes.byref(scheduled))
        return scheduled

    def _ahead(self, one: CompiledPart) -> int:
        """The lookahead of a part: how many cycles after the earliest pending firing it may fire.

        Other blocks notice that firing a cycle later at the earliest, by its tokens or by room
        that is used, and a message on a wire only after its latency.
        """
        return min(
            (wire.latency - self.by_name[wire.bundle.giver].ordered for wire in one.wires),
            default=0,
        )

    # Running

    def run(
        self, progress: Progress | None, max_cycles: int | None = None, threads: int = 1
    ) -> None:
        """Runs all blocks to their ends, or to that of the run."""
        before, look_at = self._moved(), time.monotonic() + _SECONDS_BETWEEN_LOOKS
        status = self._warm_up(threads) if threads > 1 else 0
        while True:
            status = status or self._go_on(_ROUNDS)
            if status == 1:
                break
            if status == 2:
                raise self.failure()
            if progress is not None:
                progress(self.last_cycle())
            if max_cycles is not None and self.last_cycle() >= max_cycles:
                raise self._out_of_cycles(max_cycles)
            if time.monotonic() < look_at:
                continue
            require_memory(self._held())
            now, look_at = self._moved(), time.monotonic() + _SECONDS_BETWEEN_LOOKS
            if now == before:
                raise no_progress(self._busiest())
            before = now
        if max_cycles is not None and self.last_cycle() >= max_cycles:
            raise self._out_of_cycles(max_cycles)
        self._require_firings()
        if any(one.block.status == Status.LATE for one in self.parts):
            return
        stuck = [one for one in self.parts if one.block.status != Status.FINISHED_BLOCK]
        if stuck:
            waits = [self.wait(one) for one in stuck]
            raise deadlock(waits, self._held(), self.last_cycle())

    def _out_of_cycles(self, max_cycles: int) -> OutOfCycles:
        return out_of_cycles(self.machine.bound, self.machine.config, max_cycles)

    def _go_on(self, rounds: int) -> int:
        """Runs up to ``rounds`` sweeps over the blocks: see ``run`` in ``scheduler.c``."""
        if self.crew is not None:
            return self.crew.run(rounds)
        return int(self.runtime.run(ctypes.byref(self.scheduled), ctypes.c_int64(rounds)))

    def _warm_up(self, threads: int) -> int:
        """Runs until the costs of the parts are known, and divides them; returns as ``_go_on``."""
        alone = crew.why_alone(self.parts)
        if alone is not None:
            self.notes.append(f"one thread: {alone}")
            return 0
        ticks, status = np.zeros(len(self.parts), np.int64), 0
        self.scheduled.ticks = ticks.ctypes.data
        while status == 0 and ticks.sum() < crew.WARM_UP:
            status = self._go_on(_FEW_ROUNDS)
        self.scheduled.ticks = None
        if status == 0:
            self.crew = crew.crew_of(self.runtime, self.parts, self.queues, ticks.tolist(), threads)
            if self.crew is None:
                self.notes.append("one thread: no division of the blocks is worth its cost")
        return status

    def _held(self) -> dict[str, int]:
        """The tokens in each queue."""
        return {
            str(edge): shared.queue.tail - shared.queue.head
            for edge, shared in self.channels.items()
        }

    def _moved(self) -> list[Any]:
        """The ends of all queues, and all states: they change while blocks make progress."""
        ends = [(shared.queue.head, shared.queue.tail) for shared in self.queues]
        return [*ends, *(state.raw for state in self.states)]

    def _busiest(self) -> str:
        """The block that has fired most often."""
        return max(self.parts, key=lambda one: int(one.block.fired)).part.name

    def _require_firings(self) -> None:
        """Raises UserError if cycles that queues compare may be too far apart."""
        most = max(one.block.fired for one in self.parts)
        if self.last_cycle() >= max(_APART, most * _SELDOM):
            raise UserError(
                f"the run takes more than {_APART} cycles, in which no block fires more than "
                f"{most} times: the engine compiled cannot represent cycles so far apart",
                hint="use engine simpy, or lower the latencies and intervals",
            )

    def last_cycle(self) -> int:
        """The cycle of the last firing of any block."""
        return max((_last(one.block) for one in self.parts), default=-1)

    def failure(self) -> Exception:
        """The error of the block that failed."""
        one = self.parts[self.scheduled.failed] if self.crew is None else self.crew.failed
        if one.block.status == Status.FAILED:
            mistake = StreamError(one.residual.messages[one.block.port], one.block.which)
            return located(mistake, one.part.node)
        if one.block.status == Status.OVER_CAPACITY:
            memory = one.part.memory.memory
            return too_full(memory.dimensions, memory.capacity)
        return no_memory(self._held())

    def wait(self, one: CompiledPart) -> WaitingBlock:
        """The wait of a part in a machine that has come to a stop."""
        starved = one.block.status == Status.STARVED
        channel = one.awaited[one.block.port]
        return WaitingBlock(channel.edge, not starved, channel.giver)

    # Reporting

    def report(self) -> Run:
        """The statistics of a run, and its result unless it was ended before."""
        finished = self.end is None
        cycles = 1 + self.last_cycle() if self.end is None else self.end
        for shared in self.queues:
            if not self.runtime.settle(ctypes.byref(shared.queue), ctypes.c_int64(cycles)):
                raise MemoryError
        self.objects.copy_back()
        bound, memories = self.machine.bound, self.machine.memories
        given = {one.part.name: _given(one) for one in self.parts}
        tokens = {
            channel.edge: counts
            for one in self.parts
            for output, counts in zip(one.part.outputs, given[one.part.name], strict=True)
            for channel in output.channels
        }
        result, notes = bound.output(memories) if finished else (None, ())
        memory = {} if self.hierarchy is None else self.hierarchy.finish(finished)
        return Run(
            graph=bound.graph,
            output=result,
            notes=(*notes, *self.notes),
            memory=memory,
            cycles=cycles,
            blocks={
                one.part.name: _statistics(one, cycles, given[one.part.name]) for one in self.parts
            },
            streams={
                str(edge): StreamStats({**tokens[edge]}, self.channels[edge].queue.peak)
                for edge in bound.graph.edges
            },
            config=self.machine.config.resolved(),
            engine="compiled",
            sinks=bound.sinks(memories) if finished else {},
            log=None if self.logs is None else self._log(self.logs, cycles),
        )

    def _log(self, logs: Logs, cycles: int) -> Log:
        """The waits of all parts."""
        layout, waits = self.machine.layout, []
        for one in self.parts:
            self.runtime.end_entries(ctypes.byref(one.block))
            asked, requests = logs.words(one.requests), None
            if layout is not None and len(asked):
                requests = decoded_requests(asked, len(layout.ports))
            inputs = len(one.part.inputs)
            awaited = [
                awaited_at(self.machine, channel, n < inputs)
                for n, channel in enumerate(one.awaited)
            ]
            entries = partial(_entries, logs, one.log)
            interval = one.part.timing.initiation_interval
            waits.append(Waits(entries, requests, awaited, interval, _last(one.block)))
        moved = {str(e): one.moved for e, one in self.channels.items() if not one.wire}
        traffic = [] if self.hierarchy is None else self.hierarchy.moved
        names_of_parts = [one.part.name for one in self.parts]
        over_time = OverTime.of(cycles, moved, traffic)
        return Log(names_of_parts, waits, cycles, over_time, *names(layout))

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        if self.crew is not None:
            self.crew.close()
        for shared in self.queues:
            self.runtime.close_queue(ctypes.byref(shared.queue))
        if self.hierarchy is not None:
            self.hierarchy.close()
        self.objects.close()


def _last(block: CBlock) -> int:
    """The cycle of the last firing; -1 before the first."""
    return block.ready - block.interval if block.fired else -1


def _entries(logs: Logs, log: CLog) -> Any:
    """The entries of a log of waits."""
    return decoded_waits(logs.words(log))


def _given(one: CompiledPart) -> list[dict[str, int]]:
    """The tokens of each kind that a finished part has given, by output."""
    given, counts, kinds = one.residual.body.given, list(one.counts), len(TOKEN_KINDS)
    rows = [counts[kinds * n : kinds * (n + 1)] for n in range(len(given))]
    for shared in one.queues_out:  # data: all other tokens of the queue
        row = rows[given[shared.bundle.givers[0]]]
        row[0] = shared.queue.tail - sum(row[1:])
    return [dict(zip(TOKEN_KINDS, rows[n], strict=True)) for n in given]


def _statistics(one: CompiledPart, cycles: int, given: list[dict[str, int]]) -> BlockStats:
    block = one.block
    names = [port.name for port in one.part.inputs]
    out_names = [port.name for port in one.part.outputs]
    waits = list(one.waits)
    starved = dict(zip(names, waits, strict=False))
    blocked = dict.fromkeys(out_names, 0)
    for (port, _), count in zip(one.slots, waits[len(names) :], strict=False):
        blocked[out_names[port]] += count
    return BlockStats(
        kind=one.part.node.kind,
        fired=block.fired,
        busy=block.fired + max(0, block.fired - 1) * (block.interval - 1),
        starved={name: count for name, count in starved.items() if count},
        blocked={name: count for name, count in blocked.items() if count},
        memory=block.waited,
        done=cycles - _last(block) - 1,
        tokens={
            name: counts for name, counts in zip(out_names, given, strict=True) if name != HANDOVER
        },
    )
