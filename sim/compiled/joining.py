"""Puts the legs of a run together: what each has done from its start to its end.

What blocks have stored is put together, too. A leg has an empty memory where it starts, so it knows
neither the length of a list in the run nor what is stored at a place. Lists are put one behind the
other. Where places count, a leg stores behind all that the legs before it have stored: the memory
before that is covered with patterns, which must still be there when the leg ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sam.blocks.block_memory import Written
from sim.compiled.cut import Cut
from sim.compiled.engine import CompiledRun
from sim.compiled.layout import CompiledMachine
from sim.compiled.objects import CGrowing, dtype_of, items

_PATTERNS: Mapping[Written, int] = {Written.BY_PLACE: 0xA5A5A5A5A5A5A5A5, Written.ADDED: 2}
"""The word that covers a memory: one that is hardly ever stored; or one that changes with anything
but 0 that is added, be it a whole number, a truth, or a number as small as there are."""


@dataclass
class Leg:
    """A leg of a run.

    ``start``  the cut that it starts from; None at the start of the run
    ``end``    the cut that it has come to
    ``ahead``  by how many cycles each part of the run is ahead of that of its machine
    """

    running: CompiledRun
    start: Cut | None
    end: Cut
    ahead: np.ndarray | int = 0


def cover(machine: CompiledMachine) -> None:
    """Covers what a machine has stored by place."""
    for found, made, values in machine.objects.grown:
        if isinstance(made, CGrowing) and found.written in _PATTERNS:
            items(made, dtype_of(found, values)).view(np.uint64)[:] = _PATTERNS[found.written]


def untouched(machine: CompiledMachine, start: Cut) -> bool:
    """Whether a machine has stored nothing by a place that was covered at a cut."""
    for (found, made, values), at in zip(machine.objects.grown, start.stored, strict=True):
        if isinstance(made, CGrowing) and found.written in _PATTERNS:
            covered = items(made, dtype_of(found, values), at.length).view(np.uint64)
            if (covered != _PATTERNS[found.written]).any():
                return False
    return True


def join(legs: Sequence[Leg]) -> None:
    """Makes the machine of the last of several legs the one of the whole run."""
    last = legs[-1].running.machine
    cycles = ctypes.c_int64(1 + last.last_cycle())
    for n, shared in enumerate(last.queues):
        queue = shared.queue
        if not last.runtime.settle(ctypes.byref(queue), cycles):
            raise MemoryError
        queue.peak = max(queue.peak, *(leg.end.queues[n].peak for leg in legs))
        queue.head = queue.tail = queue.seen = sum(
            leg.end.queues[n].moved - (leg.start.queues[n].moved if leg.start else 0)
            for leg in legs
        )
    ahead = np.broadcast_to(legs[-1].ahead, len(last.parts))
    for n, one in enumerate(last.parts):
        ends = [leg.end.parts[n] for leg in legs]
        starts = [leg.start.parts[n] for leg in legs if leg.start]
        one.block.fired = sum(at.fired for at in ends) - sum(at.fired for at in starts)
        one.block.ready += int(ahead[n])
        one.waits[:] = _sum([at.waits for at in ends], [at.waits for at in starts])
        one.counts[:] = _sum([at.counts for at in ends], [at.counts for at in starts])
    _join_stored(legs)


def _sum(ends: Sequence[np.ndarray], starts: Sequence[np.ndarray]) -> list[int]:
    return [int(number) for number in np.sum(ends, 0) - np.sum(starts, 0)]


def _join_stored(legs: Sequence[Leg]) -> None:
    """Puts together what parts have stored, for the last machine to bring back."""
    last = legs[-1].running.machine.objects
    numbers = {id(found): n for n, (found, _, _) in enumerate(last.grown)}
    for n, (found, made, _) in enumerate(last.grown):
        if not isinstance(made, CGrowing) or found.written is None:
            continue
        counted = numbers.get(id(getattr(found, "lengths_of", None)))
        pieces, length = [], 0
        for leg in legs:
            piece = _piece(leg, n)
            if counted is not None:
                before = leg.start.stored[counted].length if leg.start else 0
                piece = piece + (length - before)
                length += leg.end.stored[counted].length - before
            pieces.append(piece)
        last.joined[n] = np.concatenate(pieces)


def _piece(leg: Leg, n: int) -> np.ndarray:
    """What a leg has stored in a memory."""
    found, made, values = leg.running.machine.objects.grown[n]
    before = leg.start.stored[n].length if leg.start else 0
    assert isinstance(made, CGrowing)
    return items(made, dtype_of(found, values))[before : leg.end.stored[n].length]
