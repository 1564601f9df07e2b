"""The log that an engine keeps of a run: the waits of its blocks, their causes, and requests.

A firing that has not waited comes an initiation interval after the one before, so the waits tell
the cycles of all firings. Both engines keep the same: the reference engine as lists, the compiled
one in words (``sim/compiled/waits.h``), which are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from sim.attribution.over_time import OverTime
from sim.machine import Channel, Machine, Part
from sim.memory.hierarchy import Layout
from sim.order_of_service import Order

Array = np.ndarray[Any, Any]

_HIGHER, _RUN, _WAIT, _CAUSE = 12, 13, 14, 15
_REQUEST_WORDS = 7
_FLAG = 1 << 31


@dataclass(frozen=True)
class Awaited:
    """A thing that a block may wait for at a port: tokens of an edge, or room for them.

    ``other``    the number of the block at the other end
    ``latency``  the cycles from a token's being given to its being visible; 1 for room, from the
                 taking of a token to the giving of another in its place
    ``queue``    the part of that latency that is the queue's, not the giver's
    """

    port: str
    edge: str
    is_input: bool
    other: int
    latency: int
    queue: int


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests to memory that made their block wait, or whose data came later than any before.

    An entry for each, in the order of time. Cycles: ``asked``; ``placed``, when it had a place
    among the block's requests; ``taken`` by the ports, which is when the block fires; ``served``.

    ``held_up``    the region for which a port was last to take it, if any had to wait
    ``conflict``   whether it was another block that had that port, while another port was free
    ``last``       the region of the access that was ready last
    ``raises``     whether its data came later than the data of all requests before
    ``waits``      by level, the waits for a port between ``taken`` and ``served``
    ``conflicts``  whether another block had that port, while another port was free
    ``takes``      the rest of that time, by level
    """

    asked: Array
    placed: Array
    taken: Array
    served: Array
    held_up: Array
    conflict: Array
    last: Array
    raises: Array
    waits: Array
    conflicts: Array
    takes: Array


@dataclass(frozen=True, eq=False)
class Waits:
    """The firings of a block that waited: an entry for each, in the order of time.

    ``entries`` gives them as three arrays, which are made when they are first read:

    ``ready``   the first cycle in which it might have fired
    ``asked``   the cycle in which everything but memory was there
    ``cause``   the thing that came last: a number in ``awaited``

    ``interval``  how many cycles apart it may fire: its initiation interval
    ``fired``     the cycle of its last firing, -1 where there is none
    """

    entries: Callable[[], tuple[Array, Array, Array]]
    requests: Requests | None
    awaited: Sequence[Awaited]
    interval: int
    fired: int

    @cached_property
    def ready(self) -> Array:
        return self._arrays[0]

    @cached_property
    def asked(self) -> Array:
        return self._arrays[1]

    @cached_property
    def cause(self) -> Array:
        return self._arrays[2]

    @cached_property
    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.entries()


@dataclass
class Passed:
    """A token that went through a queue: when it was given, visible and taken."""

    kind: int
    value: Any
    given: int
    visible: int
    taken: int = -1


@dataclass(frozen=True, eq=False)
class Log:
    """The waits of a run, by block, and what queues and memory did over time.

    ``levels``   the names of the levels of memory, from the outermost
    ``regions``  the names of the regions, as in ``B.crd``
    ``kept``     by region, the innermost level that keeps entries of it
    ``tokens``   by edge, those that went through its queue, if the run was asked to keep them
    ``order``    of service; None where the work does not depend on time
    """

    blocks: Sequence[str]
    waits: Sequence[Waits]
    cycles: int
    over_time: OverTime
    levels: Sequence[str] = ()
    regions: Sequence[str] = ()
    kept: Sequence[str] = ()
    tokens: Mapping[str, Sequence[Passed]] = field(default_factory=dict)
    order: Order | None = None


def awaited_at(machine: Machine, channel: Channel, is_input: bool) -> Awaited:
    """A channel as a part awaits it: its tokens at an input, its room at an output."""
    ends, edge = machine.numbers, channel.edge
    if not is_input:
        return Awaited(edge.source.port, str(edge), False, ends[channel.taker], 1, 1)
    giver = machine.parts[ends[channel.giver]]
    pipeline = giver.timing.latency if edge in machine.bound.streams else 1
    queue = max(0, channel.latency - pipeline + 1)
    port = edge.target.port
    return Awaited(port, str(edge), True, ends[channel.giver], channel.latency, queue)


def names(layout: Layout | None) -> tuple[list[str], list[str], list[str]]:
    """The names of the levels and regions of a hierarchy, and the level that keeps each region."""
    if layout is None:
        return [], [], []
    levels = [level.name for level in layout.settings.levels]
    regions = [f"{region.tensor}.{region.part}" for region in layout.regions]
    return levels, regions, [levels[kept] for kept in layout.kept]


