"""The state of the memory hierarchy, laid out for ``hierarchy.c``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.attribution.over_time import bins
from sim.compiled.order import NUMBERS, CompiledOrder, COrder
from sim.compiled.shared_layout import SharedLayout
from sim.memory.hierarchy import COUNTED, Layout, statistics
from sim.stats import MemoryStats


class CLevel(ctypes.Structure):
    """``Level`` in ``hierarchy.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("latency", "cost", "ports", "prompt")),
        *((name, ctypes.c_int64) for name in ("room", "by_use")),
        *((name, ctypes.c_int64) for name in ("held", "peak")),
        *((name, ctypes.c_void_p) for name in ("per_line", "line_shift")),
        *((name, ctypes.c_void_p) for name in ("free", "user", "busy", "before")),
        ("counts", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("held_of", "peak_of", "moved", "where", "lines")),
        *((name, ctypes.c_int32) for name in ("used", "made", "spare")),
    ]


class CRegion(ctypes.Structure):
    """``Region`` in ``hierarchy.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("home", "kept", "entry", "tensor")),
        *((name, ctypes.c_int64) for name in ("length", "grows", "brought")),
        ("sizes", ctypes.c_void_p),
    ]


class CHierarchy(ctypes.Structure):
    """``Hierarchy`` in ``hierarchy.h``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("unit", "shift", "levels", "regions")),
        *((name, ctypes.c_int64) for name in ("over", "evicts")),
        ("level", ctypes.c_void_p),
        ("region", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("link", "links", "order")),
    ]


class CLink(ctypes.Structure):
    """``Link`` in ``hierarchy.h``."""

    _fields_ = [
        ("end", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("level", "waits", "conflict")),
    ]


SHARED_HIERARCHY = SharedLayout(
    {
        "Level": CLevel,
        "Region": CRegion,
        "Hierarchy": CHierarchy,
        "Link": CLink,
        "Order": COrder,
    },
    NUMBERS,
)
"""The structures that ``hierarchy.c`` shares with Python."""


class CompiledHierarchy:
    """A hierarchy's state in C; its counters are those of ``sim.memory.hierarchy.Hierarchy``."""

    def __init__(self, layout: Layout, library: ctypes.CDLL, linked: bool = False) -> None:
        """``linked`` if it keeps the links of each access: the parts of its time."""
        self.layout, self.library = layout, library
        self.kept: list[Any] = []
        levels, tensors, regions = len(layout.ports), len(layout.tensors), len(layout.regions)
        self.counts = np.zeros((levels, tensors, len(COUNTED)), np.int64)
        self.held_of, self.peak_of = np.zeros((2, levels, tensors), np.int64)
        self.busy = [np.zeros(ports, np.int64) for ports in layout.ports]
        self.before = [np.zeros(ports, np.int64) for ports in layout.ports]
        self.moved = [bins() for _ in layout.ports]
        self.levels = (CLevel * levels)(
            *(
                CLevel(
                    latency=layout.latency[n],
                    cost=layout.cost[n],
                    ports=layout.ports[n],
                    prompt=layout.prompt[n],
                    room=-1 if (room := layout.room[n]) is None else room,
                    by_use=layout.by_use[n],
                    per_line=self._array(layout.per_line[n]),
                    line_shift=self._array([*map(logarithm, layout.per_line[n])]),
                    free=self._array([0] * layout.ports[n]),
                    user=self._array([-1] * layout.ports[n]),
                    busy=self.busy[n].ctypes.data,
                    before=self.before[n].ctypes.data,
                    counts=self.counts[n].ctypes.data,
                    held_of=self.held_of[n].ctypes.data,
                    peak_of=self.peak_of[n].ctypes.data,
                    moved=self.moved[n].ctypes.data if linked else None,
                    where=self._array([0] * (2 * regions)),
                )
                for n in range(levels)
            )
        )
        self.regions = (CRegion * regions)(
            *(
                CRegion(
                    home=layout.home[n],
                    kept=layout.kept[n],
                    entry=layout.entry[n],
                    tensor=layout.tensor[n],
                    length=layout.length[n],
                    grows=region.length is None,
                    brought=layout.brought[n],
                    sizes=None if region.sizes is None else self._array(region.sizes),
                )
                for n, region in enumerate(layout.regions)
            )
        )
        unit = layout.unit
        self.hierarchy = CHierarchy(
            unit=unit,
            shift=logarithm(unit),
            levels=levels,
            regions=regions,
            level=ctypes.addressof(self.levels),
            region=ctypes.addressof(self.regions),
            link=self.room_for_links(levels) if linked else None,
            links=self._array([0] * levels),
        )

    def room_for_links(self, rows: int = 1) -> int:
        """The address of room for the links of ``rows`` accesses."""
        room = (CLink * (2 * len(self.layout.ports) * rows))()
        self.kept.append(room)
        return ctypes.addressof(room)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.hierarchy)

    def touch(self, order: CompiledOrder | None) -> int | None:
        """The address of the function that touches an entry, by an order of service if any."""
        if order is not None:
            self.hierarchy.order = ctypes.addressof(order.memory)
        name = "touch" if order is None else order.touch
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value

    @property
    def length(self) -> list[int]:
        return [region.length for region in self.regions]

    @property
    def peak(self) -> list[int]:
        return [level.peak for level in self.levels]

    def finish(self, finished: bool = True) -> dict[str, MemoryStats]:
        """The statistics of the levels, once the last cycle is over.

        What a run that is ``finished`` has changed is written back.
        """
        if finished and not self.library.finish(ctypes.byref(self.hierarchy)):
            raise MemoryError
        return statistics(self.layout, self)

    def close(self) -> None:
        """Gives back the memory that C has taken."""
        self.library.forget(ctypes.byref(self.hierarchy))

    def _array(self, numbers: Sequence[int]) -> int:
        """The address of an array of numbers, which is kept alive."""
        array = np.array(numbers or [0], np.int64)
        self.kept.append(array)
        return array.ctypes.data


def logarithm(number: int) -> int:
    """The logarithm of a power of 2; -1 for any other number."""
    return -1 if number & (number - 1) else number.bit_length() - 1
