"""Dense levels."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Counted, Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import ZERO, Expr, op


class Dense(LevelFunctions):
    """Positions are numbered parent by parent, as many as the extent for each."""

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        cursor = self.cursor()
        end = guarded(above, self.size, ZERO)
        return Counted(cursor, ZERO, end, cursor, self.at(above, cursor))

    def positions(self, parents: Expr) -> Expr:
        return parents * self.size

    def coordinate(self, position: Expr) -> Expr:
        return position % self.size

    def parent(self, position: Expr, first: Expr, end: Expr) -> Expr:
        return op("/", position, self.size)

    def at(self, above: Place, coordinate: Expr) -> Expr:
        """The position of a coordinate."""
        return above.position * self.size + coordinate

    def locate(self, above: Place, coordinate: Expr) -> Place:
        return above.below(self.at(above, coordinate), coordinate)
