"""The states of each block from cycle to cycle, and the part of a run that a trace shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sam.support.errors import UserError
from sim.attribution.log import Array, Log
from sim.attribution.shares import late_until
from sim.config.naming import ran_on
from sim.stats import Run

MOST_BYTES = 200 * 10**6
"""The default limit of the size of a trace."""

BUSY, MEMORY, DONE = "busy", "memory", "done"


def about(run: Run, note: str | None) -> str:
    """What a trace tells of itself: the run, the unit of time, and the note, if there is one."""
    title = run.graph.title or "a graph"
    machine = ran_on(run.config, run.engine)
    return "; ".join(filter(None, (title, machine, "1 ns is a cycle", note)))


@dataclass(frozen=True)
class States:
    """The states of a block: each from one of these cycles until the next.

    ``cycles``  increasing, the first is 0
    ``state``   by cycle, a number in ``names``
    """

    cycles: Array
    state: Array
    names: tuple[str, ...]


def states(log: Log, block: int) -> States:
    """The states of a block: busy, starved or blocked by a port, memory, done."""
    waits = log.waits[block]
    ports = [f"{'starved' if one.is_input else 'blocked'} by {one.port}" for one in waits.awaited]
    names = (BUSY, MEMORY, DONE, *ports)
    late = late_until(waits)
    spans = [(late, waits.asked, waits.cause + 3), (waits.ready, late, 1)]
    if waits.requests is not None:
        spans.append((waits.requests.asked, waits.requests.taken, 1))
    since = np.concatenate([one for one, _, _ in spans])
    until = np.concatenate([one for _, one, _ in spans])
    what = np.concatenate([np.zeros_like(start) + one for start, _, one in spans])
    real = until > since
    since, until, what = since[real], until[real], what[real]
    order = np.argsort(since, kind="stable")
    since, until, what = since[order], until[order], what[order]
    free = until[:-1] < since[1:]
    ends = until[np.append(free, True)] if len(until) else until
    cycles = np.concatenate(([0], since, ends, [waits.fired + 1]))
    state = np.concatenate(([0], what, np.zeros(len(ends), np.int64), [2]))
    order = np.argsort(cycles, kind="stable")
    cycles, state = cycles[order], state[order]
    last = np.append(cycles[1:] > cycles[:-1], True)
    cycles, state = cycles[last], state[last]
    changed = np.append(True, state[1:] != state[:-1])
    cycles, state = cycles[changed], state[changed]
    within = cycles < max(1, log.cycles)
    return States(cycles[within], state[within], names)


@dataclass(frozen=True)
class CycleWindow:
    """The cycles of a graph that a trace shows."""

    first: int
    end: int


@dataclass(frozen=True)
class Piece:
    """A graph of a run, as far as a trace shows it.

    ``prefix``  the beginning of its names
    ``log``     its waits
    ``start``   the cycle of the run in which it begins
    ``shown``   its own cycles that are shown
    """

    prefix: str
    run: Run
    log: Log
    start: int
    shown: CycleWindow


@dataclass(frozen=True)
class Shown:
    """The part of a run that a trace shows; ``note`` says what it leaves out for want of room.

    ``first``, ``end``  the cycles of the run
    """

    pieces: tuple[Piece, ...]
    first: int
    end: int
    note: str | None = None


@dataclass(frozen=True)
class TraceSizes:
    """The most bytes that parts of a file take.

    ``changes``  of the changes of a block, one by one
    ``cycle``    of a cycle in which something changes
    ``numbers``  of numbers of a queue or memory
    """

    changes: Callable[[States], Array]
    cycle: int
    numbers: Callable[[Array], Array]


def shown(run: Run, asked: tuple[int, int] | None, most_bytes: int, sizes: TraceSizes) -> Shown:
    """The part of a run that a trace shows: the window asked for, as far as there is room.

    Raises UserError for cycles that the run does not have.
    """
    run = run.attributed
    first, end = asked or (0, run.cycles)
    if not 0 <= first < end or first >= max(1, run.cycles):
        raise UserError(
            f"the window {first}:{end} has no cycle of the run, which has {run.cycles:,}",
            hint="as in --window 1000:2000",
        )
    end = min(end, max(1, run.cycles))
    times, bytes_of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    graphs = [*_graphs(run)]
    for _, _, log, start in graphs:
        for n in range(len(log.blocks)):
            found = states(log, n)
            times.append(found.cycles + start)
            bytes_of.append(sizes.changes(found))
        over_time = log.over_time
        for values in (*map(over_time.occupancy, over_time.given), *over_time.bytes):
            ends, values = _sampled(log, values)
            times.append(ends + start)
            bytes_of.append(sizes.numbers(values))
    changes, weights = np.concatenate(times), np.concatenate(bytes_of)
    inside = (changes >= first) & (changes < end)
    changes, weights = changes[inside], weights[inside]
    order = np.argsort(changes, kind="stable")
    changes, weights = changes[order], weights[order]
    weights[np.append(True, changes[1:] > changes[:-1])[: len(weights)]] += sizes.cycle
    used = np.cumsum(weights)
    note, until = None, end
    if len(used) and used[-1] > most_bytes:
        until = max(int(changes[np.searchsorted(used, most_bytes, side="right")]), first + 1)
        note = (
            f"the trace ends at cycle {until:,}, as more would make it larger than "
            f"{most_bytes / 1e6:,g} MB; --window {until}:{end} shows the rest"
        )
    pieces = tuple(
        Piece(prefix, part, log, start, CycleWindow(max(0, first - start), until - start))
        for prefix, part, log, start in graphs
        if start < until and first < start + part.cycles
    )
    return Shown(pieces, first, until, note)


def _graphs(run: Run) -> Iterator[tuple[str, Run, Log, int]]:
    """The graphs of a run, each with the prefix of its names and the cycle in which it begins."""
    start = 0
    for part in run.parts or (run,):
        result = part.graph.result
        prefix = f"{result.slot.tensor}." if run.parts and result is not None else ""
        assert part.log is not None
        yield prefix, part, part.log, start
        start += part.cycles


def parse_window(text: str) -> tuple[int, int]:
    """The cycles of ``--window 1000:2000``. Raises UserError."""
    first, colon, end = text.partition(":")
    if not colon or not first.strip().isdecimal() or not end.strip().isdecimal():
        raise UserError(f'"{text}" is not a window of cycles', hint="as in --window 1000:2000")
    if int(first) >= int(end):
        raise UserError(f"the window {text} has no cycle", hint="as in --window 1000:2000")
    return int(first), int(end)


def within(found: States, shown: CycleWindow) -> tuple[Array, Array]:
    """The changes of a block inside of a window, the first at its beginning."""
    start = int(np.searchsorted(found.cycles, shown.first, side="right")) - 1
    end = int(np.searchsorted(found.cycles, shown.end, side="left"))
    cycles = np.maximum(found.cycles[start:end], shown.first)
    return cycles, found.state[start:end]


def samples(log: Log, values: Array, shown: CycleWindow) -> Iterator[tuple[int, int]]:
    """The changes of numbers that are known at the ends of stretches: cycle and value."""
    cycles, values = _sampled(log, values, shown)
    yield from zip(cycles.tolist(), values.tolist(), strict=True)


def _sampled(log: Log, values: Array, shown: CycleWindow | None = None) -> tuple[Array, Array]:
    cycles = np.minimum((np.arange(len(values)) + 1) * log.over_time.stretch, log.cycles) - 1
    if shown is not None:
        inside = (cycles >= shown.first) & (cycles < shown.end)
        cycles, values = cycles[inside], values[inside]
    changed = np.append(True, values[1:] != values[:-1])[: len(values)]
    return cycles[changed], values[changed]


def bits(numbers: Array) -> Array:
    """How many bits whole numbers have, at least 1."""
    return np.frexp(np.maximum(numbers, 1).astype(float))[1]
