"""A batch: one graph on its inputs under configs that differ in times only.

The firings are found once. Where memory is ideal, they are timed for up to 64 configs at once;
where memory takes time, for one config after the other. A config that deadlocks is left out, and
has to run alone for a full report. A config that could go on, but not in the order of the others,
is left out too, and joins another batch.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress

from sam.blocks import StreamError
from sam.support.errors import UserError
from sim.binding import BoundGraph
from sim.compiled.engine import out_of_cycles
from sim.config.hardware import Config
from sim.machine import Machine, elaborate
from sim.retiming.firing_kernel import Untraceable
from sim.retiming.firings import Abandoned, Firings
from sim.retiming.serving import MOST_CYCLES, Serving, serving_source
from sim.retiming.timing import MOST_LANES, Timing, TooLate, timing_source
from sim.stats import BlockStats, MemoryStats, Run, StreamStats

Finish = Callable[[int, Run | UserError | StreamError], None]
"""A function of the number of a config, and its run or the error that it ends with."""

FEW = 3
"""Up to this many configs are as fast one by one."""

_MOST_BYTES = 2**28
"""The most bytes of codes that are kept; if there are more, they are timed as they come."""

_AT_ONCE = 2**22
"""The most bytes of codes that are kept where they are read only once: caches hold them."""

_log = logging.getLogger(__name__)


def run(
    bound: BoundGraph,
    configs: Sequence[Config],
    max_cycles: Sequence[int | None],
    finish: Finish,
    tells: bool = True,
    most_bytes: int = _MOST_BYTES,
    at_hand: bool = False,
) -> list[int]:
    """Runs a bound graph under some configs that are ``alike``.

    Gives the numbers of the configs that have to run alone: those that deadlock, if ``tells``; all
    where the graph has wires, where a step has no translation, or where the run fails; and where
    memory takes time those in which tensors do not fit, or all if there are too many codes.

    Raises NotAtHand, and has run none, where the kernels of blocks must be ``at_hand``, and one
    would have to be made first.
    """
    if len(configs) <= FEW:
        return list(range(len(configs)))
    batch = _Batch(bound, configs, max_cycles, finish, tells, most_bytes, at_hand)
    try:
        if configs[0].memory.levels:
            batch.serve()
        else:
            batch.run()
    except Untraceable as mistake:
        _log.warning("the %d configs run one by one: %s", len(configs), mistake)
    except (Abandoned, UserError, StreamError, MemoryError) as mistake:
        # runs alone tell why
        _log.info("the %d configs run one by one: %s", len(configs), mistake)
    return batch.left()


class _Batch:
    """A batch while it runs."""

    def __init__(
        self,
        bound: BoundGraph,
        configs: Sequence[Config],
        max_cycles: Sequence[int | None],
        finish: Finish,
        tells: bool,
        most_bytes: int,
        at_hand: bool,
    ) -> None:
        self.bound, self.configs, self.max_cycles = bound, configs, max_cycles
        self.finish, self.tells = finish, tells
        self.most_bytes, self.at_hand = most_bytes, at_hand
        self.gone: set[int] = set()

    def left(self) -> list[int]:
        """The numbers of the configs that have no run."""
        return [n for n in range(len(self.configs)) if n not in self.gone]

    def run(self) -> None:
        """Finds the runs of as many configs as possible, those of like depths in lanes side by
        side."""
        left = sorted(self.left(), key=lambda n: _depth(self.configs[n]))
        with ExitStack() as stack:
            firings: Firings | None = None
            while len(left) > FEW:
                lanes = left[:MOST_LANES]
                most = self.most_bytes if len(left) > MOST_LANES else _AT_ONCE
                if firings is None or not firings.whole:
                    firings = self._firings(stack, most, len(lanes))
                try:
                    timed, dead = self._time(firings, lanes, wide=False)
                except TooLate:
                    if not firings.whole:
                        firings = self._firings(stack, most, len(lanes))
                    timed, dead = self._time(firings, lanes, wide=True)
                self.gone |= {*timed}
                if not self.tells:
                    self.gone |= {*dead}
                    for n in dead:
                        self.finish(n, UserError("deadlock"))
                left = [n for n in left if n not in timed and n not in dead]

    def _firings(self, stack: ExitStack, most: int, lanes: int) -> Firings:
        """The firings of the graph, up to a number of bytes of codes, to be timed in some lanes."""
        machine = elaborate(self.bound, self.configs[0])
        traced = self._traced(machine, min(most, self.most_bytes), timing_source(lanes))
        firings = stack.enter_context(closing(traced))
        firings.run()
        return firings

    def _traced(self, machine: Machine, most: int, source: str) -> Firings:
        """The firings of a machine, as many as fit in the cycles that the runs may take.

        ``source``  the C source that times them
        """
        limits = [cycles for cycles in self.max_cycles if cycles is not None]
        limited = len(limits) == len(self.max_cycles)
        return Firings(machine, most, max(limits) if limited else None, self.at_hand, (source,))

    def serve(self) -> None:
        """Finds the runs of configs whose memory takes time."""
        machine = self._machine()
        if machine is None:
            return
        with closing(self._traced(machine, self.most_bytes, serving_source())) as firings:
            firings.run()
            before: Serving | None = None
            try:
                for n in self.left() if firings.done else ():
                    with suppress(UserError):  # a level is too small; the run alone tells
                        serving = Serving(firings, self.configs[n], before)
                        if before is not None:
                            before.close()
                        before = serving
                        serving.run()
                        self._served(firings, serving, n)
            finally:
                if before is not None:
                    before.close()

    def _machine(self) -> Machine | None:
        """A machine of one of the configs in which the tensors fit, if there is one."""
        for config in self.configs:
            with suppress(UserError):
                return elaborate(self.bound, config)
        return None

    def _served(self, firings: Firings, serving: Serving, n: int) -> None:
        """Finishes a config whose memory takes time, unless it has to run alone.

        Raises UserError if the result does not fit where it lives.
        """
        if (self.tells and not serving.finished) or serving.cycles > MOST_CYCLES:
            return
        if not serving.finished:
            self.finish(n, UserError("deadlock"))
        elif not self._ends_early(serving.cycles, n):
            memory = serving.memory()
            self._finish(firings, serving.cycles, (serving.blocks(), serving.streams(), memory), n)
        self.gone.add(n)

    def _time(
        self, firings: Firings, lanes: Sequence[int], wide: bool
    ) -> tuple[list[int], list[int]]:
        """Times configs; gives the numbers of those that are done, and of those that deadlock."""
        timing = Timing(firings, [self.configs[n] for n in lanes], wide)
        with closing(timing):
            timing.run()
            timed = [lane for lane in range(len(lanes)) if timing.live[lane]]
            for lane in timed:
                self._report(firings, timing, lane, lanes[lane])
            return [lanes[lane] for lane in timed], [lanes[lane] for lane in timing.deadlocked]

    def _report(self, firings: Firings, timing: Timing, lane: int, n: int) -> None:
        """Finishes a config with the run in a lane."""
        cycles = timing.cycles(lane)
        if not self._ends_early(cycles, n):
            self._finish(firings, cycles, (timing.blocks(lane), timing.streams(lane), {}), n)

    def _ends_early(self, cycles: int, n: int) -> bool:
        """Finishes a config that takes more cycles than it may; gives whether it does."""
        most = self.max_cycles[n]
        if most is None or cycles <= most:
            return False
        self.finish(n, out_of_cycles(self.bound, self.configs[n], most))
        return True

    def _finish(
        self,
        firings: Firings,
        cycles: int,
        stats: tuple[
            Mapping[str, BlockStats], Mapping[str, StreamStats], Mapping[str, MemoryStats]
        ],
        n: int,
    ) -> None:
        """Finishes a config with its run."""
        output, notes = firings.output
        blocks, streams, memory = stats
        self.finish(
            n,
            Run(
                graph=self.bound.graph,
                output=output,
                notes=notes,
                memory=memory,
                cycles=cycles,
                blocks=blocks,
                streams=streams,
                config=self.configs[n].resolved(),
                engine="compiled",
                sinks=firings.sinks,
            ),
        )


def _depth(config: Config) -> float:
    """The depth of most queues."""
    depth, _ = config.queue("", "", "")
    return math.inf if depth is None else depth
