"""For each firing that waited, the firing that it waited for.

The firings that waited, of all blocks, are *events* with one number each; the block of an event is
known by its number. Each block has a first event of its own, at cycle 0, for which it waits for
nothing. All is done with arrays over the events.

Whatever a firing waits for, the cycle of its cause is known. A token that came last was given a
latency before, or its data arrived then; room that came last was made in the cycle before. The
cause is a firing of a known block in that cycle. A cause that waited is an event itself; one that
did not follows from the last event of its block by initiation intervals alone. So each event has a
``parent``: an event from which it follows in a known way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sim.attribution.log import Array, Log, Requests, Waits

NONE = -1


@dataclass(frozen=True, eq=False)
class Events:
    """The events of a run, by block, then by time; ``starts`` has where each block's events begin.

    ``ready``    the first cycle in which the block might have fired
    ``asked``    the cycle in which everything but memory was there
    ``fired``    the cycle of the firing
    ``cause``    the last of the things that its block awaited; NONE if it waited for memory alone
    ``request``  the number of its request among the block's; NONE if it has none that matters
    """

    log: Log
    starts: Array = field(init=False)
    block: Array = field(init=False)
    ready: Array = field(init=False)
    asked: Array = field(init=False)
    fired: Array = field(init=False)
    cause: Array = field(init=False)
    request: Array = field(init=False)

    def __post_init__(self) -> None:
        tables = [_events_of(waits) for waits in self.log.waits]
        lengths = [len(table[0]) for table in tables]
        columns = [np.concatenate(column) for column in zip(*tables, strict=True)]
        found = dict(zip(("ready", "asked", "fired", "cause", "request"), columns, strict=True))
        found["starts"] = np.cumsum([0, *lengths])
        found["block"] = np.repeat(np.arange(len(tables)), lengths)
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def of_block(self, block: int) -> slice:
        """The numbers of the events of a block."""
        return slice(int(self.starts[block]), int(self.starts[block + 1]))

    def at(self, block: int, cycles: Any) -> Any:
        """The last events of a block that are no later than some cycles."""
        own = self.of_block(block)
        return own.start + np.searchsorted(self.fired[own], cycles, side="right") - 1

    @cached_property
    def origins(self) -> Origins:
        """The cause of each event."""
        return Origins(self)

    def groups(self) -> list[tuple[int, int, Array]]:
        """The events by block and by what they waited for."""
        found = []
        for block, waits in enumerate(self.log.waits):
            own = self.of_block(block)
            causes = self.cause[own]
            for cause in range(len(waits.awaited)):
                events = np.flatnonzero(causes == cause) + own.start
                if len(events):
                    found.append((block, cause, events))
        return found


def _events_of(waits: Waits) -> tuple[Array, ...]:
    """The events of a block: its waits, and its requests without a wait."""
    requests = waits.requests
    asked = np.concatenate(([0], waits.asked))
    ready = np.concatenate(([0], waits.ready))
    cause = np.concatenate(([NONE], waits.cause))
    if requests is None:
        return ready, asked, asked, cause, np.full(len(asked), NONE)
    asked, where = np.unique(np.concatenate((asked, requests.asked)), return_inverse=True)
    own, of_requests = where[: len(ready)], where[len(ready) :]
    all_ready, all_cause = asked.copy(), np.full(len(asked), NONE)
    all_ready[own], all_cause[own] = ready, cause
    request = np.full(len(asked), NONE)
    request[of_requests] = np.arange(len(of_requests))
    fired = asked.copy()
    fired[of_requests] = requests.taken
    return all_ready, asked, fired, all_cause, request


class Origins:
    """The cause of each event, as a cycle and another event.

    ``cycle``   the cycle of its cause: of the firing that gave the awaited token, or of the arrival
                of that token's data; of the firing that made room; or its own ``asked``
    ``parent``  the event that it follows from
    ``served``  the request of its parent's block that was ready in ``cycle``, if that is the cause;
                else NONE
    """

    def __init__(self, events: Events) -> None:
        self.cycle = events.asked.copy()
        self.parent = np.maximum(np.arange(len(self.cycle)) - 1, events.starts[events.block])
        self.served = np.full(len(self.cycle), NONE)
        for block, cause, chosen in events.groups():
            awaited = events.log.waits[block].awaited[cause]
            cycles = events.asked[chosen] - awaited.latency
            self.cycle[chosen] = cycles
            self.parent[chosen] = events.at(awaited.other, cycles)
            requests = events.log.waits[awaited.other].requests
            if awaited.is_input and requests is not None:
                self._from_requests(events, requests, awaited.other, chosen, cycles)

    def _from_requests(
        self, events: Events, requests: Requests, giver: int, chosen: Array, cycles: Array
    ) -> None:
        """Finds the tokens that were given when their data came, after the firing that asked."""
        raising = np.flatnonzero(requests.raises)
        if not len(raising):
            return
        at = np.searchsorted(requests.served[raising], cycles)
        request = raising[np.minimum(at, len(raising) - 1)]
        is_served = requests.served[request] == cycles
        own = events.of_block(giver)
        self.served[chosen] = np.where(is_served, request, NONE)
        asker = own.start + np.searchsorted(events.asked[own], requests.asked[request])
        self.parent[chosen] = np.where(is_served, asker, self.parent[chosen])
