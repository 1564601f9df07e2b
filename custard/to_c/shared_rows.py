"""Dense results that threads write by rows, where a row may be cut between two shares.

Threads that share out a fused loop go through it by shares: each has a range of it, and so a range
of the outermost variable, its rows (or whatever the result has in that level). The next share
begins where it ends. So of the rows that a share adds to, only the first may have been begun by
earlier shares. The first row gets an array of its own, which is added to the result once all
threads are done, in the order of the shares; all others are written in place. Unless earlier loops
have written to the result, a share zeroes its rows as it comes to them, and rows that no share
comes to are zeroed in the end.

Threads take the shares in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from custard.scheduling.loops import LoopNest
from custard.to_c.assembly import times
from custard.to_c.builder import THREADS, exists, resized
from custard.to_c.loop_ir import (
    INT,
    ONE,
    ZERO,
    Assign,
    Const,
    Declare,
    Expr,
    For,
    If,
    Op,
    Require,
    Stmt,
    Type,
    Var,
    array,
    both,
    op,
    select,
)
from custard.to_c.outputs import CoordinateRange, Output, TensorOutput
from custard.to_c.turns import Turns, several
from custard.to_c.values import adding, number
from sam.derivations import Fuse, Rename, Split, parts

_NONE = Const(-1)
# How many shares a thread gets at most, and of how many rows each at least: the arrays of first
# rows take a part of the memory of the result then.
_SHARES, _ROWS = Const(16), 4


@dataclass(frozen=True, kw_only=True)
class RowsOutput(TensorOutput):
    """The dense result of one share.

    ``level``  the level of the rows, each of ``row_size`` values
    ``share``  the number of the share, of ``shares``
    ``firsts``, ``starts``, ``ends``  by share, the array for its first row, the number of this row
               (-1 without rows), and the row before which rows are zero or written (0 without)
    ``row``, ``own``, ``clean``  those of this share; ``clean`` and ``ends`` are None where all rows
               have values
    ``to``, ``at``  in a round over the rows, the array and the position that it adds to
    """

    level: int
    row_size: Expr
    share: Var
    shares: Var
    firsts: Var
    starts: Var
    ends: Var | None
    row: Var
    own: Var
    clean: Var | None
    to: Var
    at: Var

    def reach(self, variable: str, region: CoordinateRange, summed: bool = False) -> list[Stmt]:
        if variable != self.rows:
            return []
        p = Var(self.assembly.builder.fresh("p"))
        zero = Assign(self.own[p], number(0, self.dtype))
        begun: list[Stmt] = [Assign(self.row, region.begin), For(p, ZERO, self.row_size, [zero])]
        cleaned: list[Stmt] = []
        if self.clean is not None:
            begun.append(Assign(self.clean, region.begin + 1))
            if summed and not self.assembly.partial & {*self.assembly.variables}:
                # All rows between the first and the last one are written.
                cleaned = self.cleaned(self.clean, region.begin + 1)
                last = region.end - 1
                cleaned.append(If([(self.clean < last, [Assign(self.clean, last)])]))
            cleaned += self.cleaned(self.clean, region.end)
        body = [If([(op("<", self.row, ZERO), begun)]), *cleaned]
        return [If([(op("<", region.begin, region.end), body)])]

    def cleaned(self, clean: Expr, end: Expr) -> list[Stmt]:
        """Zeroes the rows from the first one that is not clean to the one before ``end``."""
        count = self.row_size
        p = Var(self.assembly.builder.fresh("p"))
        above = self.assembly.position(self.level, {**self.bound, self.rows: ZERO})
        place = self.assembly.values[above * count + p]
        zero = For(p, clean * count, end * count, [Assign(place, number(0, self.dtype))])
        return [If([(op("<", clean, end), [zero, Assign(clean, end)])])]

    @property
    def rows(self) -> str:
        """The variable of the rows."""
        return self.assembly.variables[self.level]

    def between(self, variable: str) -> Output:
        if variable != self.rows:
            return self
        plain = TensorOutput(**{one.name: getattr(self, one.name) for one in fields(TensorOutput)})
        if self.clean is None:
            return plain
        # From here on, it has the variables that these rounds pass over.
        self.assembly.partial.clear()
        return replace(plain, accumulate=False, alone=False)

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

    def before(self) -> list[Stmt]:
        """The statements before all threads, which make the arrays."""
        arrays = [self.firsts, self.starts, *([] if self.ends is None else [self.ends])]
        sizes = [times(self.shares, self.row_size), self.shares, self.shares]
        made = [resized(var, ZERO, n) for var, n in zip(arrays, sizes, strict=False)]
        return [*made, Require(both(*map(exists, arrays)))]

    def most_shares(self) -> Expr:
        """How many shares there are at most: one for one thread, else so many that the result has
        enough rows for all."""
        most = op("/", self.assembly.size(self.level), THREADS * _ROWS)
        return several(ONE, _SHARES, most)

    def first(self) -> list[Stmt]:
        """The statements of a share before all of its loops."""
        own = Op("+", (self.firsts, self.share * self.row_size), self.firsts.type)
        clean = [] if self.clean is None else [Declare(self.clean, ZERO)]
        return [Declare(self.own, own), Declare(self.row, _NONE), *clean]

    def last(self) -> list[Stmt]:
        """The statements behind them."""
        found: list[Stmt] = [Assign(self.starts[self.share], self.row)]
        if self.clean is not None and self.ends is not None:
            found.append(Assign(self.ends[self.share], self.clean))
        return found

    def behind(self) -> list[Stmt]:
        """The statements behind all threads: they add the first rows, and zero rows that no share
        came to."""
        assembly, count = self.assembly, self.row_size
        n, begin, p = (Var(assembly.builder.fresh(name)) for name in ("n", "begin", "p"))
        row = Var(assembly.builder.fresh(f"{assembly.name}_row"))
        place, own = assembly.values[begin + p], self.firsts[n * count + p]
        at = assembly.position(self.level, {**self.bound, self.rows: row})
        add = For(p, ZERO, count, [Assign(place, own, adding(self.dtype))])
        body: list[Stmt] = [Declare(begin, at * count, const=True), add]
        before: list[Stmt] = []
        rest: list[Stmt] = []
        if self.ends is not None:
            done = Var(assembly.builder.fresh(f"{assembly.name}_done"))
            before = [Declare(done, ZERO)]
            further = If([(op("<", done, self.ends[n]), [Assign(done, self.ends[n])])])
            body = [*self.cleaned(done, row + 1), *body, further]
            rest = self.cleaned(done, assembly.size(self.level))
        round_ = [
            Declare(row, self.starts[n], const=True),
            If([(op(">=", row, ZERO), body)]),
        ]
        return [*before, For(n, ZERO, self.shares, round_), *rest]


def rows_of(
    nest: LoopNest,
    order: Sequence[str],
    output: TensorOutput,
    turns: Turns,
    number: Callable[[str, Expr], Expr],
) -> RowsOutput | None:
    """The output of a share that gets a range of the first loop; None where its rows are not known
    to be a range of their own. ``number`` declares a number before all threads."""
    variable = _outermost(nest, order)
    variables = output.assembly.variables
    if variable not in variables or output.appended:
        return None
    level = variables.index(variable)
    if not {*variables[:level]} <= {*output.bound}:
        return None
    builder, assembly = output.assembly.builder, output.assembly

    def var(name: str, type: Type = INT) -> Var:
        return Var(builder.fresh(f"{assembly.name}_{name}"), type)

    values, numbers = assembly.values.type, array(INT)
    partial = output.alone and not output.bound
    assembly.zeroed |= partial
    known = {**output.__dict__, "accumulate": True}
    known.pop("appended", None)
    found = RowsOutput(
        **known,
        level=level,
        row_size=number(
            f"{assembly.name}_row_size", assembly.block(level + 1, len(assembly.levels))
        ),
        share=turns.share,
        shares=turns.count,
        firsts=var("firsts", values),
        starts=var("starts", numbers),
        ends=var("ends", numbers) if partial else None,
        row=var("row"),
        own=var("own", values),
        clean=var("clean") if partial else None,
        to=var("to", values),
        at=var("at"),
    )
    builder.outer += [found.firsts, found.starts, *([] if found.ends is None else [found.ends])]
    return found


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
