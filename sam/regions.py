"""Regions of memory: the arrays of tensors, of which steps say the entries that they touch.

A level tells which arrays it has and which entries of them a step touches (``sam.levels``). Here
these arrays get names, so that a simulator can put each where it lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sam.graph import Slot
from sam.levels import INDEX, Fibers

VALUE = "value"
"""What an entry of the values is; its bytes are those of the tensor's type, or the machine's."""

PARTS = ("seg", "crd", "val", "tile")


@dataclass(frozen=True, eq=False)
class Region:
    """An array of a tensor in memory.

    ``tensor``    the user's name for the tensor
    ``level``     the level of storage that it belongs to; None for values
    ``part``      seg: where fibers begin and end; crd: coordinates; val: values; tile: tiles, of
                  which each is an entry
    ``unit``      what an entry is: ``INDEX``, ``WORD`` or ``VALUE``
    ``length``    its entries; None where they are being written
    ``itemsize``  the bytes of a value in the tensor's type
    ``sizes``     the bytes of each entry, where they differ. To read such an entry is to have it
                  brought to the level that keeps it; no more than that is moved
    ``kept_in``   the innermost level of memory that keeps entries of it; None for the machine's
    """

    tensor: str
    level: int | None
    part: str
    unit: str = INDEX
    length: int | None = None
    itemsize: int = 0
    sizes: Sequence[int] | None = None
    kept_in: str | None = None


class Regions(dict[str, Region]):
    """What a block touches, by part; empty where memory is ideal."""


class RegionTable:
    """The regions of all tensors of a graph, each made once."""

    def __init__(self, slots: Iterable[Slot] = (), result: Slot | None = None) -> None:
        self.tensors = {slot.name: slot.tensor for slot in slots}
        self.result = None if result is None else result.tensor
        self.made: dict[Any, Region] = {}

    def of_level(self, slot: str, level: int, fibers: Fibers) -> Regions:
        """The arrays of a level of an input."""
        tensor = self.tensors[slot]
        if tensor is None:
            return Regions()
        return Regions(
            {
                part: self.add((slot, level, part), Region(tensor, level, part, unit, length))
                for part, (unit, length) in fibers.arrays().items()
            }
        )

    def of_values(self, slot: str, length: int, itemsize: int) -> Regions:
        """The values of an input; a number of the program is in no memory."""
        tensor = self.tensors[slot]
        if tensor is None:
            return Regions()
        region = Region(tensor, None, "val", VALUE, length, itemsize)
        return Regions(val=self.add((slot, None, "val"), region))

    def of_tiles(
        self, slot: str, level: int, sizes: Sequence[int], kept_in: str | None
    ) -> Region | None:
        """The tiles of an input that references from a level point to; of a number, there is none.

        What else there is of the tensor in the level that keeps its tiles is in them, and takes no
        room beside them.
        """
        tensor = self.tensors[slot]
        if tensor is None:
            return None
        region = Region(tensor, level, "tile", length=len(sizes), sizes=sizes, kept_in=kept_in)
        return self.add((slot, level, "tile", kept_in), region)

    def of_result(self, level: int | None, units: Mapping[str, str], itemsize: int = 0) -> Regions:
        """The arrays of a level, or the values, of the result, by part what an entry is."""
        if self.result is None:
            return Regions()
        return Regions(
            {
                part: self.add(
                    (None, level, part), Region(self.result, level, part, unit, None, itemsize)
                )
                for part, unit in units.items()
            }
        )

    def add(self, key: Any, region: Region) -> Region:
        """The region of a key, which is made where there is none."""
        return self.made.setdefault(key, region)


def asks_memory(memory: Any) -> bool:
    """Whether a block with such a memory has regions that it touches."""
    parts = getattr(memory, "__dict__", {}).values()
    return any(part for part in parts if isinstance(part, Region | Regions))
