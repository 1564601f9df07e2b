"""Dense results that threads write by rows, where a row may be cut between two threads.

Threads that share out a fused loop go through it in order: each has a range of it, and so a range
of the outermost variable, its rows (or whatever the result has in that level). The next thread
begins where it ends. So of the rows that a thread adds to, only the first may have been begun by
earlier threads. The first row gets an array of its own, which is added to the result once those
threads are done; all others are written in place. Unless earlier loops have written to the result,
a thread zeroes its rows as it comes to them, and rows that no thread comes to are zeroed when the
next one is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custard.scheduling.loops import LoopNest
from custard.to_c.builder import exists, resized
from custard.to_c.loop_ir import (
    INT,
    ZERO,
    Assign,
    Const,
    Declare,
    Expr,
    For,
    If,
    Load,
    Ordered,
    Require,
    Stmt,
    Var,
    array,
    op,
    select,
)
from custard.to_c.outputs import CoordinateRange, TensorOutput
from custard.to_c.values import adding, number
from sam.derivations import Fuse, Rename, Split, parts

_NONE = Const(-1)


@dataclass(frozen=True, kw_only=True)
class RowsOutput(TensorOutput):
    """The dense result of one thread.

    ``level``  the level of the rows
    ``row``    the first row that the thread goes through, -1 before
    ``own``    its array for this row
    ``clean``  rows before this one are zero or written; None where all are
    ``others``  the same number for all threads that are done, by a pointer
    ``to``, ``at``  in a round over the rows, the array and the position that it adds to
    """

    level: int
    row: Var
    own: Var
    to: Var
    at: Var
    clean: Var | None = None
    others: Var | None = None

    def reach(self, variable: str, region: CoordinateRange) -> list[Stmt]:
        if variable != self.rows:
            return []
        begun: list[Stmt] = [Assign(self.row, region.begin)]
        cleaned: list[Stmt] = []
        if self.clean is not None:
            begun.append(Assign(self.clean, region.begin + 1))
            cleaned = self.cleaned(self.clean, region.end)
        body = [If([(op("<", self.row, ZERO), begun)]), *cleaned]
        return [If([(op("<", region.begin, region.end), body)])]

    def cleaned(self, clean: Expr, end: Expr) -> list[Stmt]:
        """Zeroes the rows from the first one that is not clean to the one before ``end``."""
        count = self.assembly.block(self.level + 1, len(self.assembly.levels))
        p = Var(self.assembly.builder.fresh("p"))
        above = self.assembly.position(self.level, {**self.bound, self.rows: ZERO})
        place = self.assembly.values[above * count + p]
        zero = For(p, clean * count, end * count, [Assign(place, number(0, self.dtype))])
        return [If([(op("<", clean, end), [zero, Assign(clean, end)])])]

    @property
    def rows(self) -> str:
        """The variable of the rows."""
        return self.assembly.variables[self.level]

    def enter(self, variable: str) -> list[Stmt]:
        if variable != self.rows:
            return super().enter(variable)
        is_first = op("==", self.bound[variable], self.row)
        place = self.assembly.position(self.level, self.bound)
        return [
            Declare(self.to, select(is_first, self.own, self.assembly.values)),
            Declare(self.at, select(is_first, ZERO, place), const=True),
        ]

    def write(self, value: Expr) -> list[Stmt]:
        assembly = self.assembly
        place: Expr = self.at
        for level in range(self.level + 1, len(assembly.levels)):
            place = place * assembly.size(level) + self.bound[assembly.variables[level]]
        return [Assign(self.to[place], value, adding(self.dtype))]

    def first(self) -> list[Stmt]:
        """The statements before all loops of the thread."""
        count = self.assembly.block(self.level + 1, len(self.assembly.levels))
        made = resized(self.own, ZERO, count, zeroed=True)
        clean = [] if self.clean is None else [Declare(self.clean, ZERO)]
        return [made, Require(exists(self.own)), Declare(self.row, _NONE), *clean]

    def last(self) -> list[Stmt]:
        """The statements behind them."""
        assembly = self.assembly
        count = assembly.block(self.level + 1, len(assembly.levels))
        row = {**self.bound, self.rows: self.row}
        begin, p = Var(assembly.builder.fresh("begin")), Var(assembly.builder.fresh("p"))
        place = assembly.values[begin + p]
        add = For(p, ZERO, count, [Assign(place, self.own[p], adding(self.dtype))])
        declared = Declare(begin, assembly.position(self.level, row) * count, const=True)
        body: list[Stmt] = [declared, add]
        if self.clean is not None:
            assert self.others is not None
            done = Load(self.others, ZERO)
            further = If([(op("<", done, self.clean), [Assign(done, self.clean)])])
            body = [*self.cleaned(done, self.row + 1), *body, further]
        return [Ordered([If([(op(">=", self.row, ZERO), body)])])]

    def behind(self, done: Expr) -> list[Stmt]:
        """The statements behind all threads: they zero rows that no thread came to."""
        return [] if self.clean is None else self.cleaned(done, self.assembly.size(self.level))


def rows_of(nest: LoopNest, order: Sequence[str], output: TensorOutput) -> RowsOutput | None:
    """The output of a thread that gets a range of the first loop; None where its rows are not known
    to be a range of their own."""
    variable = _outermost(nest, order)
    variables = output.assembly.variables
    if variable not in variables or output.appended:
        return None
    level = variables.index(variable)
    if not {*variables[:level]} <= {*output.bound}:
        return None
    builder, assembly = output.assembly.builder, output.assembly
    values = assembly.values.type
    own, to = (Var(builder.fresh(f"{assembly.name}_{name}"), values) for name in ("own", "to"))
    row, at = (Var(builder.fresh(f"{assembly.name}_{name}"), INT) for name in ("row", "at"))
    builder.heap.append(own)
    clean = others = None
    if output.alone and not output.bound:
        assembly.zeroed = True
        clean = Var(builder.fresh(f"{assembly.name}_clean"), INT)
        others = Var(builder.fresh(f"{assembly.name}_out"), array(INT))
    known = {**output.__dict__, "accumulate": True}
    known.pop("appended", None)
    return RowsOutput(
        **known, level=level, row=row, own=own, to=to, at=at, clean=clean, others=others
    )


def _outermost(nest: LoopNest, order: Sequence[str]) -> str | None:
    """The outermost variable of a fused loop, whole or split in the first two loops; else None."""
    name, primes = parts(order[0])
    made = nest.made(name)
    if isinstance(made, Split):
        if name != made.outer or list(order[1:2]) != [made.inner + primes]:
            return None
        made = nest.made(made.variable)
    fused = False
    while isinstance(made, Rename | Fuse):
        fused |= isinstance(made, Fuse)
        name = made.sources[0]
        made = nest.made(name)
    return name + primes if fused and made is None else None
