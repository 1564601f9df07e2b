"""Run-length levels: runs of coordinates that follow each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from custard.to_c.levels.base import LevelFunctions, guarded
from custard.to_c.levels.iterators import Iterator, sought_position
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import (
    INT,
    ONE,
    ZERO,
    Assign,
    Body,
    Declare,
    Expr,
    For,
    If,
    Stmt,
    Var,
    both,
    cast,
    op,
    select,
)


class RunLength(LevelFunctions):
    """The fiber of a parent is the runs from ``segments[parent]`` to the next one.

    Run r has the positions from ``starts[r]`` to ``starts[r + 1]``, and begins at the coordinate
    ``begins[r]``.
    """

    arrays = ("segments", "starts", "begins")

    def positions(self, parents: Expr) -> Expr:
        return cast(self.array("starts")[cast(self.array("segments")[parents], INT)], INT)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        segments, starts = self.array("segments"), self.array("starts")
        first = guarded(above, cast(segments[above.position], INT), ZERO)
        last = above.position + 1 if above.group_end is None else above.group_end
        end = guarded(above, cast(segments[last], INT), ZERO)
        if above.begin is not None:
            first = above.begin
        return Intervals(self.cursor(), first, end, starts, self.array("begins"))


@dataclass
class Intervals(Iterator):
    """The coordinates of runs, from a first run to before an end, run after run."""

    cursor: Var
    first: Expr
    end: Expr
    starts: Var
    begins: Var

    def __post_init__(self) -> None:
        self.run, self.last = Var(f"{self.cursor.name}_run"), Var(f"{self.cursor.name}_end")
        self.position = self.cursor
        self.alive = self.cursor < self.last
        self.coordinate = cast(self.begins[self.run], INT) + (
            self.cursor - cast(self.starts[self.run], INT)
        )

    @property
    def mark(self) -> Expr | None:
        return self.run

    def length(self) -> Expr | None:
        return cast(self.starts[self.end], INT) - cast(self.starts[self.first], INT)

    def begin(self) -> list[Stmt]:
        declared: list[Stmt] = [Declare(self.last, cast(self.starts[self.end], INT), const=True)]
        start = cast(self.starts[self.run], INT)
        if self.low is None:
            return [*declared, Declare(self.run, self.first), Declare(self.cursor, start)]
        # The coordinate lies in the last run that begins before it, or behind that run.
        behind = sought_position(self.begins, self.first, self.end, self.low)
        far = self.low - cast(self.begins[self.run], INT)
        size = cast(self.starts[self.run + 1], INT) - start
        ahead = Assign(self.cursor, select(op("<", far, size), far, size), "+")
        return [
            *declared,
            Declare(self.run, behind),
            If([(op(">", self.run, self.first), [Assign(self.run, ONE, "-")])]),
            Declare(self.cursor, start),
            If([(both(self.alive, op(">", far, ZERO)), [ahead])]),
            self._to_a_run(),
        ]

    def _to_a_run(self) -> Stmt:
        """Goes on to the run in which the cursor lies."""
        done = self.cursor.eq(cast(self.starts[self.run + 1], INT))
        return If([(both(self.alive, done), [Assign(self.run, ONE, "+")])])

    def advance(self, condition: Expr) -> list[Stmt]:
        return [Assign(self.cursor, cast(condition, INT), "+"), self._to_a_run()]

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        """A loop over the runs, and one over the coordinates of each inside."""
        inside = [Declare(variable, self.coordinate), *body()]
        start, end = (cast(self.starts[at], INT) for at in (self.run, self.run + 1))
        return [For(self.run, self.first, self.end, [For(self.cursor, start, end, inside)])]
