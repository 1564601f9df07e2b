"""Range levels: a contiguous range of coordinates for each parent."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Counted, Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, ZERO, Expr, cast


class Range(LevelFunctions):
    """Positions as in a dense level; the coordinates from ``begins[parent]`` to ``ends``."""

    arrays = ("begins", "ends")

    def positions(self, parents: Expr) -> Expr:
        return parents * self.size

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        cursor = self.cursor()
        begin = cast(self.array("begins")[above.position], INT)
        end = cast(self.array("ends")[above.position], INT)
        position = above.position * self.size + cursor
        first, last = guarded(above, begin, ZERO), guarded(above, end, ZERO)
        return Counted(cursor, first, last, cursor, position)
