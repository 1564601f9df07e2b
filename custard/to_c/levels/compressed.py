"""Compressed levels."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, guarded, listed
from custard.to_c.levels.iterators import Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, ZERO, Call, Expr, cast


class Compressed(LevelFunctions):
    """The fiber of a parent is the positions from ``segments[parent]`` to the next one."""

    arrays = ("segments", "coordinates")

    def positions(self, parents: Expr) -> Expr:
        return cast(self.array("segments")[parents], INT)

    def coordinate(self, position: Expr) -> Expr:
        return cast(self.array("coordinates")[position], INT)

    def parent(self, position: Expr, first: Expr, end: Expr) -> Expr:
        segments = self.array("segments")
        arguments = (segments, first, end, position)
        return Call(f"parent_{self.index}", arguments, INT)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        segments, crd = self.array("segments"), self.array("coordinates")
        first = cast(segments[above.position], INT)
        last = above.position + 1 if above.group_end is None else above.group_end
        end = cast(segments[last], INT)
        first, end = guarded(above, first, ZERO), guarded(above, end, ZERO)
        return listed(self, crd, first, end, above, unique)
