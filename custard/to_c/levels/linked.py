"""Levels of linked lists."""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Iterator, Links
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, ONE, Expr, Op, cast


class Linked(LevelFunctions):
    """A list of nodes per parent: from ``heads[parent]``, each with its next one."""

    arrays = ("heads", "nexts", "coordinates")

    def positions(self, parents: Expr) -> Expr | None:
        return None

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        head = (
            cast(self.array("heads")[above.position], INT) if above.begin is None else above.begin
        )
        first = guarded(above, head, Op("-", (ONE,), INT))
        return Links(self.cursor(), first, self.array("nexts"), self.array("coordinates"))
