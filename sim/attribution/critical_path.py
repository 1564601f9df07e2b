"""The critical path of a run: the causes of its last firing, walked back to the first cycle.

Each cycle of a run is on the path once, so the cycles of its parts add up to those of the run. A
faster part of the machine gains nothing if it is not on the path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from sim.attribution.causes import NONE, Events
from sim.attribution.log import Array, Log, Requests


@dataclass(frozen=True)
class PathPart:
    """A part of the critical path: cycles that one cause took at one block.

    ``cause``   "busy": the block fires. "interval": it must not fire again yet. "latency": its
                tokens take longer than a cycle. "queue latency", "queue full": the stream delays a
                token, or has room for one only in the cycle after another was taken. Of memory:
                "memory latency"; "bandwidth": the block's port moves data; "port conflict": it
                moves another block's, and another port is free; "outstanding": the block has as
                many requests under way as it may
    ``block``   the block that works or asks memory; for a stream, the block that waits for the
                stream
    ``stream``  the stream that delays, if one does
    ``memory``  the level of memory that delays, if one does
    ``array``   the array that was asked for there, as in ``B.crd``
    """

    block: str
    cause: str
    cycles: int
    stream: str = ""
    memory: str = ""
    array: str = ""

    @property
    def text(self) -> str:
        """The cause in words, as in ``DRAM latency on B.crd``."""
        if self.memory:
            kind = "latency" if self.cause == "memory latency" else self.cause
            return f"{self.memory} {kind} on {self.array}"
        return f"{self.cause}: {self.stream}" if self.stream else self.cause


def critical_path(log: Log, events: Events | None = None) -> tuple[PathPart, ...]:
    """The parts of the critical path, the longest first; their cycles are those of the run."""
    if log.cycles == 0:
        return ()
    events = Events(log) if events is None else events
    path = _walk(events)
    parts: Counter[PathPart] = Counter()
    for block, waits in enumerate(log.waits):
        own = path[events.block[path] == block]
        if waits.requests is not None:
            asking = own[events.request[own] != NONE]
            _held_up(parts, log, block, waits.requests, events.request[asking])
    _edges(parts, events, path)
    ends = np.concatenate(([log.cycles - 1], events.origins.cycle[path[:-1]]))
    _runs(parts, events, path, ends)
    found = [replace(part, cycles=cycles) for part, cycles in parts.items() if cycles]
    return _ranked(found)


def _walk(events: Events) -> Array:
    """The events on the path, from the last to the first one of a block."""
    last = [waits.fired for waits in events.log.waits]
    block = last.index(max(last))
    event = int(events.at(block, last[block]))
    parents, starts = events.origins.parent.data, {*events.starts[:-1].tolist()}
    path = [event]
    while event not in starts:
        event = parents[event]
        path.append(event)
    return np.array(path)


def _edges(parts: Counter[PathPart], events: Events, path: Array) -> None:
    """Adds the cycles between an event and its cause: latencies, and room in queues."""
    log, origins = events.log, events.origins
    pairs = np.unique(np.stack((events.block[path], events.cause[path])), axis=1)
    for block, cause in pairs.T.tolist():
        if cause == NONE:
            continue
        chosen = path[(events.block[path] == block) & (events.cause[path] == cause)]
        awaited = log.waits[block].awaited[cause]
        name, other = log.blocks[block], log.blocks[awaited.other]
        if not awaited.is_input:
            parts[PathPart(name, "queue full", 0, awaited.edge)] += len(chosen)
            continue
        work = min(1, awaited.latency)
        parts[PathPart(other, "busy", 0)] += work * len(chosen)
        parts[PathPart(name, "queue latency", 0, awaited.edge)] += max(0, awaited.queue - 1) * len(
            chosen
        )
        more = awaited.latency - work - max(0, awaited.queue - 1)
        parts[PathPart(other, "latency", 0)] += more * len(chosen)
        served = origins.served[chosen]
        requests = log.waits[awaited.other].requests
        if requests is not None:
            _served(parts, log, awaited.other, requests, served[served != NONE])


def _held_up(
    parts: Counter[PathPart], log: Log, block: int, requests: Requests, chosen: Array
) -> None:
    """Adds the cycles that requests waited before a port took them, by cause."""
    name = log.blocks[block]
    places = (requests.placed - requests.asked)[chosen]
    ports = (requests.taken - requests.placed)[chosen]
    for region in np.unique(requests.last[chosen]).tolist():
        of_region = requests.last[chosen] == region
        level, array = log.kept[region], log.regions[region]
        parts[PathPart(name, "outstanding", 0, "", level, array)] += int(places[of_region].sum())
    for region in np.unique(requests.held_up[chosen]).tolist():
        level, array = log.kept[region], log.regions[region]
        for conflict, cause in ((False, "bandwidth"), (True, "port conflict")):
            these = (requests.held_up[chosen] == region) & (requests.conflict[chosen] == conflict)
            parts[PathPart(name, cause, 0, "", level, array)] += int(ports[these].sum())


def _served(
    parts: Counter[PathPart], log: Log, block: int, requests: Requests, chosen: Array
) -> None:
    """Adds the cycles between the taking of requests and the arrival of their data, by cause."""
    name = log.blocks[block]
    for region in np.unique(requests.last[chosen]).tolist():
        these = chosen[requests.last[chosen] == region]
        array = log.regions[region]
        for n, level in enumerate(log.levels):
            waits, conflicts = requests.waits[these, n], requests.conflicts[these, n]
            for cause, cycles in (
                ("memory latency", requests.takes[these, n].sum()),
                ("bandwidth", waits[~conflicts].sum()),
                ("port conflict", waits[conflicts].sum()),
            ):
                parts[PathPart(name, cause, 0, "", level, array)] += int(cycles)


def _runs(parts: Counter[PathPart], events: Events, path: Array, ends: Array) -> None:
    """Adds the firings that follow from each event of the path without a wait, up to its end.

    Where the path goes from a request's data, none do.
    """
    log = events.log
    served = np.concatenate(([NONE], events.origins.served[path[:-1]]))
    lengths = np.where(served == NONE, ends - events.fired[path], 0)
    for block in np.unique(events.block[path]).tolist():
        cycles = int(lengths[events.block[path] == block].sum())
        interval = log.waits[block].interval
        parts[PathPart(log.blocks[block], "busy", 0)] += cycles // interval
        parts[PathPart(log.blocks[block], "interval", 0)] += cycles - cycles // interval
    last = int(events.block[path[0]])
    parts[PathPart(log.blocks[last], "busy", 0)] += 1


def _ranked(parts: Iterable[PathPart]) -> tuple[PathPart, ...]:
    """The parts, longest first, equally long ones in the order of their names."""
    return tuple(sorted(parts, key=lambda part: (-part.cycles, astuple(part))))


def in_turn(paths: Sequence[tuple[str, Sequence[PathPart]]]) -> tuple[PathPart, ...]:
    """The paths of several runs, one after the other, each with the prefix of its names."""
    parts = [
        replace(
            part,
            block=f"{prefix}.{part.block}",
            stream=f"{prefix}.{part.stream}" if part.stream else "",
        )
        for prefix, path in paths
        for part in path
    ]
    return _ranked(parts)
