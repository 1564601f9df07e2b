"""A machine laid out for C: parts and queues as structures, with the libraries of kernels."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np

from sim.binding import BoundGraph
from sim.compiled import crew
from sim.compiled.bundles import bundles
from sim.compiled.kernel.paths.prepare import may_prepare
from sim.compiled.logs import Logs
from sim.compiled.memory import SHARED_HIERARCHY, CompiledHierarchy
from sim.compiled.objects import TYPES, Objects, at, pointers
from sim.compiled.order import CompiledOrder
from sim.compiled.parts import CompiledPart, SharedQueue, numbers
from sim.compiled.residual import c_type
from sim.compiled.structures import GAP, SHARED, CBlock, CMachine
from sim.compiled.translations import libraries, text, translated
from sim.config.hardware import Config
from sim.machine import elaborate
from sim.order_of_service import Order
from sim.stats import TOKEN_KINDS

_SHARED = replace(
    SHARED,
    structures={**SHARED.structures, **crew.STRUCTURES},
    beginnings=frozenset({"Crew"}),
)
_NEVER = 2**62


class CompiledMachine:
    """The parts and queues of a machine, laid out for C.

    ``end``    the cycle before which the run is ended, if it is
    ``order``  that of service, if it ``keeps`` one; a run with ``attribution`` notes its own
    """

    def __init__(
        self,
        bound: BoundGraph,
        config: Config,
        attribution: bool = False,
        end: int | None = None,
        at_hand: bool = False,
        order: Order | None = None,
    ) -> None:
        self.machine, self.keeps = elaborate(bound, config, order=order), order is not None
        self.attribution, self.end = attribution, end
        self.kept: list[Any] = []
        self.states: list[ctypes.Array[ctypes.c_char]] = []
        self.parts = [CompiledPart(part, *translated(part, at_hand)) for part in self.machine.parts]
        self.by_name = {one.part.name: one for one in self.parts}
        self.queues = self._share()
        self.channels = {edge: shared for shared in self.queues for edge in shared.edges}
        sources = [
            one.translation.source(
                [shared.taken_from() for shared in one.queues_in],
                [shared.given_to() for shared in one.queues_out],
                attribution,
                limited=end is not None,
                kept=order is not None,
            )
            for one in self.parts
        ]
        sources = [_SHARED.exported(text("scheduler.c")), *sources]
        self.runtime, *built = libraries(sources, at_hand=at_hand)
        _SHARED.require(self.runtime)
        self.runtime.run.restype = ctypes.c_int64
        self.objects = Objects(self.runtime)
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
        if self.order is not None and self.order.turns and self.hierarchy is not None:
            self.order.begin(self.parts, self.hierarchy.library)

    def _share(self) -> list[SharedQueue]:
        """The queues that channels share, in the order of their givers."""
        bodies = {one.part.name: one.residual.body for one in self.parts}
        found = [
            SharedQueue(bundle, self.by_name[bundle.giver].asks)
            for bundle in bundles(self.machine, bodies, lambda one: (one.depth, one.latency))
        ]
        for shared in found:
            self.by_name[shared.bundle.giver].queues_out.append(shared)
            self.by_name[shared.bundle.taker].queues_in.append(shared)
        for one in self.parts:
            if may_prepare(one.residual.body) and len(one.queues_out) == 1:
                [shared] = one.queues_out
                gives_all = len({*shared.bundle.givers}) == len(one.part.outputs)
                shared.ahead = shared.short and gives_all
        return found

    def _open(self, shared: SharedQueue) -> None:
        queue = shared.queue
        queue.depth, queue.latency, queue.wire = shared.depth, shared.latency, shared.wire
        queue.places = shared.places
        sizes = sum(np.dtype(TYPES[c_type(one.dtype)]).itemsize for one in shared.bundle.channels)
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
        state = ctypes.create_string_buffer(library.state_size())
        library.start(state)
        one.counts = numbers(max(1, len(TOKEN_KINDS) * len(part.outputs)))
        one.waits = numbers(max(1, len(part.inputs) + len(one.slots)))
        own_numbers = [int(at(part.memory, path)) for path in residual.numbers]
        own = numbers(len(own_numbers), own_numbers)
        one.block = CBlock(
            asker=part.asker or 0,
            in_=pointers(self.kept, [shared.queue for shared in one.queues_in]),
            out=pointers(self.kept, [shared.queue for shared in one.queues_out]),
            outs=len(one.queues_out),
            state=ctypes.addressof(state),
            memory=pointers(self.kept, [self.objects.of(part, path) for path in residual.memory]),
            numbers=ctypes.addressof(own),
            waits=ctypes.addressof(one.waits),
            counts=ctypes.addressof(one.counts),
            fire=ctypes.cast(library.fire, ctypes.c_void_p),
            interval=part.timing.initiation_interval,
            end=_NEVER if self.end is None else self.end,
        )
        if self.logs is not None:
            one.log_to(self.logs)
        self.kept += [state, own]
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
        self.kept += [regions, places]
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
        awake = np.zeros(len(self.parts) // 64 + 1, np.uint64)
        self.kept += [awake, *libraries]
        scheduled = CMachine(
            count=len(self.parts),
            blocks=pointers(self.kept, [one.block for one in self.parts]),
            awake=awake.ctypes.data,
            ordered_count=len(ordered),
            ordered=pointers(self.kept, ordered),
        )
        self.runtime.prepare(ctypes.byref(scheduled))
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

    def last_cycle(self) -> int:
        """The cycle of the last firing of any block."""
        return max((one.last_cycle for one in self.parts), default=-1)

    def held(self) -> dict[str, int]:
        """The tokens in each queue."""
        return {
            str(edge): shared.queue.tail - shared.queue.head
            for edge, shared in self.channels.items()
        }

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        for shared in self.queues:
            self.runtime.close_queue(ctypes.byref(shared.queue))
        if self.hierarchy is not None:
            self.hierarchy.close()
        if self.order is not None:
            self.order.close()
        self.objects.close()
