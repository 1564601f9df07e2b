"""Requests to memory are served at the end of their cycle, in the order of the blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
    """Collects the requests of each cycle, and has them served in the order of the blocks.

    ``served``  the blocks whose requests were served, in that order, if it is ``noted``
    ``order``   the blocks of all requests, if requests are kept back until it is their turn
    """

    hierarchy: Hierarchy

    def __init__(
        self,
        environment: simpy.Environment,
        noted: bool = False,
        order: Iterator[int] | None = None,
    ) -> None:
        self.environment, self.noted, self.order = environment, noted, order
        self.served: list[int] = []
        self.next = None if order is None else next(order, None)
        self.asking: dict[int, tuple[Sequence[Access], simpy.Event]] = {}
        self.ends = False

    def ask(self, block: int, accesses: Sequence[Access]) -> simpy.Event:
        """The event that the requests are served: when ports take them, when all data are ready,
        and the causes.
        """
        if not self.ends:
            _EndOfCycle(self.environment, self._serve)
            self.ends = True
        served = self.environment.event()
        self.asking[block] = accesses, served
        return served

    def _serve(self, event: simpy.Event) -> None:
        self.ends = False
        for block in self._in_turn():
            accesses, served = self.asking.pop(block)
            taken, ready = self.hierarchy.request(block, int(self.environment.now), accesses)
            if self.noted:
                self.served.append(block)
            served.succeed((taken, ready, self.hierarchy.come))

    def _in_turn(self) -> Iterator[int]:
        """The blocks whose turn it is now."""
        if self.order is None:
            yield from sorted(self.asking)
        while self.order is not None and self.next in self.asking:
            yield self.next
            self.next = next(self.order, None)
