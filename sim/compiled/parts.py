"""The parts and queues of a machine as the compiled engine keeps them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sam.graph import Edge
from sim.attribution.over_time import bins
from sim.compiled.bundles import Bundle
from sim.compiled.kernel.ends import QueueEnd, slots
from sim.compiled.logs import CLog, Logs
from sim.compiled.objects import TYPES, array_at
from sim.compiled.residual import Residual, c_type
from sim.compiled.structures import GAP, CBlock, CQueue
from sim.compiled.translations import Translation
from sim.machine import Channel, Part

_STRETCH = 16  # bytes of a stretch ahead of its places

PLACES, SHORT = 1024, 17
"""The places of a stretch of an unbounded queue; the depth from which on a queue is not short."""


@dataclass
class CompiledPart:
    """A part of the machine, compiled.

    ``counts``  for each output, the tokens given of each of ``TOKEN_KINDS``
    ``waits``   for each of its ``slots``, the cycles that it waited
    ``log``, ``requests``  the logs of its waits and of its requests, if they are kept
    """

    part: Part
    translation: Translation
    residual: Residual
    queues_in: list[SharedQueue] = field(default_factory=list)
    queues_out: list[SharedQueue] = field(default_factory=list)
    counts: ctypes.Array[Any] = field(default_factory=ctypes.c_int64 * 0)
    waits: ctypes.Array[Any] = field(default_factory=ctypes.c_int64 * 0)
    block: CBlock = field(default_factory=CBlock)
    log: CLog = field(default_factory=CLog)
    requests: CLog = field(default_factory=CLog)

    def log_to(self, logs: Logs) -> None:
        """Has C log its waits and its requests."""
        self.log, self.requests = logs.open(), logs.open()
        self.block.waits_log = ctypes.addressof(self.log)
        self.block.requests_log = ctypes.addressof(self.requests)

    @cached_property
    def slots(self) -> list[tuple[int, int]]:
        """The output ports that it may wait at, each with the number of a queue."""
        return slots([shared.bundle.givers for shared in self.queues_out])

    @property
    def awaited(self) -> list[Channel]:
        """The channels whose tokens it may wait for, then those for whose room, as in kernels."""
        found = [port.channel for port in self.part.inputs]
        for port, q in self.slots:
            bundle = self.queues_out[q].bundle
            found.append(bundle.channels[bundle.givers.index(port)])
        return found

    @property
    def last_cycle(self) -> int:
        """The cycle of its last firing; -1 before the first."""
        return self.block.ready - self.block.interval if self.block.fired else -1

    @property
    def asks(self) -> bool:
        """Whether the part asks memory."""
        return bool(self.residual.regions)

    @property
    def wires(self) -> list[SharedQueue]:
        """The wires that it reads."""
        return [shared for shared in self.queues_in if shared.wire]

    @property
    def ordered(self) -> bool:
        """Whether the part depends on time."""
        return self.asks or bool(self.wires)


@dataclass
class SharedQueue:
    """A queue, with the channels that share it.

    ``stamped``  whether it keeps the cycles in which its tokens were given
    ``ahead``    whether its writer prepares tokens that have no room yet
    """

    bundle: Bundle
    stamped: bool = False
    ahead: bool = False
    queue: CQueue = field(default_factory=CQueue)

    @cached_property
    def moved(self) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that were given and taken over time, which a run with a log counts."""
        return bins(), bins()

    @property
    def edges(self) -> list[Edge]:
        """The edges of its channels."""
        return [channel.edge for channel in self.bundle.channels]

    @property
    def wire(self) -> bool:
        return self.bundle.wire

    @cached_property
    def depth(self) -> int:
        """How many tokens it holds; 0 where it is unbounded."""
        return self.bundle.channels[0].depth or 0

    @cached_property
    def latency(self) -> int:
        return self.bundle.channels[0].latency

    @cached_property
    def places(self) -> int:
        """The places of its stretches: more than four times as many as a finite depth."""
        return 1 << max(6, (4 * self.depth + 15).bit_length()) if self.depth else PLACES

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The places of the stretch that it is taken from, as in ``Stretch`` in ``runtime.h``.

        Control words, the cycles in which places were freed, and a column for each channel.
        """
        columns = [(np.dtype(TYPES[c_type(one.dtype)]), GAP) for one in self.bundle.channels]
        found, at = [], int(self.queue.from_) + _STRETCH
        places: list[tuple[np.dtype[Any], int]] = [
            (np.dtype(np.int64), GAP),
            (np.dtype(np.uint32), 2 * GAP),
            *columns,
        ]
        for dtype, more in places:
            found.append(array_at(at, dtype, self.places))
            at += (self.places + more) * dtype.itemsize
        return tuple(found)

    @property
    def short(self) -> bool:
        """Whether the queue is so small that its writer and reader take turns all the time."""
        return 0 < self.depth < SHORT

    def given_to(self) -> QueueEnd:
        """The writer's end, as kernels know it."""
        return self._end(self.bundle.givers, False)

    def taken_from(self) -> QueueEnd:
        """The reader's end, as kernels know it."""
        return self._end(self.bundle.takers, self.wire)

    def _end(self, ports: tuple[int, ...], wire: bool) -> QueueEnd:
        return QueueEnd(
            ports=ports,
            places=self.places,
            bounded=self.depth > 0,
            short=self.short,
            wire=wire,
            ahead=self.ahead,
        )
