"""Runs a machine without time: its result, its tokens by kind, and the codes of all firings.

Where memory takes time, it also keeps the entries that firings touch.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np

from sam.tensor import Tensor
from sim.compiled.bundles import Bundle, bundles
from sim.compiled.objects import TYPES, CGrowing, Objects, Room, array_at, at
from sim.compiled.residual import Residual, c_type
from sim.compiled.shared_layout import SharedLayout
from sim.compiled.translations import Translation, libraries, translated
from sim.compiled.translations import text as compiled_text
from sim.endless import require_memory
from sim.machine import HANDOVER, Machine, Part
from sim.retiming.codes import FiringCode, code_of
from sim.retiming.firing_kernel import Event, FiringEnd, firing_kernel
from sim.stats import TOKEN_KINDS

_ROUNDS, _PLACES, _MOST_RECENT, _PATHS = 4096, 1024, 4096, 64
FINISHED = 3
_SECONDS_BETWEEN_LOOKS = 0.25


class Abandoned(Exception):
    """A run without time has failed or got stuck; only a run with time can tell how."""


class CFiringQueue(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("writer", "reader", "kinds", "columns", "sizes")),
        *((name, ctypes.c_int64) for name in ("column_count", "places", "head", "tail")),
        *((name, ctypes.c_int64) for name in ("starves", "crowds")),
    ]


class CPath(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("low", "high", "code")]


class CFiringBlock(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("in_", "out", "state", "memory", "numbers")),
        *((name, ctypes.c_void_p) for name in ("counts", "fire", "find", "awake")),
        ("bit", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("fired", "status", "port", "which", "overflows")),
        ("recent", ctypes.c_void_p),
        ("codes", CGrowing),
        *((name, ctypes.c_int64) for name in ("last", "run")),
        ("reserve", ctypes.c_void_p),
        ("touches", ctypes.c_int64),
        ("touched", CGrowing),
        ("known", CGrowing),
        ("paths", CPath * _PATHS),
    ]


class CScheduled(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("blocks", "awake")),
        *((name, ctypes.c_int64) for name in ("failed", "packed", "most")),
    ]


SHARED = SharedLayout(
    {
        "Queue": CFiringQueue,
        "Path": CPath,
        "Block": CFiringBlock,
        "Scheduled": CScheduled,
        "Growing": CGrowing,
    },
    {"FINISHED_BLOCK": FINISHED, "MOST_RECENT": _MOST_RECENT, "PATHS": _PATHS},
)
"""The structures that ``firing_scheduler.c`` shares with Python."""


@dataclass
class Traced:
    """A part that runs without time.

    ``events``  the meanings of the bits of its paths
    ``counts``  by the first output of each group that moves together: tokens given by kind
    """

    part: Part
    translation: Translation
    residual: Residual
    events: tuple[Event, ...] = ()
    block: CFiringBlock = field(default_factory=CFiringBlock)
    counts: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    found: list[FiringCode] = field(default_factory=list)

    @property
    def codes(self) -> list[FiringCode]:
        """The meaning of its codes that have occurred so far."""
        known = self.block.known
        for n in range(len(self.found), known.length):
            path = CPath.from_address(known.items + n * ctypes.sizeof(CPath))
            self.found.append(code_of(path.low | path.high << 64, self.events))
        return self.found

    @property
    def packed(self) -> bytes:
        """The codes of firings that have not been read: see ``sim.retiming.codes``."""
        codes = self.block.codes
        return ctypes.string_at(codes.items, codes.length) if codes.length else b""

    @cached_property
    def entries(self) -> int:
        """One more than the largest index of an entry that it touches, once the run is done."""
        touched = self.block.touched
        found = array_at(touched.items, np.dtype(np.uint32), touched.length)
        return 1 + int(found.max()) if len(found) else 0

    @cached_property
    def tokens(self) -> list[dict[str, int]]:
        """By output, the tokens given by kind, once the run is done."""
        counts = self.counts[list(self.residual.body.given)].tolist()
        return [dict(zip(TOKEN_KINDS, one, strict=True)) for one in counts]

    @cached_property
    def given(self) -> Mapping[str, Mapping[str, int]]:
        """The same, by the names of the ports of the block."""
        named = zip(self.part.outputs, self.tokens, strict=True)
        return {port.name: tokens for port, tokens in named if port.name != HANDOVER}


class Firings:
    """The firings of a machine, which runs once.

    ``most_firings``  those that a block may have; a block without end has more than any number
    ``done``       whether all firings are found
    ``forgotten``  whether codes that have been read have made room for others

    ``beside``     C sources that time the firings: they are compiled together with the kernels

    Raises Untraceable, for one if the machine has wires, and Untranslatable; NotAtHand where its
    kernels and ``beside`` must be ``at_hand``, and one would have to be made first.
    """

    def __init__(
        self,
        machine: Machine,
        most_bytes: int,
        most_firings: int | None = None,
        at_hand: bool = False,
        beside: Sequence[str] = (),
    ) -> None:
        self.machine, self.most_firings = machine, most_firings
        self.room = Room()
        self.parts = [Traced(part, *translated(part, at_hand)) for part in machine.parts]
        bodies = {one.part.name: one.residual.body for one in self.parts}
        self.bundles = bundles(machine, bodies, lambda channel: None)
        self.queues = [self._queue(bundle) for bundle in self.bundles]
        sources = []
        for one in self.parts:
            name = one.part.name
            inputs = tuple(FiringEnd(b.takers) for b in self.bundles if b.taker == name)
            outputs = tuple(
                FiringEnd(b.givers, _hands_over(b)) for b in self.bundles if b.giver == name
            )
            kernels = one.translation.others
            if (inputs, outputs) not in kernels:
                kernels[inputs, outputs] = firing_kernel(one.residual.body, inputs, outputs)
            kernel = kernels[inputs, outputs]
            one.events = kernel.events
            sources.append(kernel.source)
        scheduler = SHARED.exported(own_text("firing_scheduler.c"))
        made = firing_libraries(*beside, scheduler, *sources, at_hand=at_hand)
        self.runtime, *built = made[len(beside) :]
        SHARED.require(self.runtime)
        self.runtime.run.restype = ctypes.c_int64
        self.objects = Objects(self.runtime, self.room)
        for queue in self.queues:
            if not self.runtime.open_queue(ctypes.byref(queue)):
                raise MemoryError
        for one, library in zip(self.parts, built, strict=True):
            self._fill(one, library)
        self.scheduled = self._schedule(most_bytes)
        self.room.kept += built
        self.done = self.forgotten = False

    def _queue(self, bundle: Bundle) -> CFiringQueue:
        sizes = [np.dtype(TYPES[c_type(one.dtype)]).itemsize for one in bundle.channels]
        widths, columns = np.array(sizes, np.int64), np.zeros(len(sizes), np.uint64)
        self.room.kept += [widths, columns]
        return CFiringQueue(
            columns=columns.ctypes.data,
            sizes=widths.ctypes.data,
            column_count=len(sizes),
            places=1 if _hands_over(bundle) else _PLACES,
        )

    def _fill(self, one: Traced, library: ctypes.CDLL) -> None:
        library.state_size.restype = ctypes.c_int64
        state = ctypes.create_string_buffer(library.state_size())
        library.start(state)
        part, residual = one.part, one.residual
        one.counts = np.zeros((max(1, len(part.outputs)), 4), np.int64)
        recent = np.zeros(_MOST_RECENT, np.uint16)
        numbers = np.array([at(part.memory, path) for path in residual.numbers] or [0], np.int64)
        ends = list(zip(self.bundles, self.queues, strict=True))
        one.block = CFiringBlock(
            in_=self.room.pointers([queue for b, queue in ends if b.taker == part.name]),
            out=self.room.pointers([queue for b, queue in ends if b.giver == part.name]),
            state=ctypes.addressof(state),
            memory=self.room.pointers([self.objects.of(part, path) for path in residual.memory]),
            numbers=numbers.ctypes.data,
            counts=one.counts.ctypes.data,
            fire=ctypes.cast(library.fire, ctypes.c_void_p),
            recent=recent.ctypes.data,
            touches=sum(1 + e.many for e in one.events if e.side in ("read", "write")),
        )
        self.room.kept += [state, numbers, recent]

    def _schedule(self, most_bytes: int) -> CScheduled:
        by_name = {one.part.name: ctypes.addressof(one.block) for one in self.parts}
        for bundle, queue in zip(self.bundles, self.queues, strict=True):
            queue.writer, queue.reader = by_name[bundle.giver], by_name[bundle.taker]
        awake = np.zeros(len(self.parts) // 64 + 1, np.uint64)
        self.room.kept.append(awake)
        scheduled = CScheduled(
            count=len(self.parts),
            blocks=self.room.pointers([one.block for one in self.parts]),
            awake=awake.ctypes.data,
            most=most_bytes,
        )
        self.runtime.prepare(ctypes.byref(scheduled))
        return scheduled

    def run(self) -> None:
        """Runs until all blocks are done, or the codes have reached their limit of bytes.

        Raises Abandoned if a block fails or fires too often, or if not all blocks come to their
        ends.
        """
        before, look_at = self._moved(), time.monotonic() + _SECONDS_BETWEEN_LOOKS
        while self.scheduled.packed < self.scheduled.most:
            status = self.runtime.run(ctypes.byref(self.scheduled), ctypes.c_int64(_ROUNDS))
            if status == 1:
                break
            if status == 2:
                raise Abandoned("a block fails")
            if self.most_firings is not None and self._most_fired() > self.most_firings:
                raise Abandoned("a block fires more often than in the cycles of any run")
            if time.monotonic() >= look_at:
                require_memory()
                now, look_at = self._moved(), time.monotonic() + _SECONDS_BETWEEN_LOOKS
                if now == before:
                    raise Abandoned("no block makes progress")
                before = now
        else:
            return
        if any(one.block.status != FINISHED for one in self.parts):
            raise Abandoned("some blocks do not come to their ends")
        self.objects.bring_back()
        self.done = True

    def _most_fired(self) -> int:
        """The firings of the block that has fired most often."""
        return max(int(one.block.fired) for one in self.parts)

    def _moved(self) -> list[Any]:
        """The ends of all queues: they change while blocks make progress."""
        return [(queue.head, queue.tail) for queue in self.queues]

    @property
    def whole(self) -> bool:
        """Whether all codes are there, from the first on."""
        return self.done and not self.forgotten

    @cached_property
    def output(self) -> tuple[Tensor | None, tuple[str, ...]]:
        """The result, with notes on it."""
        return self.machine.bound.output(self.machine.memories)

    @cached_property
    def streams(self) -> list[tuple[str, int, Mapping[str, int]]]:
        """The edges of the graph, each with the number of its channel and the tokens that went
        through it, once the run is done."""
        tokens = {
            channel.number: given
            for one in self.parts
            for output, given in zip(one.part.outputs, one.tokens, strict=True)
            for channel in output.channels
        }
        return [
            (str(channel.edge), channel.number, tokens[channel.number])
            for channel in self.machine.channels
            if channel.edge in self.machine.bound.streams
        ]

    @cached_property
    def sinks(self) -> Mapping[str, Any]:
        """The tokens that came to each sink."""
        return self.machine.bound.sinks(self.machine.memories)

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for queue in self.queues:
            self.runtime.close_queue(ctypes.byref(queue))
        self.objects.close()
        for one in self.parts:
            self.runtime.release(ctypes.byref(one.block.codes))
            self.runtime.release(ctypes.byref(one.block.touched))
            self.runtime.release(ctypes.byref(one.block.known))


def _hands_over(bundle: Bundle) -> bool:
    """Whether a bundle is the handover between two halves of a block."""
    return bundle.channels[0].edge.source.port == HANDOVER


def firing_libraries(*sources: str, at_hand: bool = False) -> list[ctypes.CDLL]:
    """The libraries of C sources of this package.

    Raises NotAtHand where they must be ``at_hand``, and one would have to be made first.
    """
    return libraries(sources, _headers(), at_hand)


@cache
def _headers() -> dict[str, str]:
    names = ("memories.h", "values.h", "hierarchy.h", "accesses.h")
    shared = {name: compiled_text(name) for name in names}
    own = ("codes.h", "firing.h", "lanes.h", "takings.h", "served_machine.h", "served_firings.h")
    return shared | {name: own_text(name) for name in own}


@cache
def own_text(name: str) -> str:
    """A C file of this package."""
    return resources.files("sim.retiming").joinpath(name).read_text()
