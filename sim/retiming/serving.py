"""The times of given firings in one machine with memory, which ``serving.c`` finds.

Which request is served when depends on the cycles of a machine, so machines are timed one by one;
the codes of the firings and the entries that they touch are the same for all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sim.compiled.bundles import Bundle, bundles
from sim.compiled.memory import SHARED_HIERARCHY, CompiledHierarchy, logarithm
from sim.compiled.objects import Room
from sim.compiled.shared_layout import SharedLayout
from sim.compiled.translations import libraries, text
from sim.config.hardware import Config
from sim.endless import require_memory
from sim.memory.hierarchy import BYTES_READ, HITS, READS, Layout
from sim.retiming.codes import FiringCode
from sim.retiming.firings import Firings, Traced, firing_libraries, own_text
from sim.retiming.operations import operations_of, passages_of, shape_of
from sim.retiming.reporting import block_stats, stream_stats
from sim.stats import BlockStats, MemoryStats, StreamStats

MOST_CYCLES = 2**31
"""A run that takes more may be one that the compiled engine refuses."""

_UNBOUNDED = 2**63 - 1
_NO_MEMORY, _AT_REST = 0, 1
_AT_END = 0
_ROUNDS = 1 << 20
_TOUCHES, _MOST_BITS = 1 << 63, 63


class CServedQueue(ctypes.Structure):
    """``Queue`` in ``served_machine.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("head", "tail")),
        *((name, ctypes.c_void_p) for name in ("visible", "given", "taken")),
        *((name, ctypes.c_int64) for name in ("places", "kept", "latency", "limit", "depth")),
        *((name, ctypes.c_int64) for name in ("near", "starves", "crowds", "seen", "batch")),
        *((name, ctypes.c_int64) for name in ("peak", "stamped")),
        *((name, ctypes.c_void_p) for name in ("writer", "reader")),
        *((name, ctypes.c_uint64) for name in ("given_bit", "taken_bit")),
        *((name, ctypes.c_int64) for name in ("next_given", "next_taken")),
    ]


class CServedOperation(ctypes.Structure):
    """``Operation`` in ``served_machine.h``."""

    _fields_ = [("queue", ctypes.c_void_p), ("port", ctypes.c_int64)]


class CTouch(ctypes.Structure):
    """``Touch`` in ``served_machine.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("region", "write", "many", "never", "quick")),
        ("there", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("per_line", "shift", "kept", "latency", "hits")),
    ]


class CServedCode(ctypes.Structure):
    """``Code`` in ``served_machine.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("waits", "rooms", "takes", "gives", "touches")),
        ("quick", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("operations", "touch")),
        ("shape", ctypes.c_int64),
        ("moves", ctypes.c_uint64),
    ]


class CServedPart(ctypes.Structure):
    """``Part`` in ``served_machine.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("in_", "out", "at", "end", "codes")),
        *((name, ctypes.c_int64) for name in ("code", "left")),
        ("awake", ctypes.c_void_p),
        ("bit", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("fired", "status")),
        ("waits_for", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("interval", "ready")),
        ("waits", ctypes.c_void_p),
        ("asker", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("touched", "places")),
        *((name, ctypes.c_int64) for name in ("outstanding", "place", "made", "waited", "delay")),
        *((name, ctypes.c_int64) for name in ("key", "asked", "cause", "next_asked")),
    ]


class CServedMachine(ctypes.Structure):
    """``Machine`` in ``served_machine.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("count", "queue_count")),
        *((name, ctypes.c_void_p) for name in ("parts", "queues", "awake")),
        ("asker_count", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("askers", "when", "path", "hierarchy")),
    ]


SHARED = SharedLayout(
    {
        "Queue": CServedQueue,
        "Operation": CServedOperation,
        "Touch": CTouch,
        "Code": CServedCode,
        "Part": CServedPart,
        "Machine": CServedMachine,
    },
    {"AT_END": _AT_END, "TOUCHES": _TOUCHES - (1 << 64)},
)
"""The structures that ``serving.c`` shares with Python."""


