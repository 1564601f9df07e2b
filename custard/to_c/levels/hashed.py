"""Hashed levels."""

from __future__ import annotations

from collections.abc import Callable

from custard.to_c.builder import KernelBuilder
from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Counted, Iterator
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import (
    INT,
    ONE,
    ZERO,
    Body,
    Call,
    Declare,
    Expr,
    Op,
    Stmt,
    Type,
    Var,
    array,
    cast,
)


class Hashed(LevelFunctions):
    """A table of ``width`` buckets per parent; -1 where one is empty."""

    numbers = ("width",)
    arrays = ("coordinates",)

    def __init__(
        self, code: str, tensor: str, level: int, index: Type, names: KernelBuilder
    ) -> None:
        super().__init__(code, tensor, level, index, names)
        self.scratches: dict[int, Var] = {}
        self.counts: dict[Var, Expr] = {}

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        crd, width = self.array("coordinates"), self.number("width")
        first = above.position * width
        cursor = self.cursor()
        if ordered:
            begin = above.begin if owner in self.scratches else None
            sorted_ = self.scratch(owner, width)
            return _Sorted(self, cursor, sorted_, crd, first, above, begin)
        end = guarded(above, first + width, first)
        found = cast(crd[cursor], INT)
        table = Counted(cursor, first, end, found, cursor, found >= ZERO, increasing=False)
        table.ordered = False
        return table

    def positions(self, parents: Expr) -> Expr:
        return parents * self.number("width")

    def scratch(self, owner: int, width: Expr) -> Var:
        """The array in which an operand's buckets are sorted."""
        if owner not in self.scratches:
            name = f"{self.tensor}{self.level}_sorted"
            self.scratches[owner] = self.names.scratch(name, array(INT), width)
        return self.scratches[owner]

    def locate(self, above: Place, coordinate: Expr) -> Place:
        crd, width = self.array("coordinates"), self.number("width")
        arguments = (crd, width, above.position, coordinate)
        position: Expr = Call(f"locate_hashed_{self.index}", arguments)
        return above.below(guarded(above, position, Op("-", (ONE,), INT)), coordinate)


class _Sorted(Counted):
    """The buckets of a hash table that are in use, sorted into a scratch array.

    ``begin``  the place in that array to begin at, if the fiber is sorted already
    """

    def __init__(
        self,
        level: Hashed,
        cursor: Var,
        sorted_: Var,
        crd: Var,
        first: Expr,
        above: Place,
        begin: Expr | None,
    ) -> None:
        rank = Var(f"{cursor.name}_rank")
        bucket = sorted_[rank]
        self.width = guarded(above, level.number("width"), ZERO)
        self.sort: list[Stmt] = []
        if begin is None:
            call = Call(f"sort_buckets_{level.index}", (crd, first, self.width, sorted_))
            count = Var(f"{cursor.name}_count")
            level.counts[sorted_] = count
            self.sort = [Declare(count, call, const=True)]
        end = level.counts[sorted_]
        if begin is not None:
            end = guarded(above, end, ZERO)
        super().__init__(
            rank, ZERO if begin is None else begin, end, cast(crd[bucket], INT), bucket
        )

    def length(self) -> Expr | None:
        return self.width

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        return [*self.sort, *super().loop(variable, body)]

    def begin(self) -> list[Stmt]:
        return [*self.sort, *super().begin()]
