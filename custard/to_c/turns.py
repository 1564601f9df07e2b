"""Shares of a loop that threads take in turn, each as it comes to it.

There are more shares than threads, as equal parts of a loop may take unequal time. Which thread
takes which share does not change the result: what a share writes is its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from custard.to_c.builder import THREADS, KernelBuilder, exists
from custard.to_c.loop_ir import (
    INT,
    ONE,
    ZERO,
    Assign,
    Body,
    Call,
    Declare,
    Expr,
    Require,
    Stmt,
    Type,
    Var,
    While,
    op,
    select,
)


@dataclass(frozen=True)
class Turns:
    """The shares of a loop over ``extent`` values.

    ``share``   the number of the one at hand, of ``count``, which is ``most`` at most
    ``each``    how many values each has, but for the last
    ``state``   the struct that tells which are taken
    """

    extent: Expr
    share: Var
    count: Var
    each: Var
    most: Var
    state: Var

    @classmethod
    def of(cls, builder: KernelBuilder, name: str, extent: Expr) -> Turns:
        """The shares of the loop of a name."""
        share = Var(builder.fresh("share"))
        count, each, most = (
            Var(builder.fresh(f"{name}_{of}")) for of in ("shares", "each", "most")
        )
        return cls(extent, share, count, each, most, Var(builder.fresh("shared"), TURNS))

    def dealt(self, most: Expr) -> list[Stmt]:
        """Statements before the threads, which set up ``most`` shares or less."""
        extent, each, bound = self.extent, self.each, self.most
        needed = op("/", extent + (bound - 1), bound)
        return [
            Declare(bound, most, const=True),
            Declare(each, select(extent > ZERO, needed, ONE), const=True),
            Declare(self.count, op("/", extent + (each - 1), each), const=True),
            Assign(self.state, Call("turns_new", (self.state, self.count), TURNS)),
            Require(exists(self.state)),
        ]

    def limits(self, share: Expr) -> tuple[Expr, Expr]:
        """The first value of a share, and the one behind its last."""
        end = (share + 1) * self.each
        return share * self.each, select(end < self.extent, end, self.extent)

    def rounds(self, body: Body) -> list[Stmt]:
        """The shares that a thread takes."""
        taken = Call("next_turn", (self.state,), INT)
        return [
            Declare(self.share, taken),
            While(self.share < self.count, [*body, Assign(self.share, taken)]),
        ]


TURNS = Type("struct turns", pointer=True)


def several(least: Expr, most: Expr, some: Expr) -> Expr:
    """A number of shares: one for one thread, else ``some`` for each thread, but from ``least`` to
    ``most``."""
    found = select(some < most, select(some > least, some, least), most)
    return THREADS * select(THREADS > ONE, found, ONE)
