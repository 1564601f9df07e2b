"""A machine on several threads: the structures of ``crew.h``, laid out.

A machine starts on one thread. After a while the costs of its parts are known, and the parts are
divided (``division.py``); the queues between threads become bridges. Parts that depend on time do
not run on several threads: see ``why_alone``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sam.support.errors import UserError
from sim.compiled.division import COPY, Passage, busiest, divided
from sim.compiled.objects import TYPES, pointers
from sim.compiled.residual import c_type
from sim.compiled.structures import GAP, CBlock, CMachine, CQueue

if TYPE_CHECKING:
    from sim.compiled.parts import CompiledPart, SharedQueue

WARM_UP = 100_000_000
"""Nanoseconds of firings after which the costs of parts are taken as known."""

LONG = 1 << 14
"""The least depth of a finite queue between two threads, which wait for each other at its ends."""

WORTHWHILE = 0.75
"""The largest share of the work for the busiest thread, if a division is to be worth it."""

SEED = 0
"""For tests: if not 0, threads wait, and pass on few tokens, at random."""

_RING, _APART, _NO_THREAD = 1 << 14, 128, 3


class CBridge(ctypes.Structure):
    """``Bridge`` in ``crew.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("near", "far", "giver", "taker")),
        *((name, ctypes.c_void_p) for name in ("sender", "receiver")),
        *((name, ctypes.c_int64) for name in ("room", "columns")),
        *((name, ctypes.c_void_p) for name in ("offsets", "widths", "rings", "cycles")),
        ("before_sender", ctypes.c_char * _APART),
        *((name, ctypes.c_int64) for name in ("sent", "given")),
        ("before_receiver", ctypes.c_char * _APART),
        *((name, ctypes.c_int64) for name in ("taken", "freed")),
        ("after_receiver", ctypes.c_char * _APART),
    ]


class CWorker(ctypes.Structure):
    """``Worker`` in ``crew.h``."""

    _fields_ = [
        ("machine", CMachine),
        *((name, ctypes.c_int64) for name in ("sender_count", "receiver_count")),
        *((name, ctypes.c_void_p) for name in ("senders", "receivers", "crew")),
        ("random", ctypes.c_uint64),
        ("moved", ctypes.c_int64),
    ]


class CCrew(ctypes.Structure):
    """``Crew`` in ``crew.h``, up to its lock."""

    _fields_ = [
        ("count", ctypes.c_int64),
        ("workers", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("rounds", "failed", "asleep", "status")),
    ]


STRUCTURES = {"Bridge": CBridge, "Worker": CWorker, "Crew": CCrew}
"""The structures that ``crew.h`` shares with Python; of ``Crew`` the beginning."""


def why_alone(parts: Sequence[CompiledPart]) -> str | None:
    """Why a machine needs one thread: a part whose firings depend on those of others in time."""
    for one in parts:
        if one.asks:
            return f"{one.part.name} asks memory"
        if one.wires:
            return f"{one.part.name} reads a wire"
    return None


def crew_of(
    runtime: ctypes.CDLL,
    parts: Sequence[CompiledPart],
    queues: Sequence[SharedQueue],
    ticks: Sequence[int],
    threads: int,
) -> Crew | None:
    """A crew of up to ``threads`` threads for parts that took ``ticks``; None if no use."""
    number = {one.part.name: n for n, one in enumerate(parts)}
    first = {one.part.node.name: n for n, one in reversed([*enumerate(parts)])}
    passages = [
        # The halves of a block share its memory.
        *(Passage(first[one.part.node.name], n, None) for n, one in enumerate(parts)),
        *(
            Passage(
                number[shared.bundle.giver],
                number[shared.bundle.taker],
                None if _together(shared) else shared.queue.tail * COPY,
            )
            for shared in queues
        ),
    ]
    weights = [float(tick) for tick in ticks]
    found = divided(weights, passages, threads)
    used = {thread: n for n, thread in enumerate(sorted({*found}))}
    if len(used) < 2 or busiest(weights, passages, found) > WORTHWHILE * sum(weights):
        return None
    return Crew(runtime, parts, queues, [used[thread] for thread in found])


def _together(shared: SharedQueue) -> bool:
    """Whether the parts at the ends of a queue stay on one thread."""
    return shared.wire or shared.ahead or 0 < shared.depth < LONG


