"""The compiled engine: the same steps as the SimPy engine runs, translated to C.

Every block runs ahead in its own local time, many firings per call, until an input is empty or an
output is full. The scheduler (``scheduler.c``) wakes a block when a queue that it waits for has
moved. Tokens carry the cycle in which they become visible, and places of queues the cycle in which
they were freed, so the cycle of each firing is the one of the SimPy engine, and so are all
statistics. Blocks that read a wire or touch memory are ordered in time. Several threads may share
a long run (``legs.py``).

Kernels are compiled once for each step, arity and type of values, and kept on disk.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import partial

from sam.blocks import StreamError
from sam.blocks.block_memory import too_full
from sam.support.errors import UserError
from sim.binding import BoundGraph, located
from sim.compiled.collection import no_collection
from sim.compiled.layout import CompiledMachine
from sim.compiled.parts import CompiledPart
from sim.compiled.reporting import report
from sim.compiled.standstill import Standstill
from sim.compiled.structures import Status
from sim.config.hardware import Config
from sim.deadlock import WaitingBlock, deadlock
from sim.endless import OutOfCycles, no_memory, require_memory
from sim.order_of_service import Order, cannot_keep
from sim.stats import Run

Progress = Callable[[int], None]

_MOST_ROUNDS, _FIRST_ROUNDS = 4096, 64  # of the scheduler in one call
# Seconds between looks at the memory: if plenty is left, and if not.
_SECONDS = {True: 0.25, False: 0.02}
# Queues compare cycles that are less than _APART from each other. That holds unless the busiest
# block fires less than once in _SELDOM cycles of a long run.
_APART, _SELDOM = 2**31, 1024


def run(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None = None,
    max_cycles: int | None = None,
    attribution: bool = False,
    at_hand: bool = False,
    order: Order | None = None,
    notes: Sequence[str] = (),
) -> Run:
    """Runs a bound graph to its end; with ``attribution`` it keeps why each firing waited.

    With an ``order`` of service, it keeps that.

    Raises UserError if it deadlocks, makes no progress, or takes more than ``max_cycles``;
    NotAtHand where its kernels must be ``at_hand``, and one would have to be made first.
    """
    with no_collection():
        running = CompiledRun(
            CompiledMachine(bound, config, attribution, at_hand=at_hand, order=order)
        )
    try:
        running.run(progress, max_cycles)
        with no_collection():
            return running.report(notes)
    finally:
        running.close()


def _reached(bound: BoundGraph, config: Config, cycles: int) -> Run:
    """The first cycles of a run that takes more."""
    running = CompiledRun(CompiledMachine(bound, config, end=cycles))
    try:
        running.run(None)
        return running.report()
    except MemoryError:
        raise no_memory(running.machine.holdings()) from None
    finally:
        running.close()


def out_of_cycles(bound: BoundGraph, config: Config, cycles: int) -> OutOfCycles:
    """The error for a run that takes more than so many cycles."""
    return OutOfCycles(cycles, partial(_reached, bound, config, cycles))


class CompiledRun:
    """A run of a machine, which it takes over and closes."""

    def __init__(self, machine: CompiledMachine) -> None:
        self.machine = machine

    def run(self, progress: Progress | None, max_cycles: int | None = None) -> None:
        """Runs all blocks to their ends, or to that of the run."""
        self.go_on(progress, max_cycles)
        if max_cycles is not None and self.machine.last_cycle() >= max_cycles:
            raise self._out_of_cycles(max_cycles)
        self.require_end()

    def go_on(
        self,
        progress: Progress | None = None,
        max_cycles: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Runs until no block can go on, or until told to stop."""
        standstill, plenty, rounds = Standstill(self.machine), True, _FIRST_ROUNDS
        observed = 0  # how often blocks that take nothing are still to be observed
        began = looked = time.monotonic()
        runtime, scheduled = self.machine.runtime, ctypes.byref(self.machine.scheduled)
        while True:
            status = runtime.run(scheduled, ctypes.c_int64(1 if observed else rounds))
            if status == 2:
                raise self.failure()
            if status == 1 or stop():
                return
            if observed:
                observed -= 1
                standstill.observe()
                began = looked = time.monotonic()
                continue
            if progress is not None:
                progress(self.machine.last_cycle())
            if max_cycles is not None and self.machine.last_cycle() >= max_cycles:
                raise self._out_of_cycles(max_cycles)
            now = time.monotonic()
            if now - began < _SECONDS[plenty] / 4:
                rounds = min(_MOST_ROUNDS, 2 * rounds)
            elif now - began > _SECONDS[plenty]:
                rounds = max(1, rounds // 4)
            if now - looked >= _SECONDS[plenty]:
                plenty = require_memory(self.machine.holdings)
                observed = standstill.look()
                looked = time.monotonic()
            began = time.monotonic()

    def require_end(self) -> None:
        """Raises UserError unless all blocks have come to their ends, or to that of the run."""
        self._require_firings()
        if any(one.block.status == Status.LATE for one in self.machine.parts):
            return
        stuck = [one for one in self.machine.parts if one.block.status != Status.FINISHED_BLOCK]
        if stuck and self.machine.keeps:
            raise cannot_keep()
        if stuck:
            waits = [self.wait(one) for one in stuck]
            raise deadlock(waits, self.machine.held(), self.machine.last_cycle())

    def _out_of_cycles(self, max_cycles: int) -> OutOfCycles:
        return out_of_cycles(self.machine.machine.bound, self.machine.machine.config, max_cycles)

    def _require_firings(self) -> None:
        """Raises UserError if cycles that queues compare may be too far apart."""
        most = max(one.block.fired for one in self.machine.parts)
        if self.machine.last_cycle() >= max(_APART, most * _SELDOM):
            raise UserError(
                f"the run takes more than {_APART} cycles, in which no block fires more than "
                f"{most} times: the engine compiled cannot represent cycles so far apart",
                hint="use engine simpy, or lower the latencies and intervals",
            )

    def failure(self) -> Exception:
        """The error of the block that failed."""
        one = self.machine.parts[self.machine.scheduled.failed]
        if one.block.status == Status.FAILED:
            mistake = StreamError(one.residual.messages[one.block.port], one.block.which)
            return located(mistake, one.part.node)
        if one.block.status == Status.OVER_CAPACITY:
            memory = one.part.memory.memory
            return too_full(memory.dimensions, memory.capacity)
        return no_memory(self.machine.holdings())

    def wait(self, one: CompiledPart) -> WaitingBlock:
        """The wait of a part in a machine that has come to a stop."""
        starved = one.block.status == Status.STARVED
        channel = one.awaited[one.block.port]
        return WaitingBlock(channel.edge, not starved, channel.giver)

    def report(self, notes: Sequence[str] = ()) -> Run:
        """The statistics of the run, and its result unless it was ended before."""
        return report(self.machine, notes)

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        self.machine.close()
