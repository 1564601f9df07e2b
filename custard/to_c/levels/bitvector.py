"""Bitvector levels."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Bits, Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, ZERO, Expr, cast, op
from sam.levels import WORD_BITS


class Bitvector(LevelFunctions):
    """A bit per coordinate; the positions are those of the ones, counted by ``ranks``."""

    arrays = ("words", "ranks")

    def words(self) -> Expr:
        """The number of words of a fiber."""
        return op("/", self.size + (WORD_BITS - 1), WORD_BITS)

    def positions(self, parents: Expr) -> Expr:
        return cast(self.array("ranks")[parents * self.words()], INT)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        width = self.words()
        first = guarded(above, above.position * width, ZERO)
        count = guarded(above, width, ZERO)
        name = self.cursor().name
        return Bits(name, self.array("words"), self.array("ranks"), first, count)
