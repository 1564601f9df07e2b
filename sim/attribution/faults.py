"""Whose fault the waits of blocks are.

From the firing that ends a wait, the chain of causes is walked back to the cycle in which the wait
began. Each cycle of the wait is the fault of the block that the walk is at. If a queue is full, its
reader is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim.attribution.causes import NONE, Events
from sim.attribution.log import Array

# The walks done together, and the number below which walks are done one by one.
_TOGETHER, _FEW = 1 << 19, 24


class Faults:
    """Cycles by group of waits and by culprit; culprit 2b is block b, and 2b + 1 its memory."""

    def __init__(self, events: Events) -> None:
        self.events, self.origins = events, events.origins
        self.other = events.block[self.origins.parent]
        for block, cause, chosen in events.groups():
            self.other[chosen] = events.log.waits[block].awaited[cause].other
        self.culprits = 2 * len(events.log.blocks)

    def of_groups(self, groups: list[tuple[Array, Array]]) -> Iterator[Array]:
        """For each group of events, with the first cycle of the wait of each: cycles by culprit."""
        for chosen, first in groups:
            found = np.zeros(self.culprits, np.int64)
            for n in range(0, len(chosen), _TOGETHER):
                self._walk(chosen[n : n + _TOGETHER], first[n : n + _TOGETHER], found)
            yield found

    def _walk(self, event: Array, low: Array, found: Array) -> None:
        """Adds the cycles of some waits, each step of all at once."""
        events, origins = self.events, self.origins
        top = events.asked[event]
        while len(event) > _FEW:
            origin, parent = origins.cycle[event], origins.parent[event]
            waits_for_other = events.cause[event] != NONE
            end = np.where(waits_for_other, top, origin)
            self._add(found, 2 * self.other[event], end, origin, low)
            served = origins.served[event] != NONE
            fired = events.fired[parent]
            block = events.block[parent]
            self._add(found, 2 * block + served, origin, fired, low)
            asked = events.asked[parent]
            self._add(found, 2 * block + 1, fired, asked, low)
            goes_on = asked > low
            event, top, low = parent[goes_on], asked[goes_on], low[goes_on]
        for one, first in zip(event.tolist(), low.tolist(), strict=True):
            self._walk_alone(one, first, found)

    def _add(self, found: Array, culprit: Array, until: Array, since: Array, low: Array) -> None:
        cycles = np.maximum(0, until - np.maximum(since, low))
        found += np.bincount(culprit, cycles, self.culprits).astype(np.int64)

    def _walk_alone(self, event: int, low: int, found: Array) -> None:
        """Adds the cycles of one wait."""
        events, origins = self.events, self.origins
        asked_of, fired_of, block_of = events.asked.data, events.fired.data, events.block.data
        cycle_of, parent_of, served_of = (
            origins.cycle.data,
            origins.parent.data,
            origins.served.data,
        )
        cause_of, other_of = events.cause.data, self.other.data
        cycles = [0] * self.culprits
        top = asked_of[event]
        while top > low:
            origin, parent = cycle_of[event], parent_of[event]
            if cause_of[event] != NONE:
                cycles[2 * other_of[event]] += top - max(origin, low)
            if origin <= low:
                break
            fired, asked, block = fired_of[parent], asked_of[parent], block_of[parent]
            served = served_of[event] != NONE
            cycles[2 * block + served] += origin - max(fired, low)
            if fired > low:
                cycles[2 * block + 1] += fired - max(asked, low)
            event, top = parent, asked
        found += np.array(cycles, np.int64)
