"""One run on several threads: it is cut in time, and legs of it run at once.

A leg is the part of a run between two cuts (``gate.py``). Where it starts, the machine is not known
yet; but that it has started elsewhere is soon forgotten. So a leg starts some firings of the gate
early, with an empty machine. When the leg before it comes to their common cut, the two machines are
compared there (``cut.py``). If they have the same future but for a number of cycles, what the leg
has done from the cut on is what the run does; its cycles are shifted, and statistics add up. If
they do not, the machine of the leg before goes on. So the run is the same as on one thread.

Parts that depend on time are not run in legs, nor unbounded queues: nothing holds their writers
back, so how far these are ahead is never forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from math import lcm
from threading import Event

import numpy as np

from sam.blocks import KINDS
from sam.support.errors import UserError
from sim.binding import BoundGraph
from sim.compiled import engine
from sim.compiled.collection import no_collection
from sim.compiled.cut import Cut, lead
from sim.compiled.engine import CompiledRun, Progress
from sim.compiled.gate import WITHOUT_END, let_through, why_whole
from sim.compiled.joining import Leg, cover, join, untouched
from sim.compiled.layout import CompiledMachine
from sim.compiled.parts import CompiledPart
from sim.config.hardware import Config
from sim.order_of_service import Order
from sim.stats import Run

WARM_UP, LEAST = 0.03, 0.5
"""Seconds on one thread, after which it is known how long the rest takes; the least for legs."""

COUNTED = 2.0
"""Seconds in which all firings of the gate must be counted; a block of a user's may have no end."""

LEGS = 3
"""The legs for each thread: with more of them, threads end closer together."""

EARLY = 4
"""The fewest firings of the gate that a leg starts early, beside those that its queues hold; of
lanes, each has so many."""

TRIES = 4
"""How often the firings that a leg starts early are doubled, if they are too few."""

LONG = 8
"""How many times as many firings as those that it starts early a leg must have."""

_REMEMBERED = "one thread: how the run began matters for too long"

Stop = Callable[[], bool]


def _never() -> bool:
    return False


def run(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None = None,
    max_cycles: int | None = None,
    attribution: bool = False,
    threads: int = 1,
    at_hand: bool = False,
    order: Order | None = None,
) -> Run:
    """Runs a bound graph on up to ``threads`` threads; the rest is as in ``engine.run``."""
    alone = partial(engine.run, bound, config, progress, max_cycles, attribution, at_hand, order)
    if threads == 1:
        return alone()
    for given, what in (
        (attribution, "the run keeps why its firings wait"),
        (order is not None, "the run keeps an order of service"),
        (max_cycles is not None, "the number of cycles is limited"),
    ):
        if given:
            return alone(notes=(f"one thread: {what}",))
    with no_collection():
        first = CompiledRun(CompiledMachine(bound, config, at_hand=at_hand, holdable=True))
    legs = _Legs(bound, config, first, threads)
    try:
        return legs.run(progress)
    except _LegFailed:
        return alone()
    finally:
        legs.close()


class _LegFailed(Exception):
    """A later leg has failed, whose machine does not know the cycles of the run."""


