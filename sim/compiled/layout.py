"""A machine laid out for C: parts and queues as structures, with the libraries of kernels."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from sam.graph import Edge
from sim.binding import BoundGraph
from sim.compiled.bundles import bundles
from sim.compiled.gate import WITHOUT_END, gate_of
from sim.compiled.kernel.paths.prepare import may_prepare
from sim.compiled.logs import Logs
from sim.compiled.memory import SHARED_HIERARCHY, CompiledHierarchy
from sim.compiled.objects import BYTES, Objects, Room, at, size_of
from sim.compiled.order import CompiledOrder
from sim.compiled.parts import CompiledPart, SharedQueue
from sim.compiled.residual import c_type
from sim.compiled.structures import GAP, SHARED, CBlock, CMachine, Status
from sim.compiled.translations import libraries, text, translated
from sim.config.hardware import Config
from sim.endless import Holdings
from sim.machine import elaborate
from sim.order_of_service import Order
from sim.stats import TOKEN_KINDS

_NEVER, _LATE = 2**62, 1 << 20


class CompiledMachine:
    """The parts and queues of a machine, laid out for C.

    ``end``    the cycle before which the run is ended, if it is
    ``order``  that of service, if it ``keeps`` one; a run with ``attribution`` notes its own
    ``gate``   the part that can hold all others, if it is to be ``holdable`` and has one
    """

    def __init__(
        self,
        bound: BoundGraph,
        config: Config,
        attribution: bool = False,
        end: int | None = None,
        at_hand: bool = False,
        order: Order | None = None,
        holdable: bool = False,
    ) -> None:
        self.machine, self.keeps = elaborate(bound, config, order=order), order is not None
        self.attribution, self.end = attribution, end
        self.room = Room(apart=holdable)
        self.states: list[ctypes.Array[ctypes.c_char]] = []
        self.parts = [CompiledPart(part, *translated(part, at_hand)) for part in self.machine.parts]
        self.by_name = {one.part.name: one for one in self.parts}
        self.gate: CompiledPart | None = None
        self.queues = self._share(holdable)
        self.channels = {edge: shared for shared in self.queues for edge in shared.edges}
        sources = [
            one.translation.source(
                [shared.taken_from() for shared in one.queues_in],
                [shared.given_to() for shared in one.queues_out],
                attribution,
                limited=end is not None,
                kept=order is not None,
                holdable=one is self.gate,
            )
            for one in self.parts
        ]
        sources = [_scheduler(), *sources]
        self.runtime, *built = libraries(sources, at_hand=at_hand)
        SHARED.require(self.runtime)
        self.runtime.run.restype = ctypes.c_int64
        self.objects = Objects(self.runtime, self.room)
        self.logs = Logs(self.runtime) if attribution else None
        self.order: CompiledOrder | None = None
        if attribution or order is not None:
            self.order = CompiledOrder(self.machine, self.runtime, order)
        self.hierarchy: CompiledHierarchy | None = None
        if self.machine.layout is not None:
            [library] = libraries([SHARED_HIERARCHY.exported(text("hierarchy.c"))])
            SHARED_HIERARCHY.require(library)
            self.hierarchy = CompiledHierarchy(self.machine.layout, library, attribution)
        for shared in self.queues:
            self._open(shared)
        for one, library in zip(self.parts, built, strict=True):
            self._fill(one, library)
        self.scheduled = self._schedule(built)
        self.wake()
        if self.order is not None and self.order.turns and self.hierarchy is not None:
            self.order.begin(self.parts, self.hierarchy.library, self.room)

    def _share(self, holdable: bool) -> list[SharedQueue]:
        """The queues that channels share, in the order of their givers; finds the gate."""
        bodies = {one.part.name: one.residual.body for one in self.parts}
        found = [
            SharedQueue(bundle, self.by_name[bundle.giver].asks)
            for bundle in bundles(self.machine, bodies, lambda one: (one.depth, one.latency))
        ]
        for shared in found:
            self.by_name[shared.bundle.giver].queues_out.append(shared)
            self.by_name[shared.bundle.taker].queues_in.append(shared)
        if holdable:
            self.gate = gate_of(self.parts, found)
        for one in self.parts:
            if one is self.gate:
                continue  # it prepares nothing beyond the firings that it is allowed
            if may_prepare(one.residual.body) and len(one.queues_out) == 1:
                [shared] = one.queues_out
                gives_all = len({*shared.bundle.givers}) == len(one.part.outputs)
                shared.ahead = shared.short and gives_all
        return found

    def _open(self, shared: SharedQueue) -> None:
        queue = shared.queue = self.room.hold(shared.queue)
        queue.depth, queue.latency, queue.wire = shared.depth, shared.latency, shared.wire
        queue.places = shared.places
        sizes = sum(BYTES[c_type(one.dtype)] for one in shared.bundle.channels)
        queue.size = 16 + (queue.places + GAP) * (12 + sizes) + 4 * GAP
        if shared.stamped:
            queue.stamps = queue.size
            queue.size += 4 * queue.places
        if self.attribution and not shared.wire:
            queue.given, queue.taken = (one.ctypes.data for one in shared.moved)
        if not self.runtime.open_queue(ctypes.byref(queue)):
            raise MemoryError

    def _fill(self, one: CompiledPart, library: ctypes.CDLL) -> None:
        """Fills in the structure of a part for C."""
        part, residual = one.part, one.residual
        library.state_size.restype = ctypes.c_int64
        state = self.room.hold((ctypes.c_char * library.state_size())())
        library.start(state)
        one.counts = self.room.numbers(max(1, len(TOKEN_KINDS) * len(part.outputs)))
        one.waits = self.room.numbers(max(1, len(part.inputs) + len(one.slots)))
        own_numbers = [int(at(part.memory, path)) for path in residual.numbers]
        own = self.room.numbers(len(own_numbers), own_numbers)
        block = CBlock(
            asker=part.asker or 0,
            in_=self.room.pointers([shared.queue for shared in one.queues_in]),
            out=self.room.pointers([shared.queue for shared in one.queues_out]),
            outs=len(one.queues_out),
            state=ctypes.addressof(state),
            memory=self.room.pointers([self.objects.of(part, path) for path in residual.memory]),
            numbers=ctypes.addressof(own),
            waits=ctypes.addressof(one.waits),
            counts=ctypes.addressof(one.counts),
            fire=ctypes.cast(library.fire, ctypes.c_void_p),
            interval=part.timing.initiation_interval,
            end=_NEVER if self.end is None else self.end,
            allowed=WITHOUT_END,
        )
        one.block = self.room.hold(block)
        if self.logs is not None:
            one.log_to(self.logs)
        self.room.kept += [state, own]
        self.states.append(state)
        if self.order is not None:
            self.order.give_reads(one)
        if self.hierarchy is not None and one.asks:
            self._give_memory(one, self.hierarchy)

    def _give_memory(self, one: CompiledPart, hierarchy: CompiledHierarchy) -> None:
        """Fills in the fields of a part that touches memory."""
        block, layout = one.block, hierarchy.layout
        numbers = [layout.regions.index(region) for region in one.residual.regions]
        regions = np.array(numbers, np.int64)
        outstanding = layout.outstanding[block.asker]
        places = np.zeros(max(1, outstanding), np.int64)
        self.room.kept += [regions, places]
        block.hierarchy, block.touch = hierarchy.address, hierarchy.touch(self.order)
        block.regions, block.places = regions.ctypes.data, places.ctypes.data
        block.outstanding = outstanding
        block.made, block.until = -1, -1
        if self.attribution:
            block.link = hierarchy.room_for_links()
        latency = min(layout.latency[layout.kept[n]] // layout.unit for n in numbers)
        block.reach = min(
            *(latency + shared.latency for shared in one.queues_out),
            *(1 for shared in one.queues_in if shared.depth),
            _NEVER,
            _NEVER,
        )

    def _schedule(self, libraries: list[ctypes.CDLL]) -> CMachine:
        """The structure of the machine for C; sets the blocks at the two ends of each queue."""
        for one in self.parts:
            here = ctypes.addressof(one.block)
            for shared in one.queues_in:
                shared.queue.reader = here
            for shared in one.queues_out:
                shared.queue.writer = here
        turns = self.order is not None and self.order.turns
        ordered = [one.block for one in self.parts if one.ordered and not turns]
        for one in self.parts:
            one.block.limit, one.block.ahead = -1, self._ahead(one)
        awake = self.room.numbers(len(self.parts) // 64 + 1)
        self.room.kept += [awake, *libraries]
        scheduled = CMachine(
            count=len(self.parts),
            blocks=self.room.pointers([one.block for one in self.parts]),
            awake=ctypes.addressof(awake),
            ordered_count=len(ordered),
            ordered=self.room.pointers(ordered),
        )
        return scheduled

    def _ahead(self, one: CompiledPart) -> int:
        """The lookahead of a part: how many cycles after the earliest pending firing it may fire.

        Other blocks notice that firing a cycle later at the earliest, by its tokens or by room
        that is used, and a message on a wire only after its latency.
        """
        return min(
            (wire.latency - self.by_name[wire.bundle.giver].ordered for wire in one.wires),
            default=0,
        )

    def wake(self) -> None:
        """Has the scheduler look at all blocks again."""
        self.runtime.prepare(ctypes.byref(self.scheduled))

    def allow(self, firings: int) -> None:
        """Has the gate, if there is one, hold the others after so many firings."""
        if self.gate is not None:
            self.gate.block.allowed = firings
            self.wake()

    def fill(self) -> None:
        """Has the queues fill at first: blocks that give to no other begin late."""
        for one in self.parts:
            if not one.queues_out:
                one.block.ready += _LATE

    def restart_peaks(self) -> None:
        """Forgets the most tokens that short queues have held so far, as far as it can."""
        for shared in self.queues:
            self.runtime.restart_peak(ctypes.byref(shared.queue))

    @property
    def at_cut(self) -> bool:
        """Whether the gate holds the others."""
        return self.gate is not None and self.gate.block.status == Status.HELD

    @property
    def finished(self) -> bool:
        """Whether all blocks have come to their ends."""
        return all(one.block.status == Status.FINISHED_BLOCK for one in self.parts)

    def last_cycle(self) -> int:
        """The cycle of the last firing of any block."""
        return max((one.last_cycle for one in self.parts), default=-1)

    def held(self) -> dict[Edge, int]:
        """The tokens in each queue."""
        return {
            edge: shared.queue.tail - shared.queue.head for edge, shared in self.channels.items()
        }

    def holdings(self) -> Holdings:
        """What the run keeps in memory.

        A reader may be ahead of its writer in time, so that no token waits; but the cycles in which
        it took as many tokens as the queue held at once are kept.
        """
        waiting = {
            edge: max(tokens, self.channels[edge].queue.peak)
            for edge, tokens in self.held().items()
        }
        stored = {}
        for one in self.parts:
            if one.queues_in:
                most = max(one.queues_in, key=lambda shared: shared.queue.head)
                made = self.objects.filled(one.part, one.residual.memory)
                stored[most.edges[0]] = sum(size_of(each) for _, each, _ in made)
        return Holdings(waiting, stored)

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for shared in self.queues:
            self.runtime.close_queue(ctypes.byref(shared.queue))
        if self.hierarchy is not None:
            self.hierarchy.close()
        if self.order is not None:
            self.order.close()
        self.objects.close()


@cache
def _scheduler() -> str:
    """The C of the scheduler; one text, which is looked up in each run."""
    return SHARED.exported(text("scheduler.c"))
