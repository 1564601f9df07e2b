"""Singleton levels."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, listed
from custard.to_c.levels.iterators import Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, Expr, cast, select


class Singleton(LevelFunctions):
    """A coordinate per parent, at the parent's position."""

    arrays = ("coordinates",)

    def coordinate(self, position: Expr) -> Expr:
        return cast(self.array("coordinates")[position], INT)

    def parent(self, position: Expr, first: Expr, end: Expr) -> Expr:
        return position

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        crd = self.array("coordinates")
        first = above.position
        end = above.position + 1 if above.group_end is None else above.group_end
        if above.present is not None:
            end = select(above.present, end, first)
        return listed(self, crd, first, end, above, unique)
