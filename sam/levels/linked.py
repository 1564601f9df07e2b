"""Levels of linked lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sam.levels.base import (
    INDEX,
    Arrays,
    Entries,
    Fibers,
    Ints,
    Level,
    Stored,
    Touches,
    check_range,
    distinct,
)
from sam.levels.compressed import Compressed
from sam.support.errors import UserError


@dataclass(frozen=True, eq=False)
class Linked(Level):
    """The coordinates that occur, a linked list for each parent (SAM paper, Section 6.5).

    A node is a position, and can be appended to any list at any time.

    ``heads``        the first node of each parent's list; -1 where it is empty
    ``nexts``        the node behind each in its list; -1 where it is the last
    ``coordinates``  one per node, strictly increasing along each list
    """

    code = "l"
    name = "linked list"
    iterates_positions = appends = appends_anywhere = True

    heads: Stored
    nexts: Stored
    coordinates: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        first, position_of_entry = distinct(entries.parent, entries.coordinate)
        level = cls.of(entries.parent[first], entries.coordinate[first], entries.parents)
        return level, position_of_entry

    @classmethod
    def of(cls, parents_of_nodes: Ints, coordinates: Ints, parents: int) -> Linked:
        """The level whose nodes have been appended to the lists of some parents, in turn."""
        nodes = np.argsort(parents_of_nodes, kind="stable")
        new = np.ones(len(nodes), bool)
        new[1:] = np.diff(parents_of_nodes[nodes]) != 0
        heads, nexts = np.full(parents, -1), np.full(len(nodes), -1)
        heads[parents_of_nodes[nodes[new]]] = nodes[new]
        nexts[nodes[:-1][~new[1:]]] = nodes[1:][~new[1:]]
        return cls(heads, nexts, coordinates)

    def _followed(self) -> Followed:
        """The nodes along the lists, one list after the other."""
        heads, nexts = (np.asarray(a).tolist() for a in (self.heads, self.nexts))
        segments = [0]
        nodes: list[int] = []
        for node in heads:
            while node >= 0 and len(nodes) <= len(nexts):
                nodes.append(node)
                node = nexts[node]
            segments.append(len(nodes))
        along = np.array(nodes, np.int64)
        return Followed(np.array(segments), np.asarray(self.coordinates)[along], along)

    def fiber(self, parent: int) -> tuple[int, int]:
        return self._followed().fiber(parent)

    def coordinate(self, parent: int, step: int) -> int:
        return self._followed().coordinate(parent, step)

    def position(self, parent: int, step: int) -> int:
        return self._followed().position(parent, step)

    def scanned(self, group_ends: Ints | None = None) -> tuple[Fibers, Ints | None]:
        super().scanned(group_ends)
        return self._followed(), None

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        along = self._followed()
        lengths = np.diff(along.segments)
        parents = np.empty(len(self.coordinates), np.int64)
        parents[along.nodes] = np.repeat(np.arange(len(lengths)), lengths)
        return parents[positions], np.asarray(self.coordinates)[positions]

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        heads, nexts = np.asarray(self.heads), np.asarray(self.nexts)
        count = len(self.coordinates)
        if len(heads) != parents or len(nexts) != count:
            raise UserError(
                f"it has {len(heads)} heads for {parents} parents, and {len(nexts)} nexts for "
                f"{count} coordinates"
            )
        follow = np.concatenate((heads, nexts))
        followed = follow[follow != -1]
        if not np.array_equal(np.sort(followed), np.arange(count)):
            raise UserError(f"its {count} nodes do not each lie once in one list")
        check_range(np.asarray(self.coordinates), size)
        along = self._followed()
        if len(along.nodes) != count:
            raise UserError("one of its lists is a circle")
        Compressed(along.segments, along.coordinates).validate(parents, size)


@dataclass(frozen=True, eq=False)
class Followed(Fibers):
    """Linked lists as they are gone along, node after node.

    ``segments``     the steps along the list of parent p are ``segments[p]:segments[p + 1]``
    ``coordinates``  the coordinate at each step
    ``nodes``        the node at each step
    """

    chained = True

    segments: Stored
    coordinates: Stored
    nodes: Stored

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, len(self.segments) - 1), "crd": (INDEX, 2 * len(self.nodes))}

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", parent, True),)

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        return (("crd", 2 * self.nodes[step], True), ("crd", 2 * self.nodes[step] + 1, True))

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.segments[parent], self.segments[parent + 1]

    def coordinate(self, parent: int, step: int) -> int:
        return self.coordinates[step]

    def position(self, parent: int, step: int) -> int:
        return self.nodes[step]