class _Legs:
    """A run in legs.

    ``first``   the machine of the first leg
    ``runs``    all machines, to be closed
    ``early``   the firings of the gate that a leg starts early
    ``full``    whether it then fills its queues
    ``step``    the number that its first firing is a multiple of, so that lanes are dealt alike
    ``notes``   why the run stays on one thread, if it does
    """

    def __init__(self, bound: BoundGraph, config: Config, first: CompiledRun, threads: int) -> None:
        self.bound, self.config, self.first, self.threads = bound, config, first, threads
        self.runs = [first]
        self.early, self.full = EARLY, False
        self.step = lcm(*map(_lanes, first.machine.parts))
        self.notes: list[str] = []
        self.stopped = Event()

    def run(self, progress: Progress | None) -> Run:
        """Runs all legs, and puts them together."""
        began = time.monotonic()
        whole = why_whole(self.first.machine)
        if whole is None:
            self.first.go_on(progress, stop=lambda: time.monotonic() - began > WARM_UP)
            cuts = self._cuts(time.monotonic() - began)
        else:
            self.notes, cuts = [f"one thread: {whole}"], []
        legs = self._together(cuts, progress) if cuts else []
        if len(legs) < 2:
            self.first.machine.allow(WITHOUT_END)
            self.first.run(progress)
            return self.first.report(self.notes)
        with no_collection():
            join(legs)
            legs[-1].running.require_end()
            return legs[-1].running.report()

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for one in self.runs:
            one.close()

    def _cuts(self, seconds: float) -> list[int]:
        """The firings of the gate before each cut, the last of them without end; none if no use."""
        gate = self.first.machine.gate
        done = 0 if gate is None else int(gate.block.fired)
        if gate is None or not done or self.first.machine.finished:
            return []
        began = time.monotonic()
        fired = let_through(
            self._machine().machine, WITHOUT_END, lambda: time.monotonic() - began > COUNTED
        )
        if fired is None:
            self.notes.append(f"one thread: {gate.part.name} fires for too long")
            return []
        left = fired - done
        if left / done * seconds < LEAST:
            return []
        deepest = max((one.depth for one in gate.queues_out), default=0)
        self.early = self.step * max(1, EARLY + deepest)
        for _ in range(TRIES):
            count = min(self.threads * LEGS, left // (LONG * self.early))
            if count < 2:
                self.notes.append("one thread: the run is too short to be cut")
                return []
            done, left = done + self.early, left - self.early
            if self._forgotten(done):
                return [*(done + left * n // count for n in range(1, count)), WITHOUT_END]
            self.early *= 2
        self.notes.append(_REMEMBERED)
        return []

    def _machine(self) -> CompiledRun:
        """Another machine of this run."""
        self.runs.append(CompiledRun(CompiledMachine(self.bound, self.config, holdable=True)))
        return self.runs[-1]

    def _forgotten(self, cut: int) -> bool:
        """Whether a machine that starts shortly before a cut is soon like the one of the run."""
        if not self._hold(self.first, cut):
            return False
        here = Cut.of(self.first.machine)
        for self.full in (True, False):
            leg = self._start(cut)
            if leg is None:
                return False
            if lead(self.first.machine, here, leg.end) is not None:
                return self._go_on(leg, cut + self.early)
        return False

    def _start(self, cut: int) -> Leg | None:
        """A leg that has started early, and come to its first cut; None if it has not."""
        running = self._machine()
        start = max(0, cut - self.early)
        let_through(running.machine, start - start % self.step)
        if self.full:
            running.machine.fill()
        if not self._hold(running, cut):
            return None
        running.machine.restart_peaks()
        begin = Cut.of(running.machine)
        cover(running.machine)
        return Leg(running, begin, begin)

    def _leg(self, cut: int, following: int) -> Leg | None:
        """Runs a leg between two cuts; None if it fails."""
        with suppress(UserError, MemoryError):
            leg = self._start(cut)
            if leg is not None and self._go_on(leg, following, stop=self.stopped.is_set):
                return leg
        return None

    def _go_on(
        self, leg: Leg, cut: int, progress: Progress | None = None, stop: Stop = _never
    ) -> bool:
        """Runs the machine of a leg on to a cut; returns whether it comes there, as it should."""
        held = self._hold(leg.running, cut, progress, stop)
        leg.end = Cut.of(leg.running.machine)
        return held and (leg.start is None or untouched(leg.running.machine, leg.start))

    def _hold(
        self,
        running: CompiledRun,
        cut: int,
        progress: Progress | None = None,
        stop: Stop = _never,
    ) -> bool:
        """Runs a machine until it comes to a cut, or to the end; returns whether it does."""
        machine = running.machine
        machine.allow(cut)
        running.go_on(progress, stop=stop)
        return machine.at_cut if cut < WITHOUT_END else machine.finished

    def _together(self, cuts: Sequence[int], progress: Progress | None) -> list[Leg]:
        """Runs the legs at once; gives those that are right, one after the other."""
        whole = Leg(self.first, None, Cut.of(self.first.machine))
        ends = list(pairwise(cuts))
        with ThreadPoolExecutor(self.threads - 1) as pool:
            try:
                tasks = self._begun(pool, ends)
                if not self._go_on(whole, cuts[0], progress):
                    return [whole]
                legs = [whole]
                self._add(legs, tasks[0].result(), cuts[1])
                if len(legs) == 1:  # nor will the others be what the run does
                    self.notes.append(_REMEMBERED)
                    return legs
                here = {n: self._leg(*ends[n]) for n, task in enumerate(tasks) if task.cancel()}
                for n, task in enumerate(tasks[1:], 1):
                    self._add(legs, here[n] if n in here else task.result(), cuts[n + 1])
                    if progress is not None:
                        progress(
                            legs[-1].running.machine.last_cycle() + int(np.max(legs[-1].ahead))
                        )
                return legs
            finally:
                self.stopped.set()

    def _begun(
        self, pool: ThreadPoolExecutor, ends: Sequence[tuple[int, int]]
    ) -> list[Future[Leg | None]]:
        """The legs as tasks of threads; raises UserError if the system gives no thread."""
        try:
            return [pool.submit(self._leg, *one) for one in ends]
        except RuntimeError:
            raise UserError("the system gives no more threads", hint="threads=1") from None

    def _add(self, legs: list[Leg], leg: Leg | None, cut: int) -> None:
        """Adds a leg up to a cut; if it is not what the run does, the one before goes on instead.

        Raises _LegFailed if that is not the first, and does not come there.
        """
        last = legs[-1]
        if leg is not None and leg.start is not None:
            ahead = lead(last.running.machine, last.end, leg.start)
            if ahead is not None:
                leg.ahead = last.ahead + ahead
                legs.append(leg)
                return
        try:
            came = self._go_on(last, cut)
        except UserError:
            if last.start is None:
                raise
            raise _LegFailed from None
        if not came and last.start is not None:
            raise _LegFailed


def _lanes(one: CompiledPart) -> int:
    """How many lanes a part deals coordinates out to; 1 if it does not."""
    node = one.part.node
    return int(node.parameters["lanes"]) if KINDS[node.kind].deals else 1
