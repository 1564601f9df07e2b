"""Results filled in two passes, where the loops visit rows in another order than stored.

``X(j,i) = A(i,j)``, both stored by rows, goes through A as it is stored, and finds the coordinates
of each row of X one by one, with coordinates of other rows in between. The first pass counts the
coordinates of each row; the prefix sums tell where each row begins. The second pass appends
coordinates and values to their rows, in which they come in order.

This works for results whose outer levels are dense and whose last level is compressed, where loops
find no coordinate twice: there are no sums over variables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from custard.ir import cin
from custard.language.formats import LEVEL_FORMATS, are_full
from custard.to_c.assembly import Assembly, times
from custard.to_c.builder import KernelBuilder
from custard.to_c.loop_ir import (
    INT,
    INT32,
    ONE,
    ZERO,
    Assign,
    Body,
    Declare,
    Expr,
    For,
    If,
    Op,
    Require,
    Stmt,
    Var,
    array,
    cast,
    either,
    op,
)
from custard.to_c.outputs import Output
from custard.to_c.values import number
from custard.to_c.walks import reads, substituted


def is_scattered(program: cin.LoopProgram, levels: str) -> bool:
    """Whether loops in another order may fill a result that is stored in some levels."""
    if len(levels) < 2 or not are_full(levels[:-1]):
        return False
    last = LEVEL_FORMATS[levels[-1]]
    sums = any(isinstance(node, cin.Reduce) for node in cin.walk(program.value))
    return last.unique and not (last.full or last.branchless or sums)


@dataclass(frozen=True, kw_only=True)
class _Rows(Output):
    """A pass over the loops; both passes derive from it.

    ``drop_zeros``  values that are 0 are left out
    """

    assembly: Assembly
    drop_zeros: bool

    @property
    def appended(self) -> Sequence[str]:
        return self.assembly.variables[-1:]

    @property
    def sparse(self) -> bool:
        return True

    @property
    def adds(self) -> bool:
        return False

    def takes(self, variables: Sequence[str]) -> bool:
        return False

    def write(self, value: Expr) -> list[Stmt]:
        row = self.assembly.position(self.assembly.units[0].first - 1, self.bound)
        found = self.found(row, value)
        if not self.drop_zeros:
            return found
        return [If([(op("!=", value, number(0, self.dtype)), found)])]

    @abstractmethod
    def found(self, row: Expr, value: Expr) -> list[Stmt]:
        """The statements for a value of a row."""


@dataclass(frozen=True, kw_only=True)
class RowCounts(_Rows):
    """Counts the values of each row."""

    def found(self, row: Expr, value: Expr) -> list[Stmt]:
        segments = self.assembly.units[0].segments
        return [Assign(segments[row + 1], cast(ONE, self.assembly.index), "+")]


@dataclass(frozen=True, kw_only=True)
class Filled(_Rows):
    """Appends each value to its row; ``ends`` has the end of each row so far."""

    ends: Var

    def found(self, row: Expr, value: Expr) -> list[Stmt]:
        assembly, unit = self.assembly, self.assembly.units[0]
        place = Var(assembly.builder.fresh(f"p{assembly.name}"))
        coordinate = cast(self.bound[assembly.variables[-1]], assembly.index)
        return [
            Declare(place, cast(self.ends[row], INT), const=True),
            Assign(assembly.values[place], value),
            Assign(unit.coordinates[unit.last][place], coordinate),
            Assign(self.ends[row], cast(ONE, assembly.index), "+"),
        ]


def ends_of_rows(builder: KernelBuilder, assembly: Assembly) -> tuple[Var, list[Stmt]]:
    """An array for the counts and then the begins of rows, and the statements between the passes:
    they sum up the counts and make room for all values."""
    unit, index = assembly.units[0], assembly.index
    rows = assembly.block(0, unit.first)
    assembly.make_first_segments(unit, zeroed=True)
    most = assembly.block(0, unit.first, times)
    ends = builder.scratch(f"{assembly.name}_ends", array(index), most, zeroed=False)
    p = Var(builder.fresh("p"))
    summed = [
        Assign(unit.count, cast(unit.segments[p + 1], INT), "+"),
        Assign(unit.segments[p + 1], cast(unit.count, index)),
    ]
    room = either(op("<=", unit.count, unit.capacity), assembly.grow(0, unit.count))
    if index == INT32:  # a row of more coordinates cannot be counted in 32 bits
        largest = Op("largest32", (), INT)
        builder.required.append(op("<=", assembly.size(unit.last), largest))
    return ends, [
        For(p, ZERO, rows, summed),
        Require(room),
        For(p, ZERO, rows, [Assign(ends[p], unit.segments[p])]),
    ]


def with_joined_loops(body: Body) -> list[Stmt]:
    """The loops, with pairs joined to one where the outer loop does nothing but run an inner loop
    that goes on from round to round: such are loops over the fibers of a level that only count, or
    add up values."""
    return [
        _joined(replace(one, body=with_joined_loops(one.body))) if isinstance(one, For) else one
        for one in body
    ]


def _joined(loop: For) -> For:
    used = [one for one in loop.body
            if not isinstance(one, Declare) or reads(loop.body, one.var)]  # fmt: skip
    match used:
        case [For(_, begin, end, body, None) as inner]:
            following = substituted(begin, loop.var, loop.var + 1)
            plain = loop.next is None and loop.step == inner.step == ONE
            if plain and following == end and not reads(body, loop.var):
                first, last = (substituted(begin, loop.var, v) for v in (loop.begin, loop.end))
                return replace(inner, begin=first, end=last, increasing=False)
    return loop
