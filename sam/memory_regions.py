"""Regions of memory: the arrays of tensors, of which steps say the entries that they touch.

A level tells which arrays it has and which entries of them a step touches (``sam.levels``). Here
these arrays get names, so that a simulator can put each where it lives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sam.graph import Slot
from sam.levels import INDEX, Fibers
from sam.tensor import Tensor

VALUE = "value"
"""The unit of values; its bytes are those of the tensor's type, or the machine's."""

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
    ``sizes``     the bytes of each entry, where they differ. Reading such an entry brings it to the
                  level that keeps it, and moves nothing else
    ``lives_in``  the level of memory that tiles come from; None for the outermost
    ``kept_in``   the innermost level of memory that keeps entries of it; None for the machine's
    """

    tensor: str
    level: int | None
    part: str
    unit: str = INDEX
    length: int | None = None
    itemsize: int = 0
    sizes: Sequence[int] | None = None
    lives_in: str | None = None
    kept_in: str | None = None


class Regions(dict[str, Region]):
    """The regions that a block touches, by part; empty where memory is ideal."""


class RegionTable:
    """The regions of all tensors of a graph, each made once.

    Tensors that come in tiles are read where the tiles are brought to: of the slots that are
    ``tiled`` only the tiles are touched. All other arrays are kept no further in than ``kept_in``,
    if that is not None. ``entry_bytes`` gives the bytes of a unit, or of a value of some size.
    """

    def __init__(
        self,
        slots: Iterable[Slot],
        result: Slot | None,
        entry_bytes: Callable[[str, int], int],
        tiled: Collection[str] = (),
        kept_in: str | None = None,
    ) -> None:
        self.tensors = {slot.name: slot.tensor for slot in slots}
        self.result = None if result is None else result.tensor
        self.tiled, self.kept_in, self.entry_bytes = tiled, kept_in, entry_bytes
        self.made: dict[Any, Region] = {}

    def of_level(self, slot: str, level: int, fibers: Fibers) -> Regions:
        """The arrays of a level of an input."""
        tensor = self.tensors[slot]
        if tensor is None or slot in self.tiled:
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
        if tensor is None or slot in self.tiled:
            return Regions()
        region = Region(tensor, None, "val", VALUE, length, itemsize)
        return Regions(val=self.add((slot, None, "val"), region))

    def of_tiles(
        self,
        slot: str,
        level: int,
        sizes: Sequence[int],
        kept_in: str | None,
        lives_in: str | None,
    ) -> Region | None:
        """The tiles of an input that references into a level point to; of a number, there is none.

        In the level that keeps its tiles, the other arrays of the tensor are part of the tiles and
        take no room of their own.
        """
        tensor = self.tensors[slot]
        if tensor is None:
            return None
        region = Region(
            tensor,
            level,
            "tile",
            length=len(sizes),
            sizes=sizes,
            lives_in=lives_in,
            kept_in=kept_in,
        )
        return self.add((slot, level, "tile", kept_in), region)

    def of_result(self, level: int | None, units: Mapping[str, str], itemsize: int = 0) -> Regions:
        """The arrays of a level of the result, or its values; each part with its unit."""
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
        if region.kept_in is None:
            region = replace(region, kept_in=self.kept_in)
        return self.made.setdefault(key, region)


def tile_sizes(tensor: Tensor, level: int, entry_bytes: Callable[[str, int], int]) -> list[int]:
    """The bytes of a tensor below each position above a level: of all arrays from that level on.

    Coordinates are divided by the positions of their level, unless all parents have equally many;
    so are the ends of fibers, of which each tile has one more where segments share their ends.
    """
    parents = 1
    for outer in tensor.levels[:level]:
        parents = outer.positions(parents)
    owner = np.arange(parents)
    sizes = np.zeros(parents, np.int64)
    for here in tensor.levels[level:]:
        positions = here.positions(len(owner))
        owner_of_child = owner[here.trace(np.arange(positions))[0]]
        for part, (unit, length) in here.arrays().items():
            cut = owner_of_child if part == "crd" and length == positions else owner
            each, more = divmod(length, max(1, len(cut)))
            entries = each * np.bincount(cut, minlength=parents) + (more > 0)
            sizes += entry_bytes(unit, 0) * entries
        owner = owner_of_child
    values = tensor.values
    sizes += entry_bytes(VALUE, values.itemsize) * np.bincount(owner, minlength=parents)
    found: list[int] = sizes.tolist()
    return found


def asks_in_turn(memory: Any) -> bool:
    """Whether a block with such a memory must wait for one request before it makes the next."""
    return getattr(getattr(memory, "level", None), "chained", False)


def asks_memory(memory: Any) -> bool:
    """Whether a block with such a memory touches regions."""
    parts = getattr(memory, "__dict__", {}).values()
    return any(part for part in parts if isinstance(part, Region | Regions))
