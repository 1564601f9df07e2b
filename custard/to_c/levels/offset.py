"""Offset levels: the coordinate above, shifted."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Counted, Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, ZERO, Expr, Op, both, cast


class Offset(LevelFunctions):
    """The coordinate above, shifted by the offset of the position two levels above."""

    arrays = ("offsets",)

    def limits(self, above: Place) -> tuple[Expr, Expr] | None:
        shift = cast(self.array("offsets")[above.position], INT)
        return Op("-", (shift,), INT), self.size - shift

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        shift = cast(self.array("offsets")[above.positions[-2]], INT)
        coordinate = above.coordinates[-1] + shift
        cursor = self.cursor()
        inside = both(coordinate >= ZERO, coordinate < self.size)
        valid = None if above.clipped else inside
        first = above.position
        end = guarded(above, first + 1, first)
        single = above.present is None
        return Counted(cursor, first, end, coordinate, cursor, valid, single)
