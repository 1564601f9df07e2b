"""The times of given firings under several configs at once, laid out for ``timing.c``."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sim.compiled.bundles import Bundle, bundles
from sim.compiled.objects import Room
from sim.compiled.shared_layout import SharedLayout
from sim.config.hardware import Config
from sim.endless import require_memory
from sim.machine import Channel
from sim.retiming.codes import FiringCode
from sim.retiming.firings import FINISHED, Firings, Traced, firing_libraries, own_text
from sim.retiming.operations import MOST_WAITS, operations_of, passages_of, shape_of
from sim.retiming.reporting import block_stats, stream_stats
from sim.stats import BlockStats, StreamStats

MOST_LANES = 64
_UNBOUNDED = 2**63 - 1
_LONG = 2**20
"""Latencies and intervals below this are added in 32 bits."""

_NO_MEMORY, _LATE, _MORE = 0, 2, 3
_ROUNDS = 1 << 16
_SECONDS_BETWEEN_LOOKS = 0.25


class TooLate(Exception):
    """A cycle is too large for 32 bits."""


class CTimedQueue(ctypes.Structure):
    """The beginning of a queue."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("writer", "reader")),
        *((name, ctypes.c_void_p) for name in ("depth_of", "latency_of", "peak_of")),
    ]


class COperation(ctypes.Structure):
    """``Operation`` in ``timing.c``."""

    _fields_ = [("queue", ctypes.c_void_p), ("port", ctypes.c_int64)]


class CCode(ctypes.Structure):
    """``Code`` in ``timing.c``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("waits", "rooms", "takes", "gives")),
        ("operations", ctypes.c_void_p),
        ("shape", ctypes.c_int64),
    ]


class CPart(ctypes.Structure):
    """The beginning of a part."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("at", "end", "codes")),
        *((name, ctypes.c_int64) for name in ("code", "left")),
        ("awake", ctypes.c_void_p),
        ("bit", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("fired", "status")),
        ("waits_for", ctypes.c_void_p),
        ("rest", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("interval_of", "ready_of", "waits_of")),
    ]


