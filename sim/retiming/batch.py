"""A batch: one graph on its inputs under configs that differ in times only.

The firings are found once, and timed for up to 64 configs at once. A config that deadlocks is left
out, and has to run alone for a full report. A config that could go on, but not in the order of the
others, is left out too, and joins another batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing

from sam.blocks import StreamError
from sam.support.errors import UserError
from sim.binding import BoundGraph
from sim.compiled.engine import out_of_cycles
from sim.config.hardware import Config
from sim.machine import elaborate
from sim.retiming.firing_kernel import Untraceable
from sim.retiming.firings import Abandoned, Firings
from sim.retiming.timing import MOST_LANES, Timing, TooLate
from sim.stats import Run

Finish = Callable[[int, Run | UserError | StreamError], None]
"""A function of the number of a config, and its run or the error that it ends with."""

FEW = 3
"""Up to this many configs are as fast one by one."""

_MOST_BYTES = 2**28
"""The most bytes of codes that are kept; if there are more, they are timed as they come."""

_log = logging.getLogger(__name__)


def run(
    bound: BoundGraph,
    configs: Sequence[Config],
    max_cycles: Sequence[int | None],
    finish: Finish,
    tells: bool = True,
    most_bytes: int = _MOST_BYTES,
) -> list[int]:
    """Runs a bound graph under some configs that are ``alike``.

    Gives the numbers of the configs that have to run alone: those that deadlock, if ``tells``; all
    where the graph has wires or memory is not ideal, where a step has no translation, or where the
    run fails.
    """
    if len(configs) <= FEW or configs[0].memory.levels:
        return list(range(len(configs)))
    batch = _Batch(bound, configs, max_cycles, finish, tells, most_bytes)
    try:
        batch.run()
    except Untraceable:
        _log.info("the graph has wires: its %d configs run one by one", len(configs))
    except (Abandoned, UserError, StreamError, MemoryError) as mistake:  # runs alone tell why
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
    ) -> None:
        self.bound, self.configs, self.max_cycles = bound, configs, max_cycles
        self.finish, self.tells, self.most_bytes = finish, tells, most_bytes
        self.gone: set[int] = set()

    def left(self) -> list[int]:
        """The numbers of the configs that have no run."""
        return [n for n in range(len(self.configs)) if n not in self.gone]

    def run(self) -> None:
        """Finds the runs of as many configs as possible."""
        left = self.left()
        with ExitStack() as stack:
            firings: Firings | None = None
            while len(left) > FEW:
                lanes = left[:MOST_LANES]
                if firings is None or not firings.whole:
                    machine = elaborate(self.bound, self.configs[0])
                    firings = stack.enter_context(closing(Firings(machine, self.most_bytes)))
                    firings.run()
                try:
                    timed, dead = self._time(firings, lanes, wide=False)
                except TooLate:
                    if not firings.whole:
                        firings = stack.enter_context(closing(Firings(machine, self.most_bytes)))
                    timed, dead = self._time(firings, lanes, wide=True)
                self.gone |= {*timed}
                if not self.tells:
                    self.gone |= {*dead}
                    for n in dead:
                        self.finish(n, UserError("deadlock"))
                left = [n for n in left if n not in timed and n not in dead]

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
        """Finishes a config with its run."""
        cycles, most = timing.cycles(lane), self.max_cycles[n]
        if most is not None and cycles > most:
            self.finish(n, out_of_cycles(self.bound, self.configs[n], most))
            return
        output, notes = firings.output
        self.finish(
            n,
            Run(
                graph=self.bound.graph,
                output=output,
                notes=notes,
                cycles=cycles,
                blocks=timing.blocks(lane),
                streams=timing.streams(lane),
                config=self.configs[n].resolved(),
                engine="compiled",
                sinks=firings.sinks,
            ),
        )