class KeptWaits:
    """The waits of a block of the reference engine, while it runs."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, Any]] = []
        self.requests: list[tuple[Any, ...]] = []

    def wait(self, ready: int, asked: int, last: Any) -> None:
        """Keeps a firing that waited for something up to a cycle."""
        self.entries.append((ready, asked, last))

    def request(
        self, asked: int, placed: int, taken: int, served: int, made: int, come: Sequence[Any]
    ) -> None:
        """Keeps a request; ``made`` is the cycle in which the data of all requests before were
        there.

        ``come`` is ``Hierarchy.come``: how it came about.
        """
        raises = served > max(made, taken)
        if raises or taken > asked:
            self.requests.append((asked, placed, taken, served, raises, *come))

    def waits(self, machine: Machine, part: Part, fired: int) -> Waits:
        """The waits of a part, whose last firing was in cycle ``fired``."""
        layout, interval = machine.layout, part.timing.initiation_interval
        awaited = {
            (channel.number, is_input): awaited_at(machine, channel, is_input)
            for channel in machine.channels
            for is_input, end in ((True, channel.taker), (False, channel.giver))
            if end == part.name
        }
        number = {key: n for n, key in enumerate(awaited)}
        table = [(ready, asked, number[last]) for ready, asked, last in self.entries]
        requests = None
        if layout is not None and self.requests:
            requests = _requests(self.requests, layout)
        entries = partial(columns, table)
        return Waits(entries, requests, list(awaited.values()), interval, fired)


def columns(table: Sequence[tuple[int, int, int]]) -> tuple[Array, Array, Array]:
    """The columns of a table of three, as arrays."""
    ready, asked, cause = np.array(table, np.int64).reshape(-1, 3).T.copy()
    return ready, asked, cause


def _requests(kept: Sequence[tuple[Any, ...]], layout: Layout) -> Requests:
    shape = len(kept), len(layout.ports)
    waits, conflicts, takes = np.zeros(shape, np.int64), np.zeros(shape, bool), np.zeros(shape, int)
    for n, (_, _, taken, served, _, _, _, _, links) in enumerate(kept):
        since = taken
        for k, (end, level, is_wait, conflict) in enumerate(links):
            until = served if k + 1 == len(links) else end // layout.unit
            if until <= since:
                continue
            (waits if is_wait else takes)[n, level] += until - since
            conflicts[n, level] |= is_wait and conflict
            since = until
    columns = list(zip(*(one[:8] for one in kept), strict=True))
    asked, placed, taken, served, raises, held_up, conflict, last = map(np.array, columns)
    return Requests(
        asked, placed, taken, served, held_up, conflict, last, raises, waits, conflicts, takes
    )


def decoded_waits(words: Array) -> tuple[Array, Array, Array]:
    """``ready``, ``asked`` and ``cause`` of entries in the words of a compiled engine's log."""
    kind, run, wait = words & 15, (words >> 10).astype(np.int64), (words >> 4 & 63).astype(np.int64)
    is_entry = kind < _HIGHER
    cause = np.where(is_entry, kind, 0).astype(np.int64)
    if len(further := np.flatnonzero(~is_entry)):
        of, above = kind[further], words[further].astype(np.int64) >> 4
        run[further] = np.select([of == _HIGHER, of == _RUN], [run[further] << 6, above << 12])
        wait[further] = np.select([of == _HIGHER, of == _WAIT], [wait[further] << 6, above << 12])
        cause[further] = np.where(of == _CAUSE, above, 0)
        starts = np.flatnonzero(np.concatenate(([True], is_entry)))[:-1]
        run, wait, cause = (np.add.reduceat(part, starts) for part in (run, wait, cause))
    asked = np.cumsum(run + wait)
    return asked - wait, asked, cause


def decoded_requests(words: Array, levels: int) -> Requests:
    """The requests in the words of a log of the compiled engine."""
    table = words.view(np.uint32).reshape(-1, _REQUEST_WORDS + 2 * levels).astype(np.int64)
    asked = table[:, 0] | table[:, 1] << 32
    placed = asked + table[:, 2]
    taken = placed + (table[:, 3] & _FLAG - 1)
    by_level = table[:, _REQUEST_WORDS:].reshape(-1, levels, 2)
    return Requests(
        asked=asked,
        placed=placed,
        taken=taken,
        served=taken + table[:, 4],
        held_up=table[:, 5],
        conflict=table[:, 3] >= _FLAG,
        last=table[:, 6] & _FLAG - 1,
        raises=table[:, 6] >= _FLAG,
        waits=by_level[:, :, 0] & _FLAG - 1,
        conflicts=by_level[:, :, 0] >= _FLAG,
        takes=by_level[:, :, 1],
    )
