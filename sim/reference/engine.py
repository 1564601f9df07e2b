"""The reference engine: every block a SimPy process, every edge a queue of finite depth.

A firing happens in the first cycle in which the block's initiation interval is over, every token
that its step asks for is visible, and every queue that it gives to has room. A token given in
cycle t is visible in t + latency; room made by a take in cycle t can be used in t + 1. So nothing
that happens in a cycle is seen in the same cycle, and the order of events within a cycle does not
matter. (A source is outside the machine: its tokens are visible at once.) A wire is read in the
cycle in which its reader's initiation interval is over.

A firing that touches memory sends its requests in the cycle in which its tokens and its room are
there. It happens when the ports of memory have taken all requests. Its tokens are made in the cycle
in which all data are ready, or later: a block gives in the order of its firings. The requests of a
cycle are served at its end, in the order of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import simpy

from sam.blocks import StreamError
from sam.blocks.block_memory import Growing, Store, Stored, size_of, stores
from sam.graph import Edge, End
from sam.support.errors import UserError
from sim.attribution.log import KeptWaits, Log, names
from sim.attribution.over_time import OverTime, bins
from sim.binding import BoundGraph, located
from sim.config.hardware import Config
from sim.deadlock import WaitingBlock, deadlock
from sim.endless import (
    IDLE_FIRINGS,
    Holdings,
    OutOfCycles,
    Progress,
    Unfinished,
    no_memory,
    no_progress,
    require_memory,
)
from sim.machine import HANDOVER, Channel, InputPort, OutputPort, Part, elaborate
from sim.memory.hierarchy import Access, Hierarchy, statistics
from sim.order_of_service import (
    Order,
    cannot_keep,
    firings_of,
    in_bytes,
    in_runs,
    one_by_one,
    order_of,
)
from sim.reference.arbiter import Arbiter
from sim.reference.ends import (
    Given,
    IdealMemory,
    MemoryAccess,
    Starved,
    StepInput,
    StepOutput,
    WireEnd,
)
from sim.reference.queues import KeptWire, Queue, WatchedQueue, Wire
from sim.stats import BlockStats, Run, StreamStats
from sim.stream_checker import Validator

_CYCLES_BETWEEN_REPORTS = 4096
_FEWEST_EVENTS = 2  # of a process: that it begins, and that it ends
_EVENTS_BETWEEN_LOOKS = 1 << 18


def run(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None = None,
    validate: bool = False,
    most_events: int | None = None,
    max_cycles: int | None = None,
    attribution: bool = False,
    tokens: bool = False,
    order: Order | None = None,
) -> Run:
    """Runs a bound graph to its end; with ``attribution`` it keeps why each firing waited.

    With ``tokens`` too, it keeps each token with the cycles of its being given and taken. With an
    ``order`` of service, it keeps that.

    Raises UserError where it deadlocks, makes no progress, or is not done in ``max_cycles``.

    Under ``validate``, raises StreamError at the first token that is out of place; Unfinished
    where it takes more than ``most_events`` events of SimPy.
    """
    if most_events is not None and len(bound.graph.nodes) > most_events // _FEWEST_EVENTS:
        raise Unfinished  # without making the processes, which takes as long as the run elsewhere
    validator = Validator(bound.graph, bound.streams) if validate else None
    machine = _Processes(bound, config, validator, attribution, order)
    for queue in machine.queues if tokens else ():
        queue.history = []
    environment = machine.environment
    report_at = _CYCLES_BETWEEN_REPORTS
    events = 0
    while environment.peek() != float("inf"):
        if events == most_events:
            raise Unfinished
        if max_cycles is not None and environment.peek() >= max_cycles:
            raise OutOfCycles(max_cycles, partial(machine.report, max_cycles))
        events += 1
        if events % _EVENTS_BETWEEN_LOOKS == 0:
            require_memory(machine.holdings)
        try:
            environment.step()
        except UserError as copy:
            # SimPy raises a copy of what a process raised, and a copy lacks the hint.
            raise copy.__cause__ or copy from None
        except MemoryError:
            raise no_memory(machine.holdings()) from None
        if progress is not None and environment.now >= report_at:
            progress(int(environment.now))
            report_at = int(environment.now) + _CYCLES_BETWEEN_REPORTS
    stuck = [process for process in machine.processes.values() if not process.finished]
    if stuck and order is not None:
        raise cannot_keep()
    if stuck:
        waits = [process.wait() for process in stuck]
        raise deadlock(waits, machine.held(), machine.last_cycle())
    if validator is not None:
        validator.finish()
    return machine.report()


@dataclass
class _Before:
    """A part that has taken nothing for a while, as it was at some firing since.

    ``state``   its state, and where it reads wires how many tokens all parts had given; None once
                its memory has been found to change
    ``given``   the tokens that it had given
    ``memory``  what it had stored when it came to this state again
    """

    state: Any
    given: int
    memory: list[Any] | None = None


class _Process:
    """A part at work.

    ``all_given``  counts the tokens that all parts have given
    ``asker``      its number among the parts that touch memory
    """

    arbiter: Arbiter
    asker: int

    def __init__(
        self,
        part: Part,
        environment: simpy.Environment,
        attribution: bool,
        all_given: Callable[[], int],
    ) -> None:
        self.part, self.environment, self.all_given = part, environment, all_given
        self.kept = KeptWaits() if attribution else None
        self.interval = part.timing.initiation_interval
        self.ports = SimpleNamespace(memory=IdealMemory())
        self.taken: list[Queue] = []
        self.given: list[Given] = []
        self.accesses: list[Access] = []
        self.outputs: dict[str, StepOutput] = {}
        self.wires: list[WireEnd] = []
        self.waiting_for: StepInput | WireEnd | Queue | None = None
        self.finished = False
        self.state = SimpleNamespace(
            **{key: list(v) if isinstance(v, list) else v for key, v in part.state.items()}
        )
        self.idle, self.before = 0, _Before(None, 0)
        self.ready = 0  # the cycle in which it may fire next
        self.made = -1  # the last cycle in which one of its tokens was made
        self.fired = self.busy = self.memory = 0
        self.last_fired = -1
        self.starved: dict[str, int] = {}
        self.blocked: dict[str, int] = {}

    def live(self) -> Generator[simpy.Event, Any, None]:
        """Fires until the last token is done."""
        environment, step = self.environment, self.part.step
        while not self.finished:
            self.ready = int(environment.now)
            waits: dict[str, int] = self.starved
            port, last = "", None
            while True:
                try:
                    self._read_wires()
                    finished = step(self.ports, self.state, self.part.memory)
                    break
                except StreamError as mistake:
                    raise located(mistake, self.part.node) from None
                except Starved as starved:
                    self.waiting_for = starved.port
                    waits, port = self.starved, starved.port.name
                    last = starved.port.queue
                    yield starved.port.queue.token_comes()
            self._require_progress()
            for output, _, _ in self.given:
                for queue in output.queues:
                    while not queue.room():
                        self.waiting_for = queue
                        waits, port, last = self.blocked, output.name, queue
                        yield queue.room_comes()
            self.waiting_for = None
            now = asked = made = int(environment.now)
            if self.kept is not None and last is not None and asked > self.ready:
                self.kept.wait(self.ready, asked, (last.number, waits is self.starved))
            if self.accesses:
                made = yield from self._reach_memory()
                now = int(environment.now)
            self._account(now, now - asked, waits, port)
            self.made = max(self.made, made)
            for queue in self.taken:
                queue.pop()
            for output, kind, value in self.given:
                output.counts[kind] += 1
                for queue in output.queues:
                    queue.push(kind, value, self.made)
            self.taken.clear()
            self.given.clear()
            if finished:
                self.finished = True
            else:
                yield environment.timeout(self.interval)

    def _read_wires(self) -> None:
        """Reads its wires for the next firing."""
        for end in self.wires:
            end.queue.read(self.fired, self.ready)
            if end.queue.lacks(self.fired):
                raise Starved(end)

    def _require_progress(self) -> None:
        """Raises UserError if the block is as it was before, and has taken nothing since.

        All that decides its firings is the same then, so that they repeat. A wire may still change,
        unless nothing is given in the whole machine. It is compared with how it was after
        ``IDLE_FIRINGS``, twice as many, four times as many and so on, so that a state is found that
        comes again after many firings (Brent's way to find a cycle).
        """
        if self.taken:
            self.idle = 0
            return
        self.idle += 1
        if self.idle < IDLE_FIRINGS:
            return
        state = vars(self.state), self.all_given() if self.wires else 0
        own = sum(sum(output.counts) for output in self.outputs.values())
        rounds, rest = divmod(self.idle, IDLE_FIRINGS)
        if rest == 0 and rounds & (rounds - 1) == 0:
            self.before = _Before(deepcopy(state), own)
        elif state == self.before.state:
            memory = deepcopy([*map(_content, stores(self.part.memory))])
            if self.before.memory is None:
                self.before.memory = memory
            elif memory == self.before.memory:
                raise no_progress(self.part.name, gives=own > self.before.given)
            else:
                self.before.state = None

    def _reach_memory(self) -> Generator[simpy.Event, Any, int]:
        """Waits until ports have taken all its accesses; gives the cycle of their data."""
        environment, now = self.environment, int(self.environment.now)
        place = self.arbiter.hierarchy.place(self.asker, now)
        if place > now:
            yield environment.timeout(place - now)
        taken, ready, come = yield self.arbiter.ask(self.asker, self.accesses)
        if self.kept is not None:
            self.kept.request(now, place, taken, ready, self.made, come)
        if taken > environment.now:
            yield environment.timeout(taken - environment.now)
        self.accesses.clear()
        return int(ready)

    def _account(self, now: int, waited: int, waits: dict[str, int], port: str) -> None:
        """Divides the cycles since the last firing among states; the last ``waited`` cycles were
        for memory. Cycles in which data of earlier requests were on their way count as memory, too.
        """
        idle = now - self.last_fired - 1
        spacing = min(idle, self.interval - 1) if self.fired else 0
        self.fired += 1
        self.busy += 1 + spacing
        self.memory += waited
        idle -= spacing + waited
        if idle > 0:
            late = min(idle, max(0, self.made - (self.last_fired + 1 + spacing)))
            self.memory += late
            if idle > late:
                waits[port] = waits.get(port, 0) + idle - late
        self.last_fired = now

    def wait(self) -> WaitingBlock:
        """The token or the room that it waits for, in a machine that has come to a stop."""
        if isinstance(self.waiting_for, StepInput | WireEnd):
            queue = self.waiting_for.queue
            return WaitingBlock(queue.edge, full=False, giver=queue.giver)
        assert self.waiting_for is not None
        return WaitingBlock(self.waiting_for.edge, full=True, giver=self.waiting_for.giver)

    def statistics(self, cycles: int) -> BlockStats:
        return BlockStats(
            kind=self.part.node.kind,
            fired=self.fired,
            busy=self.busy,
            starved=self.starved,
            blocked=self.blocked,
            memory=self.memory,
            done=cycles - self.last_fired - 1,
            tokens={
                name: output.tokens() for name, output in self.outputs.items() if name != HANDOVER
            },
        )


def _content(store: Store) -> Any:
    """All of a memory that its block may read; the length of one that it only fills."""
    filled = isinstance(store, Growing | Stored) and store.written is not None
    return size_of(store) if filled else store


class _Processes:
    """The blocks and queues of a run."""

    def __init__(
        self,
        bound: BoundGraph,
        config: Config,
        validator: Validator | None,
        attribution: bool,
        order: Order | None,
    ) -> None:
        self.machine = elaborate(bound, config, lists=True, order=order)
        self.validator, self.attribution, self.order = validator, attribution, order
        self.environment = simpy.Environment()
        self.queues = [self._queue(channel) for channel in self.machine.channels]
        for queue in self.queues if attribution else ():
            queue.moved = bins(), bins()
        self.outputs: dict[End, StepOutput] = {}
        self.processes: dict[str, _Process] = {}
        noted = attribution and self.machine.shares_memory
        turns = one_by_one(order.requests) if order is not None and order.askers else None
        self.arbiter = Arbiter(self.environment, noted, turns)
        for part in self.machine.parts:
            self._start(part)
        if self.machine.layout is not None:
            self.arbiter.hierarchy = Hierarchy(self.machine.layout, self.attribution)

    def last_cycle(self) -> int:
        """The cycle of the last firing of any block."""
        return max((process.last_fired for process in self.processes.values()), default=-1)

    def _queue(self, channel: Channel) -> Queue:
        if channel.wire and self.order is not None:
            firings = firings_of(self.order.reads[channel.number])
            return KeptWire(self.environment, channel, firings)
        if channel.wire:
            return Wire(self.environment, channel)
        if self.validator is None or channel.edge not in self.machine.bound.streams:
            return Queue(self.environment, channel)
        queue = WatchedQueue(self.environment, channel)
        queue.watch = self.validator.watch(channel.edge)
        return queue

    def _start(self, part: Part) -> None:
        """Starts the process of a part."""
        process = _Process(part, self.environment, self.attribution, self.given)
        for name, port in part.ports.items():
            setattr(process.ports, name, self._end(process, port))
        if part.asker is not None:
            process.ports.memory = MemoryAccess(process.accesses)
            process.arbiter, process.asker = self.arbiter, part.asker
        self.processes[part.name] = process
        self.environment.process(process.live())

    def _end(
        self, process: _Process, port: InputPort | OutputPort | tuple[InputPort | OutputPort, ...]
    ) -> Any:
        """A port, or a group of them, as steps see it."""
        if isinstance(port, tuple):
            return [self._end(process, one) for one in port]
        if isinstance(port, InputPort):
            queue = self.queues[port.channel.number]
            if isinstance(queue, Wire):
                process.wires.append(WireEnd(port.name, queue))
                return process.wires[-1]
            return StepInput(process.taken, port.name, queue)
        queues = [self.queues[channel.number] for channel in port.channels]
        output = process.outputs[port.name] = StepOutput(process.given, port.name, queues)
        self.outputs[End(process.part.node.name, port.name)] = output
        return output

    def held(self) -> dict[Edge, int]:
        """The tokens in each queue."""
        return {queue.edge: len(queue.tokens) for queue in self.queues}

    def holdings(self) -> Holdings:
        """What the run keeps in memory."""
        stored = {}
        for process in self.processes.values():
            edges = [port.channel.edge for port in process.part.inputs]
            if edges:
                numbers = sum(map(size_of, stores(process.part.memory)))
                stored[max(edges, key=self._taken)] = numbers
        return Holdings(self.held(), stored)

    def given(self) -> int:
        """The tokens that all blocks have given."""
        return sum(sum(output.counts) for output in self.outputs.values())

    def _taken(self, edge: Edge) -> int:
        """The tokens of a queue that have been taken."""
        return sum(self.outputs[edge.source].counts) - self.held()[edge]

    def report(self, ended: int | None = None) -> Run:
        """The result and the statistics of a finished run, or of one that was ended in a cycle."""
        bound, memories = self.machine.bound, self.machine.memories
        finished = ended is None
        cycles = 1 + self.last_cycle() if ended is None else ended
        output, notes = bound.output(memories) if finished else (None, ())
        memory = {}
        if self.machine.layout is not None:
            if finished:
                self.arbiter.hierarchy.finish()
            memory = statistics(self.machine.layout, self.arbiter.hierarchy)
        return Run(
            graph=bound.graph,
            output=output,
            notes=notes,
            memory=memory,
            cycles=cycles,
            blocks={name: p.statistics(cycles) for name, p in self.processes.items()},
            streams={
                str(queue.edge): StreamStats(self.outputs[queue.edge.source].tokens(), queue.peak)
                for queue in self.queues
                if queue.edge in bound.streams
            },
            config=self.machine.config.resolved(),
            engine="simpy",
            sinks=bound.sinks(memories) if finished else {},
            log=self._log(cycles) if self.attribution and finished else None,
        )

    def _log(self, cycles: int) -> Log:
        """The waits of all parts."""
        waits = [
            process.kept.waits(self.machine, process.part, process.last_fired)
            for process in self.processes.values()
            if process.kept is not None
        ]
        moved = {
            str(queue.edge): queue.moved for queue in self.queues if not isinstance(queue, Wire)
        }
        layout = self.machine.layout
        traffic = [] if layout is None else self.arbiter.hierarchy.moved
        over_time = OverTime.of(cycles, moved, traffic)
        tokens = {
            str(queue.edge): queue.history for queue in self.queues if queue.history is not None
        }
        reads = [in_bytes(queue.read_in) for queue in self.queues if isinstance(queue, Wire)]
        order = order_of(self.machine, in_runs(self.arbiter.served), reads)
        return Log([*self.processes], waits, cycles, over_time, *names(layout), tokens, order)