class Crew:
    """The parts of a machine, on the threads that they were assigned to.

    ``threads``  the thread of each part
    """

    def __init__(
        self,
        runtime: ctypes.CDLL,
        parts: Sequence[CompiledPart],
        queues: Sequence[SharedQueue],
        threads: Sequence[int],
    ) -> None:
        self.runtime, self.kept = runtime, list[Any]()
        self.parts: list[list[CompiledPart]] = [[] for _ in range(max(threads) + 1)]
        for one, thread in zip(parts, threads, strict=True):
            self.parts[thread].append(one)
        self.near: list[CQueue] = []
        self.workers = (CWorker * len(self.parts))()
        self.crew = ctypes.create_string_buffer(runtime.size_of_crew())
        thread_of = {one.part.name: thread for one, thread in zip(parts, threads, strict=True)}
        senders: list[list[CBridge]] = [[] for _ in self.parts]
        receivers: list[list[CBridge]] = [[] for _ in self.parts]
        ends: list[list[CBlock]] = [[] for _ in self.parts]
        for shared in queues:
            giver, taker = thread_of[shared.bundle.giver], thread_of[shared.bundle.taker]
            if giver != taker:
                sender, receiver = CBlock(), CBlock()
                bridge = self._bridge(shared, giver, taker, sender, receiver)
                senders[giver].append(bridge)
                receivers[taker].append(bridge)
                ends[giver].append(sender)
                ends[taker].append(receiver)
        crew = CCrew.from_buffer(self.crew)
        crew.count, crew.workers = len(self.workers), ctypes.addressof(self.workers)
        for n, worker in enumerate(self.workers):
            blocks = [*(one.block for one in self.parts[n]), *ends[n]]
            awake = np.zeros(len(blocks) // 64 + 1, np.uint64)
            self.kept.append(awake)
            worker.machine = CMachine(
                count=len(blocks),
                blocks=pointers(self.kept, blocks),
                awake=awake.ctypes.data,
            )
            worker.sender_count, worker.receiver_count = len(senders[n]), len(receivers[n])
            worker.senders = pointers(self.kept, senders[n])
            worker.receivers = pointers(self.kept, receivers[n])
            worker.crew = ctypes.addressof(self.crew)
            worker.random = SEED and SEED * len(self.parts) + n
            runtime.prepare(ctypes.byref(worker.machine))

    def _bridge(
        self, shared: SharedQueue, giver: int, taker: int, sender: CBlock, receiver: CBlock
    ) -> CBridge:
        """A bridge in the place of a queue."""
        dtypes = [np.dtype(TYPES[c_type(one.dtype)]) for one in shared.bundle.channels]
        columns = [np.dtype(np.int64), *dtypes]
        widths = np.array([one.itemsize for one in columns], np.int64)
        places = shared.places + GAP
        skipped = [16, 8 * places + 4 * (places + GAP), *(places * widths[1:-1])]
        offsets = np.cumsum(skipped, dtype=np.int64)
        room = max(_RING, shared.places)
        rings = [np.zeros(room, one) for one in columns]
        cycles, near = np.zeros(room, np.uint32), CQueue()
        bridge = CBridge(
            near=ctypes.addressof(near),
            far=ctypes.addressof(shared.queue),
            giver=ctypes.addressof(self.workers[giver]),
            taker=ctypes.addressof(self.workers[taker]),
            sender=ctypes.addressof(sender),
            receiver=ctypes.addressof(receiver),
            room=room,
            columns=len(columns),
            offsets=offsets.ctypes.data,
            widths=widths.ctypes.data,
            rings=pointers(self.kept, rings),
            cycles=cycles.ctypes.data,
        )
        sender.state = receiver.state = ctypes.addressof(bridge)
        sender.in_ = pointers(self.kept, [near])
        receiver.out, receiver.outs = pointers(self.kept, [shared.queue]), 1
        self.kept += [bridge, offsets, widths, cycles, sender, receiver]
        self.near.append(near)
        if not self.runtime.open_bridge(ctypes.byref(bridge)):
            raise MemoryError
        return bridge

    def run(self, rounds: int) -> int:
        """Runs up to ``rounds`` sweeps on each thread; returns as the scheduler's ``run`` does.

        Raises UserError if the system gives no thread.
        """
        status = int(self.runtime.run_crew(self.crew, ctypes.c_int64(rounds)))
        if status == _NO_THREAD:
            raise UserError("the system gives no more threads", hint="threads=1")
        return status

    @property
    def failed(self) -> CompiledPart:
        """The part that failed."""
        thread = CCrew.from_buffer(self.crew).failed
        return self.parts[thread][self.workers[thread].machine.failed]

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for near in self.near:
            self.runtime.close_queue(ctypes.byref(near))
