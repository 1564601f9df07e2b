"""Requests to memory are served at the end of their cycle, in the order of the blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import simpy
from simpy.core import EventPriority

from sim.memory.hierarchy import Access, Hierarchy

_AFTER_ALL_ELSE = EventPriority(2)


class _EndOfCycle(simpy.Event):
    """An event that comes last in its cycle."""

    def __init__(
        self, environment: simpy.Environment, happen: Callable[[simpy.Event], None]
    ) -> None:
        super().__init__(environment)
        self._ok, self._value, self.callbacks = True, None, [happen]
        environment.schedule(self, _AFTER_ALL_ELSE)


class Arbiter:
    """Collects the requests of each cycle, and has them served in the order of the blocks."""

    hierarchy: Hierarchy

    def __init__(self, environment: simpy.Environment) -> None:
        self.environment = environment
        self.asking: list[tuple[int, Sequence[Access], simpy.Event]] = []

    def ask(self, block: int, accesses: Sequence[Access]) -> simpy.Event:
        """The event that the requests are served: when ports take them, when all data are ready,
        and the causes.
        """
        if not self.asking:
            _EndOfCycle(self.environment, self._serve)
        served = self.environment.event()
        self.asking.append((block, accesses, served))
        return served

    def _serve(self, event: simpy.Event) -> None:
        for block, accesses, served in sorted(self.asking, key=lambda asked: asked[0]):
            now = int(self.environment.now)
            taken, ready = self.hierarchy.request(block, now, accesses)
            served.succeed((taken, ready, self.hierarchy.come))
        self.asking.clear()