def serving_source() -> str:
    """The C source that times one config with memory."""
    return SHARED.exported(own_text("serving.c"))


@dataclass
class _Served:
    """A part, and the cycles that it waited, by port, inputs first."""

    traced: Traced
    waits: np.ndarray
    part: CServedPart

    @property
    def last(self) -> int:
        """The cycle of its last firing; -1 before the first."""
        return self.part.ready - self.part.interval if self.part.fired else -1


class Serving:
    """The machine of given firings under one config, whose memory takes time.

    ``finished``  whether all parts came to their ends; otherwise the machine is in a deadlock

    ``before``    a machine of the same firings that has run, and hands over its memory

    Raises UserError if the tensors do not fit in its memory.
    """

    def __init__(self, firings: Firings, config: Config, before: Serving | None = None) -> None:
        self.firings, self.finished = firings, False
        machine = firings.machine
        assert machine.layout is not None
        askers = [part.memory for part in machine.askers]
        regions = machine.layout.regions
        self.layout = Layout(config.memory, config.clock.clock_ghz, askers, regions)
        [self.passages], self.room = passages_of([config], machine), Room()
        [self.library] = firing_libraries(serving_source())
        SHARED.require(self.library)
        self.library.run.restype = ctypes.c_int64
        [library] = libraries([SHARED_HIERARCHY.exported(text("hierarchy.c"))])
        SHARED_HIERARCHY.require(library)
        bodies = {one.part.name: one.residual.body for one in firings.parts}
        self.bundles = bundles(machine, bodies, lambda channel: self.passages[channel.number])
        asking = {part.name for part in machine.askers}
        self.queues = [self._queue(bundle, bundle.giver in asking) for bundle in self.bundles]
        self.queue_of = {
            channel.number: n
            for n, bundle in enumerate(self.bundles)
            for channel in bundle.channels
        }
        self._number_ends()
        self.touches: list[CTouch] = []
        self.lengths = self._lengths()
        self.holds_all = self._holds_all()
        self.parts = [self._part(one, config) for one in firings.parts]
        self.hierarchy = CompiledHierarchy(self.layout, library)
        if self.holds_all:  # no line is replaced, so their order does not matter
            for level in self.hierarchy.levels:
                level.by_use = 0
        self.machine = self._machine()
        if before is not None and before._channels() == self._channels():
            self.library.hand_over(ctypes.byref(before.machine), ctypes.byref(self.machine))
        if not self.library.open_machine(ctypes.byref(self.machine)):
            raise MemoryError

    def _number_ends(self) -> None:
        """Gives each queue a bit at its writer and one at its reader, as far as there are bits."""
        bits: dict[str, int] = {}
        for bundle, queue in zip(self.bundles, self.queues, strict=True):
            for name, end in ((bundle.giver, "given_bit"), (bundle.taker, "taken_bit")):
                setattr(queue, end, 1 << min(bits.setdefault(name, 0), _MOST_BITS - 1))
                bits[name] += 1

    def _channels(self) -> list[list[int]]:
        """By queue, the numbers of its channels."""
        return [[channel.number for channel in bundle.channels] for bundle in self.bundles]

    def _queue(self, bundle: Bundle, stamped: bool) -> CServedQueue:
        depth, latency = self.passages[bundle.channels[0].number]
        depth = _UNBOUNDED if depth is None else depth
        return CServedQueue(depth=depth, latency=latency, stamped=stamped)

    def _part(self, one: Traced, config: Config) -> _Served:
        part, block = one.part, one.block
        waits = self._zeros(len(part.inputs) + len(part.outputs))
        made = CServedPart(
            at=block.codes.items,
            end=(block.codes.items or 0) + block.codes.length,
            codes=self._codes(one, one.codes),
            interval=config.block(part.node.name, part.node.kind).initiation_interval,
            waits=waits.ctypes.data,
            asker=-1 if part.asker is None else part.asker,
            touched=block.touched.items,
        )
        if part.asker is not None:
            made.outstanding = self.layout.outstanding[part.asker]
            made.places = self._zeros(made.outstanding).ctypes.data
            made.delay = min(
                (self._latency(n) for n in self._regions(one)),
                default=0,
            )
        return _Served(one, waits, made)

    def _regions(self, one: Traced) -> list[int]:
        """The numbers of the regions that a part touches."""
        return [self.layout.regions.index(region) for region in one.residual.regions]

    def _latency(self, region: int) -> int:
        """The cycles from a request for an entry to its arrival, at least."""
        return self.layout.latency[self.layout.kept[region]] // self.layout.unit

    def _codes(self, one: Traced, codes: Sequence[FiringCode]) -> int:
        """The effects of each code, laid out for C."""
        regions, lines = self._regions(one), dict[int, int]()
        made = (CServedCode * len(codes))()
        self.room.kept.append(made)
        for code, found in zip(codes, made, strict=True):
            sides = operations_of(one.part, code, self.queue_of, self._bounded)
            found.waits, found.rooms, found.takes, found.gives = counts = [*map(len, sides)]
            found.shape, found.touches = shape_of(counts), len(code.touches)
            found.moves = _TOUCHES if code.touches else 0
            for q in sides[2]:
                found.moves |= self.queues[q].taken_bit
            for q in sides[3]:
                found.moves |= self.queues[q].given_bit
            operations = [
                CServedOperation(ctypes.addressof(self.queues[q]), n)
                for side in sides
                for q, n in side.items()
            ]
            touches = [
                self._touch(one, regions[region], write, many, lines)
                for region, write, many in code.touches
            ]
            found.operations = self._array(CServedOperation, operations)
            found.quick = all(touch.quick and touch.there for touch in touches)
            found.touch = self._array(CTouch, touches)
            self.touches += (CTouch * len(touches)).from_address(found.touch)
        return ctypes.addressof(made)

    def _touch(
        self, one: Traced, region: int, write: bool, many: bool, lines: dict[int, int]
    ) -> CTouch:
        """A touch of a region; ``lines`` has the lines of each that the part has touched itself."""
        layout = self.layout
        home, kept, asker = layout.home[region], layout.kept[region], one.part.asker
        cached, per_line = home < kept, layout.per_line[kept][region]
        found = layout.regions[region]
        made = CTouch(region, write, kept=kept, per_line=per_line, shift=logarithm(per_line))
        made.latency = self._latency(region)
        made.many = many
        prompt = layout.prompt[kept]
        made.quick = cached and prompt and not (write or many or found.sizes is not None)
        if not prompt and self._shares_port(kept, asker):
            return made
        alone = self.touching[region] == 1
        if not cached:
            made.never = alone or found.length is not None
        elif self.holds_all:
            made.never = write and alone
            if region not in lines:
                lines[region] = self._zeros(self.lengths[region] // per_line + 1).ctypes.data
            made.there = lines[region]
        return made

    def _shares_port(self, level: int, asker: int | None) -> bool:
        """Whether the port of a level that a part asks is asked by others."""
        ports, askers = self.layout.ports[level], range(len(self.layout.outstanding))
        return asker is None or any(n % ports == asker % ports for n in askers if n != asker)

    def _lengths(self) -> list[int]:
        """By region, how many entries it has, or no less."""
        found = list(self.layout.length)
        self.touching = [0] * len(found)
        for one in self.firings.parts:
            for region in self._regions(one):
                self.touching[region] += 1
                if self.layout.regions[region].length is None:
                    found[region] = max(found[region], one.entries)
        return found

    def _holds_all(self) -> bool:
        """Whether each level has room for all that it may cache, so that no line is replaced."""
        layout = self.layout
        for level, room in enumerate(layout.room):
            held = 0
            for region, length in enumerate(self.lengths):
                if layout.home[region] < level <= layout.kept[region]:
                    line = layout.per_line[level][region]
                    held += layout.bytes(region, 0, -(-length // line) * line)
            if room is not None and held > room:
                return False
        return True

    def _bounded(self, queue: int) -> bool:
        return bool(self.queues[queue].depth != _UNBOUNDED)

    def _machine(self) -> CServedMachine:
        by_name = {one.traced.part.name: ctypes.addressof(one.part) for one in self.parts}
        for bundle, queue in zip(self.bundles, self.queues, strict=True):
            queue.writer, queue.reader = by_name[bundle.giver], by_name[bundle.taker]
        ends = list(zip(self.bundles, self.queues, strict=True))
        for one in self.parts:
            name = one.traced.part.name
            one.part.in_ = self._pointers([q for b, q in ends if b.taker == name])
            one.part.out = self._pointers([q for b, q in ends if b.giver == name])
        asking = [one.part for one in self.parts if one.part.asker >= 0]
        return CServedMachine(
            count=len(self.parts),
            queue_count=len(self.queues),
            parts=self.room.pointers([one.part for one in self.parts]),
            queues=self.room.pointers(list(self.queues)),
            awake=self._zeros(len(self.parts) // 64 + 1).ctypes.data,
            asker_count=len(asking),
            askers=self.room.pointers(asking),
            when=self._zeros(len(asking)).ctypes.data,
            path=self._zeros(len(self.parts)).ctypes.data,
            hierarchy=self.hierarchy.address,
        )

    def _pointers(self, queues: Sequence[CServedQueue]) -> int:
        """The address of an array of pointers that ends with NULL."""
        array = (ctypes.c_void_p * (len(queues) + 1))(*map(ctypes.addressof, queues))
        self.room.kept.append(array)
        return ctypes.addressof(array)

    def _zeros(self, count: int) -> np.ndarray:
        """Numbers for C, which are kept."""
        found = np.zeros(max(1, count), np.int64)
        self.room.kept.append(found)
        return found

    def _array(self, kind: type[ctypes.Structure], items: Sequence[ctypes.Structure]) -> int:
        """The address of an array of structures, which is kept."""
        made = (kind * max(1, len(items)))(*items)
        self.room.kept.append(made)
        return ctypes.addressof(made)

    # Running

    def run(self) -> None:
        """Finds all times."""
        machine = ctypes.byref(self.machine)
        while (status := self.library.run(machine, ctypes.c_int64(_ROUNDS))) != _AT_REST:
            if status == _NO_MEMORY:
                raise MemoryError
            require_memory()
        self.finished = all(one.part.status == _AT_END for one in self.parts)
        if not self.library.settle(machine):
            raise MemoryError

    # Reporting

    @property
    def cycles(self) -> int:
        """The cycles of the run."""
        return 1 + max(one.last for one in self.parts)

    def blocks(self) -> Mapping[str, BlockStats]:
        """Where the cycles of each part went."""
        return {one.traced.part.name: self._block(one) for one in self.parts}

    def _block(self, one: _Served) -> BlockStats:
        part, waits = one.part, one.waits.tolist()
        return block_stats(
            one.traced, part.fired, part.interval, one.last, waits, part.waited, self.cycles
        )

    def streams(self) -> Mapping[str, StreamStats]:
        """The tokens that went through each edge, and its peak."""
        return stream_stats(self.firings, lambda n: int(self.queues[self.queue_of[n]].peak))

    def memory(self) -> dict[str, MemoryStats]:
        """The statistics of the levels of memory. Raises UserError if the result does not fit."""
        for touch in self.touches:
            kept, tensor = self.layout.kept[touch.region], self.layout.tensor[touch.region]
            counts = self.hierarchy.counts[kept, tensor]
            counts[[READS, HITS]] += touch.hits
            counts[BYTES_READ] += touch.hits * self.layout.entry[touch.region]
        return self.hierarchy.finish()

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        self.library.close_machine(ctypes.byref(self.machine))
        self.hierarchy.close()
