"""A machine at a cut: what has happened so far, and all that its future depends on.

Two machines at one cut have the same future, but for a number of cycles, if their blocks are in the
same state and all cycles that may still matter lie that number apart. A cycle does not matter any
more if the block that would wait for it has been ready only later anyway.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sam.blocks.block_memory import Accumulator, Written
from sim.compiled.layout import CompiledMachine
from sim.compiled.objects import TYPES, CAccumulator, CGrowing, dtype_of, items
from sim.compiled.parts import CompiledPart, SharedQueue
from sim.compiled.structures import Status


@dataclass(frozen=True)
class PartAtCut:
    """A part at a cut.

    ``ready``   the first cycle in which it may fire again
    ``fired``, ``waits``, ``counts``  what it has done so far
    """

    status: int
    state: bytes
    ready: int
    fired: int
    waits: np.ndarray
    counts: np.ndarray

    @property
    def finished(self) -> bool:
        return self.status == Status.FINISHED_BLOCK


@dataclass(frozen=True)
class QueueAtCut:
    """A queue at a cut.

    ``moved``    the tokens that it has got so far
    ``peak``     the most that it has held
    ``tokens``   those that it holds: their kinds and values
    ``visible``  the cycles in which these become visible
    ``freed``    the cycles, the lower halves, in which the places were freed that are to be used
                 next, the last one at the end
    """

    moved: int
    peak: int
    tokens: bytes
    visible: np.ndarray
    freed: np.ndarray


@dataclass(frozen=True)
class StoredAtCut:
    """A memory at a cut: how much is in it, and what, if its block reads it.

    ``placed``  whether the next number depends on that length
    """

    length: int
    content: bytes | None = None
    placed: bool = False


@dataclass(frozen=True)
class Cut:
    """A machine at a cut: its parts, its queues, and what its parts have stored, each in order."""

    parts: Sequence[PartAtCut]
    queues: Sequence[QueueAtCut]
    stored: Sequence[StoredAtCut]

    @staticmethod
    def of(machine: CompiledMachine) -> Cut:
        """The cut that a machine has come to; raises MemoryError."""
        for shared in machine.queues:
            if not machine.runtime.catch_up(ctypes.byref(shared.queue)):
                raise MemoryError
        return Cut(
            [
                _part(one, state.raw)
                for one, state in zip(machine.parts, machine.states, strict=True)
            ],
            [_queue(shared) for shared in machine.queues],
            [stored(found, made, values) for found, made, values in machine.objects.grown],
        )


def _part(one: CompiledPart, state: bytes) -> PartAtCut:
    block = one.block
    waits, counts = np.array(one.waits), np.array(one.counts)
    return PartAtCut(block.status, state, block.ready, block.fired, waits, counts)


def _queue(shared: SharedQueue) -> QueueAtCut:
    queue = shared.queue
    control, taken, *columns = shared.arrays()
    held = np.arange(queue.head, queue.tail) % shared.places
    first = max(0, queue.tail - shared.depth) if shared.depth else queue.head
    kinds = (control[held] & 3).tobytes()
    return QueueAtCut(
        moved=queue.tail,
        peak=queue.peak,
        tokens=b"".join([kinds, *(column[held].tobytes() for column in columns)]),
        visible=control[held] >> 2,
        freed=taken[np.arange(first, queue.head) % shared.places],
    )


def stored(found: Any, made: CGrowing | CAccumulator, values: str) -> StoredAtCut:
    """A memory as it is now; ``values`` is the type of values in it."""
    if isinstance(made, CAccumulator):
        return StoredAtCut(0, _content(found, made, values))
    if found.written is not None:
        return StoredAtCut(made.length, placed=found.written != Written.IN_ORDER)
    return StoredAtCut(made.length, items(made, dtype_of(found, values)).tobytes())


def _content(found: Accumulator, made: CAccumulator, values: str) -> bytes:
    """The points of an accumulator with their sums: those taken in, and those given out."""
    order = made.order.length
    number, value = np.dtype(np.int64), np.dtype(TYPES[values])
    given = [
        items(made.out_points, number, order * made.dimensions),
        items(made.out_values, value, order),
    ]
    if made.bits.items:
        words = items(made.bits, np.dtype(np.uint64), made.bits.room)
        at = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        taken = [at, items(made.values, value, made.values.room)[at]]
    else:
        count = made.points.length
        taken = [
            items(made.order, number) if made.order.items else given[0][:0],
            items(made.points, number, count * made.dimensions),
            items(made.values, value, count),
        ]
    return b"|".join(one.tobytes() for one in (*given, *taken))


def lead(machine: CompiledMachine, left: Cut, right: Cut) -> np.ndarray | None:
    """By how many cycles each part at the left cut is ahead of that at the right one, or None.

    None if the two do not have the same future. Both are cuts of such a machine.
    """
    parts = list(zip(left.parts, right.parts, strict=True))
    if any(a.status != b.status or a.state != b.state for a, b in parts):
        return None
    for one, other in zip(left.stored, right.stored, strict=True):
        if one.content != other.content or (one.placed and one.length != other.length):
            return None
    ahead = np.array([a.ready - b.ready for a, b in parts])
    going = [n for n, (a, _) in enumerate(parts) if not a.finished]
    shifts = {int(ahead[n]) for n in going}
    if len(shifts) != 1 or not all(a.fired and b.fired for a, b in (parts[n] for n in going)):
        return None
    [shift] = shifts
    number = {one.part.name: n for n, one in enumerate(machine.parts)}
    for shared, a, b in zip(machine.queues, left.queues, right.queues, strict=True):
        if a.tokens != b.tokens or b.peak > a.peak:
            return None
        reader, writer = parts[number[shared.bundle.taker]], parts[number[shared.bundle.giver]]
        if not reader[0].finished and not _match_visible(a, b, reader, shift):
            return None
        if not writer[0].finished and not _match_freed(a, b, writer, shift):
            return None
    return ahead


_Two = tuple[PartAtCut, PartAtCut]


def _match_visible(a: QueueAtCut, b: QueueAtCut, reader: _Two, shift: int) -> bool:
    old = (a.visible <= reader[0].ready) & (b.visible <= reader[1].ready)
    return bool(np.all(old | (a.visible - b.visible == shift)))


def _match_freed(a: QueueAtCut, b: QueueAtCut, writer: _Two, shift: int) -> bool:
    most = max(len(a.freed), len(b.freed))
    (left, old), (right, other) = _freed(a, writer[0], most), _freed(b, writer[1], most)
    apart = left - right == np.array(shift & 0xFFFFFFFF, np.uint32)
    return bool(np.all(old & other | apart & ~(old ^ other)))


def _freed(queue: QueueAtCut, writer: PartAtCut, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The cycles in which places were freed, and whether each is past for the writer.

    A place that has not been used yet was freed before all cycles.
    """
    missing = most - len(queue.freed)
    past = (queue.freed - np.array(writer.ready & 0xFFFFFFFF, np.uint32)).view(np.int32) < 0
    return (
        np.concatenate((np.zeros(missing, np.uint32), queue.freed)),
        np.concatenate((np.ones(missing, bool), past)),
    )
