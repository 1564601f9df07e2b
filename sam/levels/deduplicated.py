"""Fibers whose duplicates are joined as they are scanned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sam.levels.base import INDEX, Arrays, Fibers, Ints, Stored, Touches


@dataclass(frozen=True, eq=False)
class Deduplicated(Fibers):
    """Fibers whose duplicates are joined on the fly; the first of them stands for them all.

    A duplicate takes a step, but gives no coordinate.

    ``begins``, ``ends``  of the fiber of each parent; the fiber of a group has the children of all
    ``coordinates``       one per position; -1 for a duplicate
    ``keys``              one per position, of duplicates too
    ``segmented``         whether begins and ends are read from memory
    """

    begins: Stored
    ends: Stored
    coordinates: Stored
    keys: Stored
    segmented: bool

    def arrays(self) -> Arrays:
        arrays = {"crd": (INDEX, len(self.coordinates))}
        return {"seg": (INDEX, len(self.begins) + 1), **arrays} if self.segmented else arrays

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", parent, self.segmented), ("seg", parent + 1, self.segmented))

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", step, True),)

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.begins[parent], self.ends[parent]

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def key(self, parent: int, step: int) -> int:
        return self.keys[step]


def joined(
    begins: Ints, ends: Ints, coordinates: Ints, group_ends: Ints | None, segmented: bool
) -> tuple[Fibers, Ints | None]:
    """The fibers of groups of parents without duplicates, and the ends of the groups in them."""
    heads = np.ones(len(begins), bool)
    if group_ends is not None:
        heads[1:] = group_ends[:-1] <= np.arange(1, len(begins))
        ends = ends[group_ends - 1]
    new = np.ones(len(coordinates) + 1, bool)
    new[1:-1] = coordinates[1:] != coordinates[:-1]
    new[begins[heads]] = True
    starts = np.flatnonzero(new)
    new = new[:-1]
    once = np.where(new, coordinates, -1)
    joined = Deduplicated(begins, ends, once, coordinates, segmented)
    return joined, None if new.all() else starts[np.cumsum(new)]