class CTimedMachine(ctypes.Structure):
    """``Machine`` in ``timing.c``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("count", "queue_count")),
        *((name, ctypes.c_void_p) for name in ("parts", "queues", "awake", "live")),
        ("late", ctypes.c_int64),
    ]


SHARED = SharedLayout(
    {
        "Queue": CTimedQueue,
        "Operation": COperation,
        "Code": CCode,
        "Part": CPart,
        "Machine": CTimedMachine,
    },
    {"MOST_WAITS": MOST_WAITS},
    beginnings=frozenset({"Queue", "Part"}),
)
"""The structures that ``timing.c`` shares with Python."""


def timing_source(configs: int, wide: bool = False) -> str:
    """The C source that times so many configs at once, with cycles of 64 bits if they are wide."""
    name = "int64_t" if wide else "int32_t"
    text = own_text("timing.c")
    return SHARED.exported(f"#define TIME {name}\n#define LANES {_lanes(configs)}\n{text}")


def _lanes(configs: int) -> int:
    """The lanes for so many configs."""
    return next(n for n in (16, 32, 64) if configs <= n)


@dataclass
class _Timed:
    """A part, with the times of its firings in each lane.

    ``waits``  by port, inputs first, and by lane: cycles waited
    ``read``   how many of its codes C knows
    """

    traced: Traced
    intervals: np.ndarray
    waits: np.ndarray
    ready: np.ndarray
    part: CPart
    read: int = 0


class Timing:
    """The machines of given firings, under configs that differ in times only.

    ``live``  by lane, whether its times are known; false for a lane that was left out because the
              others could not go on with it, or because it is among the ``deadlocked``
    """

    def __init__(self, firings: Firings, configs: Sequence[Config], wide: bool = False) -> None:
        self.firings, self.configs = firings, configs
        self.lanes = _lanes(len(configs))
        self.passages = self._passages()
        self.room = Room()
        longest = max(latency for one in self.passages for _, latency in one)
        longest = max(longest, *(self._interval(one, c) for one in firings.parts for c in configs))
        if longest >= _LONG and not wide:
            raise TooLate
        self.time: Any = np.int64 if wide else np.int32
        [self.library] = firing_libraries(timing_source(len(configs), wide))
        SHARED.require(self.library)
        self.library.run.restype = self.library.able.restype = ctypes.c_int64
        self.library.size_of.restype = ctypes.c_int64
        self.live = np.zeros(self.lanes, np.int8)
        self.live[: len(configs)] = 1
        self.deadlocked: set[int] = set()
        self.bundles = self._bundles()
        self.peaks = [np.zeros(self.lanes, np.int64) for _ in self.bundles]
        self.queues = [
            self._queue(bundle, peaks)
            for bundle, peaks in zip(self.bundles, self.peaks, strict=True)
        ]
        self.queue_of = {
            channel.number: n
            for n, bundle in enumerate(self.bundles)
            for channel in bundle.channels
        }
        self.parts = [self._part(one) for one in firings.parts]
        self.machine = self._machine()

    # Building

    def _passages(self) -> list[list[tuple[int | None, int]]]:
        """By channel and config, the depth and the latency."""
        by_config = passages_of(self.configs, self.firings.machine)
        return [list(one) for one in zip(*by_config, strict=True)]

    def _interval(self, one: Traced, config: Config) -> int:
        node = one.part.node
        return config.block(node.name, node.kind).initiation_interval

    def _bundles(self) -> list[Bundle]:
        bodies = {one.part.name: one.residual.body for one in self.firings.parts}

        def alike(channel: Channel) -> tuple[tuple[int | None, int], ...]:
            return tuple(self.passages[channel.number])

        return bundles(self.firings.machine, bodies, alike)

    def _spread(self, numbers: Sequence[int], dtype: Any) -> np.ndarray:
        """Numbers by lane; lanes without a config have the number of the first."""
        padded = [*numbers, *[numbers[0]] * (self.lanes - len(numbers))]
        found = np.array(padded, dtype)
        self.room.kept.append(found)
        return found

    def _structure(self, kind: Any, which: int) -> Any:
        """A structure that begins as Python knows it, as long and aligned as C has it."""
        memory = _aligned(self.library.size_of(ctypes.c_int64(which)))
        self.room.kept.append(memory)
        return kind.from_address(memory.ctypes.data)

    def _queue(self, bundle: Bundle, peaks: np.ndarray) -> CTimedQueue:
        passages = self.passages[bundle.channels[0].number]
        depths = self._spread([d if d is not None else _UNBOUNDED for d, _ in passages], np.int64)
        latencies = self._spread([latency for _, latency in passages], self.time)
        queue: CTimedQueue = self._structure(CTimedQueue, 0)
        queue.depth_of, queue.latency_of = depths.ctypes.data, latencies.ctypes.data
        queue.peak_of = peaks.ctypes.data
        return queue

    def _part(self, one: Traced) -> _Timed:
        intervals = self._spread([self._interval(one, c) for c in self.configs], self.time)
        ports = max(1, len(one.part.inputs) + len(one.part.outputs))
        waits = _aligned(ports * self.lanes * np.dtype(self.time).itemsize)
        ready = np.zeros(self.lanes, self.time)
        part: CPart = self._structure(CPart, 1)
        part.interval_of, part.ready_of = intervals.ctypes.data, ready.ctypes.data
        part.waits_of = waits.ctypes.data
        waits = waits.view(self.time).reshape(ports, self.lanes)
        return _Timed(one, intervals, waits, ready, part)

    def _machine(self) -> CTimedMachine:
        by_name = {one.traced.part.name: ctypes.addressof(one.part) for one in self.parts}
        for bundle, queue in zip(self.bundles, self.queues, strict=True):
            queue.writer, queue.reader = by_name[bundle.giver], by_name[bundle.taker]
        awake = np.zeros(len(self.parts) // 64 + 1, np.uint64)
        self.room.kept.append(awake)
        machine = CTimedMachine(
            count=len(self.parts),
            queue_count=len(self.queues),
            parts=self.room.pointers([one.part for one in self.parts]),
            queues=self.room.pointers(list(self.queues)),
            awake=awake.ctypes.data,
            live=self.live.ctypes.data,
        )
        if not self.library.open_machine(ctypes.byref(machine)):
            raise MemoryError
        return machine

    # Running

    def run(self) -> None:
        """Finds all times. Raises TooLate if they are too large for 32 bits."""
        machine, look_at = ctypes.byref(self.machine), 0.0
        self._feed()
        while True:
            status = self.library.run(machine, ctypes.c_int64(_ROUNDS))
            if status == _NO_MEMORY:
                raise MemoryError
            if status == _LATE:
                raise TooLate
            if status == _MORE:
                if time.monotonic() >= look_at and require_memory():
                    look_at = time.monotonic() + _SECONDS_BETWEEN_LOOKS
            elif self._lacks_codes():
                self._forget_codes()
                self.firings.run()
                self._feed()
                self.library.wake_all(machine)
            elif all(one.part.at == one.part.end and not one.part.left for one in self.parts):
                break
            else:
                self._leave_lanes()
                if not self.live.any():
                    return
        if not self.library.settle(machine):
            raise MemoryError

    def _lacks_codes(self) -> bool:
        """Whether more codes are to come, for a part that has read all its known codes, or for all
        parts. Where neither holds, more codes change nothing: lanes that cannot go on are in a
        deadlock.
        """
        if self.firings.done:
            return False
        read = [one for one in self.parts if one.part.at == one.part.end and not one.part.left]
        open_ = any(one.traced.block.status != FINISHED for one in read)
        return open_ or len(read) == len(self.parts)

    def _feed(self) -> None:
        """Passes codes to C that have been found since the last call."""
        for one in self.parts:
            codes = one.traced.codes
            if len(codes) > one.read:
                if not one.read:  # what has been waited at a port is counted from the first code on
                    one.part.rest = min((n for code in codes for n in code.waits), default=0)
                one.read = len(codes)
                one.part.codes = self._operations(one.traced, codes)
            packed = one.traced.block.codes
            if not one.part.at:
                one.part.at = packed.items
            one.part.end = (packed.items or 0) + packed.length

    def _operations(self, one: Traced, codes: Sequence[FiringCode]) -> int:
        """The operations of each code, laid out for C."""
        part = one.part
        made = (CCode * len(codes))()
        for code, found in zip(codes, made, strict=True):
            sides = operations_of(part, code, self.queue_of, self._bounded)
            found.waits, found.rooms, found.takes, found.gives = counts = [*map(len, sides)]
            found.shape = shape_of(counts)
            operations = [
                COperation(ctypes.addressof(self.queues[q]), n)
                for side in sides
                for q, n in side.items()
            ]
            array = (COperation * max(1, len(operations)))(*operations)
            found.operations = ctypes.addressof(array)
            self.room.kept.append(array)
        self.room.kept.append(made)
        return ctypes.addressof(made)

    def _bounded(self, queue: int) -> bool:
        """Whether a queue is bounded in some lane."""
        passages = self.passages[self.bundles[queue].channels[0].number]
        return any(depth is not None for depth, _ in passages)

    def _forget_codes(self) -> None:
        """Makes room for more codes, once all known ones have been read."""
        self.firings.forgotten = True
        for one in self.parts:
            packed = one.traced.block.codes
            if not packed.items:
                continue
            read = (one.part.at or packed.items) - packed.items
            left = packed.length - read
            ctypes.memmove(packed.items, packed.items + read, left)
            packed.length = left
            one.part.at = None
            self.firings.scheduled.packed -= read
        scheduled = self.firings.scheduled
        if 2 * scheduled.packed > scheduled.most:
            scheduled.most *= 2

    def _leave_lanes(self) -> None:
        """Leaves out lanes that are in a deadlock, or else those that go on in another order."""
        machine = ctypes.byref(self.machine)
        able = np.zeros(self.lanes, np.int8)
        self.library.able(machine, ctypes.c_void_p(able.ctypes.data))
        if (self.live == able).all():
            self.library.agreed(machine, ctypes.c_void_p(able.ctypes.data))
        else:
            self.deadlocked |= {int(n) for n in np.flatnonzero(self.live > able)}
        self.live[:] = able
        if self.live.any() and not self.library.forget_lanes(machine):
            raise MemoryError

    # Reporting

    @cached_property
    def _lasts(self) -> np.ndarray:
        """By part and lane, the cycle of the last firing, once the run is done; -1 before the
        first."""
        return np.array(
            [
                one.ready.astype(np.int64) - one.intervals
                if one.part.fired
                else np.full(self.lanes, -1)
                for one in self.parts
            ]
        )

    @cached_property
    def _waited(self) -> list[list[list[int]]]:
        """By part, lane and port, inputs first, the cycles waited."""
        found = []
        for one, lasts in zip(self.parts, self._lasts, strict=True):
            waits, fired = one.waits.astype(np.int64), one.part.fired
            spacing = max(0, fired - 1) * (one.intervals.astype(np.int64) - 1)
            waits[one.part.rest] = lasts + 1 - fired - spacing - waits.sum(axis=0) if fired else 0
            found.append(waits.T.tolist())
        return found

    def cycles(self, lane: int) -> int:
        """The cycles of the run in a lane."""
        return 1 + int(self._lasts[:, lane].max())

    def blocks(self, lane: int) -> Mapping[str, BlockStats]:
        """Where the cycles of each part went in a lane."""
        cycles, lasts = self.cycles(lane), self._lasts[:, lane].tolist()
        return {
            one.traced.part.name: block_stats(
                one.traced, one.part.fired, int(one.intervals[lane]), last, waits[lane], 0, cycles
            )
            for one, last, waits in zip(self.parts, lasts, self._waited, strict=True)
        }

    def streams(self, lane: int) -> Mapping[str, StreamStats]:
        """The tokens that went through each edge, and its peak, in a lane."""
        return stream_stats(self.firings, lambda n: int(self.peaks[self.queue_of[n]][lane]))

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        self.library.close_machine(ctypes.byref(self.machine))


def _aligned(size: int) -> np.ndarray:
    """Bytes that begin where a vector may."""
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]
