"""Where the cycles of each block went, and whose fault its waits are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.attribution.causes import Events
from sim.attribution.faults import Faults
from sim.attribution.log import Array, Log, Requests, Waits

ByFault = Mapping[str, int]
"""Cycles by the block at fault; ``memory of NAME`` if that block waited for memory."""


@dataclass(frozen=True)
class Shares:
    """Where the cycles of one block went. All parts add up to the cycles of the run.

    ``busy``     as in ``BlockStats``, as is ``done``
    ``starved``  by input, and then by the block whose fault it is
    ``blocked``  by output, likewise
    ``memory``   by level and cause, as in ``DRAM bandwidth``; the causes are those of
                 ``critical_path.Part``
    """

    busy: int
    starved: Mapping[str, ByFault]
    blocked: Mapping[str, ByFault]
    memory: Mapping[str, int]
    done: int

    @property
    def total(self) -> int:
        """The cycles of the run."""
        by_port = (*self.starved.values(), *self.blocked.values())
        waits = sum(sum(faults.values()) for faults in by_port)
        return self.busy + waits + sum(self.memory.values()) + self.done


def shares(log: Log, events: Events | None = None) -> dict[str, Shares]:
    """The shares of each block, by name."""
    events = Events(log) if events is None else events
    late = [_late(waits) for waits in log.waits]
    waits_by: list[dict[bool, dict[str, dict[str, int]]]] = [
        {True: {}, False: {}} for _ in log.blocks
    ]
    groups = events.groups()
    begun = [
        (chosen, events.ready[chosen] + _of_events(events, block, late, chosen))
        for block, _, chosen in groups
    ]
    for (block, cause, _), counts in zip(groups, Faults(events).of_groups(begun), strict=True):
        awaited = log.waits[block].awaited[cause]
        by_port = waits_by[block][awaited.is_input].setdefault(awaited.port, {})
        for fault in np.flatnonzero(counts).tolist():
            other = log.blocks[fault // 2]
            name = f"memory of {other}" if fault % 2 else other
            by_port[name] = by_port.get(name, 0) + int(counts[fault])
    found = {}
    for block, name in enumerate(log.blocks):
        starved, blocked = (_nonempty(waits_by[block][side]) for side in (True, False))
        memory = _memory(log, block, late[block])
        waited = sum(sum(f.values()) for f in (*starved.values(), *blocked.values(), memory))
        done = log.cycles - log.waits[block].fired - 1
        found[name] = Shares(log.cycles - waited - done, starved, blocked, memory, done)
    return found


def _nonempty(by_port: Mapping[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    ranked = {
        port: dict(sorted(faults.items(), key=lambda one: -one[1]))
        for port, faults in by_port.items()
    }
    return {port: faults for port, faults in ranked.items() if sum(faults.values())}


@dataclass(frozen=True, eq=False)
class _Late:
    """The parts of a block's waits in which data that it had asked for were on their way."""

    cycles: Array
    request: Array


def _late(waits: Waits) -> _Late:
    none = np.zeros(len(waits.asked), np.int64)
    requests = waits.requests
    if requests is None or not len(waits.asked):
        return _Late(none, none)
    raising = np.flatnonzero(requests.raises)
    if not len(raising):
        return _Late(none, none)
    before = np.searchsorted(requests.asked[raising], waits.ready) - 1
    request = raising[np.maximum(before, 0)]
    until = np.where(before < 0, 0, np.minimum(requests.served[request], waits.asked))
    return _Late(np.maximum(0, until - waits.ready), request)


def late_until(waits: Waits) -> Array:
    """By wait, the cycle up to which data that the block had asked for were on their way."""
    return waits.ready + _late(waits).cycles


def _of_events(events: Events, block: int, late: Sequence[_Late], chosen: Array) -> Array:
    """The cycles for which some events of a block wait with data on the way."""
    at = np.searchsorted(events.log.waits[block].asked, events.asked[chosen])
    return late[block].cycles[at]


def _memory(log: Log, block: int, late: _Late) -> dict[str, int]:
    """The cycles that a block waited for memory, by level and cause."""
    waits = log.waits[block]
    requests = waits.requests
    if requests is None:
        return {}
    found: dict[str, int] = {}

    def add(level: str, cause: str, cycles: int) -> None:
        if cycles:
            name = f"{level} {cause}"
            found[name] = found.get(name, 0) + int(cycles)

    ports = requests.taken - requests.placed
    for region in np.unique(np.concatenate((requests.held_up, requests.last))).tolist():
        level = log.kept[region]
        held = requests.held_up == region
        add(level, "bandwidth", ports[held & ~requests.conflict].sum())
        add(level, "port conflict", ports[held & requests.conflict].sum())
        of_region = requests.last == region
        add(level, "outstanding", (requests.placed - requests.asked)[of_region].sum())
    spans = _Spans(requests, late.request, waits.ready, waits.ready + late.cycles)
    for n in reversed(range(len(log.levels))):
        conflicts = requests.conflicts[late.request, n]
        waited = spans.next(requests.waits[:, n])
        add(log.levels[n], "bandwidth", waited[~conflicts].sum())
        add(log.levels[n], "port conflict", waited[conflicts].sum())
        add(log.levels[n], "latency", spans.next(requests.takes[:, n]).sum())
    return found


class _Spans:
    """The parts of the time up to the data of requests that lie between some cycles."""

    def __init__(self, requests: Requests, chosen: Array, first: Array, last: Array) -> None:
        self.chosen, self.first, self.last = chosen, first, last
        self.at = requests.taken[chosen] if len(chosen) else first

    def next(self, lengths: Array) -> Array:
        """The cycles of the next part that lie between ``first`` and ``last``."""
        end = self.at + lengths[self.chosen]
        found = np.minimum(end, self.last) - np.maximum(self.at, self.first)
        self.at = end
        return np.maximum(0, found)
