"""The order of service in C, which a run notes or keeps."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.compiled.objects import CGrowing, Room, items
from sim.machine import Machine
from sim.order_of_service import MOST_OF_A_BYTE, RUN_BITS, Order, order_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim.compiled.parts import CompiledPart


class COrder(ctypes.Structure):
    """``Order`` in ``order.h``."""

    _fields_ = [
        ("runs", CGrowing),
        *((name, ctypes.c_int64) for name in ("asker", "cycle", "next", "left", "now")),
        ("askers", ctypes.c_void_p),
    ]


class CReads(ctypes.Structure):
    """``Reads`` in ``order.h``."""

    _fields_ = [
        ("bytes", CGrowing),
        *((name, ctypes.c_int64) for name in ("firing", "next", "seen")),
    ]


NUMBERS = {"RUN_BITS": RUN_BITS, "MOST_OF_A_BYTE": MOST_OF_A_BYTE}
"""The numbers that ``order.h`` shares with Python."""


class CompiledOrder:
    """The order of service of a machine in C: one that it keeps, or the one that it notes."""

    def __init__(self, machine: Machine, runtime: ctypes.CDLL, order: Order | None) -> None:
        self.machine, self.runtime, self.kept = machine, runtime, order
        self.memory = COrder(asker=-1)
        self.reads = {one.number: CReads() for one in machine.channels if one.wire}
        self.alive: list[Any] = []
        if order is not None:
            self.memory.runs = self._given(order.requests)
            for number, reads in self.reads.items():
                reads.bytes = self._given(order.reads[number])
                runtime.begin_reads(ctypes.byref(reads))

    @property
    def turns(self) -> bool:
        """Whether blocks ask memory in an order that is kept."""
        return self.kept is not None and len(self.kept.askers) > 0

    @property
    def touch(self) -> str:
        """The function that touches an entry."""
        if self.turns:
            return "touch_in_order"
        notes = self.kept is None and self.machine.shares_memory
        return "touch_and_note" if notes else "touch"

    def give_reads(self, one: CompiledPart) -> None:
        """Gives a part the reads of its wires."""
        if one.wires:
            own = [self.reads[wire.bundle.channels[0].number] for wire in one.wires]
            array = (CReads * len(own))(*own)
            for wire, reads in zip(one.wires, array, strict=True):
                self.reads[wire.bundle.channels[0].number] = reads
            self.alive.append(array)
            one.block.reads = ctypes.addressof(array)

    def begin(self, parts: Sequence[CompiledPart], library: ctypes.CDLL, room: Room) -> None:
        """Lets the first block ask memory, where the order is kept."""
        asking = [one.block for one in parts if one.part.asker is not None]
        self.memory.askers = room.pointers(asking)
        library.grant(ctypes.byref(self.memory))

    def noted(self) -> Order | None:
        """The order of a finished run, if its work depends on it."""
        reads = [items(one.bytes, np.dtype(np.uint8)).copy() for one in self.reads.values()]
        return order_of(self.machine, items(self.memory.runs, np.dtype(np.uint32)).copy(), reads)

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        if self.kept is None:
            for growing in (self.memory.runs, *(one.bytes for one in self.reads.values())):
                self.runtime.release(ctypes.byref(growing))

    def _given(self, array: np.ndarray[Any, Any]) -> CGrowing:
        self.alive.append(array)
        return CGrowing(array.ctypes.data, len(array), len(array), 0)
