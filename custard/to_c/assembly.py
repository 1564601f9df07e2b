"""A tensor that a kernel assembles (formats paper, Section 4.4): its arrays, and room for them.

Full levels are inserted into. All others are appended to, in the order of their coordinates: level
after level, each such level, or chain of branchless levels that hang on it, counts its own
positions. A coordinate is appended after the entries below it, and only if there are some.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from custard.language.formats import LEVEL_FORMATS
from custard.to_c.builder import KernelBuilder, exists, resized
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ONE,
    ZERO,
    Assign,
    Call,
    Const,
    Declare,
    Expr,
    Field,
    For,
    Function,
    If,
    Op,
    Param,
    Require,
    Stmt,
    Type,
    Var,
    array,
    both,
    cast,
    either,
    op,
)
from custard.to_c.values import c_type, number
from sam.arithmetic import ValueType


@dataclass(frozen=True)
class _LevelGroup:
    """Levels ``first`` to ``last`` that are appended to together.

    ``count``        the positions so far, which ``capacity`` bounds
    ``segments``     of the first level
    ``coordinates``  by level
    """

    first: int
    last: int
    count: Var
    capacity: Field
    segments: Field
    coordinates: Mapping[int, Field]


# The first capacity where the number of values is unknown.
_LEAST = 1024


class Assembly:
    """The storage of a tensor that is assembled, in the fields of a parameter.

    ``made``        the statements that allocate its arrays; ``room_first`` must hold behind them
    ``partial``     the variables whose loops may pass over some coordinates
    ``zeroed``      whether the loops that write to it zero it themselves
    ``zeroing``     the loop that sets all values to zero first, if one does
    ``extents``     the variables whose extents are known, with these
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        levels: str,
        variables: Sequence[str],
        dtype: ValueType,
        index: Type,
        expected: Expr,
        counted: Callable[[Sequence[str]], Expr | None] = lambda variables: None,
        extents: Mapping[str, int] | None = None,
    ) -> None:
        self.builder, self.name, self.levels = builder, name, levels
        self.variables, self.dtype, self.index = tuple(variables), dtype, index
        self.extents = extents or {}
        self.units = self._units()
        values = array(c_type(dtype))
        self.values: Expr = (
            Field(name, "values", values) if self.units else builder.stored(name, "values", values)
        )
        self.functions = [self._grow(n) for n in range(len(self.units))]
        self.partial: set[str] = set()
        self.zeroed = False
        self.zeroing: For | None = None
        self.made: list[Stmt] = []
        self.room_first: list[Expr] = []
        self._prologue(expected, counted)
        builder.prologue += self.made
        builder.required += self.room_first

    def fields(self) -> list[tuple[str, Type]]:
        """The members of the parameter."""
        found = [(f"size{level}", INT) for level in range(len(self.levels))]
        for unit in self.units:
            members = (unit.segments, *unit.coordinates.values(), unit.capacity)
            found += [(member.name, member.type) for member in members]
        return [*found, ("values", self.values.type)]

    def arrays(self) -> list[Field]:
        """The members that the kernel gives memory to."""
        found = [f for unit in self.units for f in (unit.segments, *unit.coordinates.values())]
        return [*found, self.values] if isinstance(self.values, Field) else found

    def _units(self) -> list[_LevelGroup]:
        units = []
        level = 0
        while level < len(self.levels):
            if not LEVEL_FORMATS[self.levels[level]].full:
                first = level
                while level + 1 < len(self.levels) and self._hangs(level + 1):
                    level += 1
                units.append(self._unit(first, level))
            level += 1
        return units

    def _hangs(self, level: int) -> bool:
        return LEVEL_FORMATS[self.levels[level]].branchless

    def _unit(self, first: int, last: int) -> _LevelGroup:
        indices = array(self.index)
        return _LevelGroup(
            first,
            last,
            Var(self.builder.fresh(f"{self.name}_count{last}")),
            Field(self.name, f"capacity{last}"),
            Field(self.name, f"segments{first}", indices),
            {n: Field(self.name, f"coordinates{n}", indices) for n in range(first, last + 1)},
        )

    def _prologue(self, expected: Expr, counted: Callable[[Sequence[str]], Expr | None]) -> None:
        """Makes the arrays, with room for all coordinates of the outer variables that are
        ``counted``; else the innermost level may get ``expected`` positions, the others some."""
        body = self.made
        body += [Assign(member, Const(None, member.type)) for member in self.arrays()]
        for n, unit in enumerate(self.units):
            body += [Declare(unit.count, ZERO), Assign(unit.capacity, ZERO)]
            if n == 0:
                self.room_first.append(exists(unit.segments))
            last = unit.last + 1 == len(self.levels)
            count = counted(self.variables[: unit.last + 1]) or (expected if last else ONE)
            self.room_first.append(self.grow(n, count))

    def _grow(self, n: int) -> Function:
        """The function that makes room for more positions of a unit."""
        unit, had = self.units[n], Var("had")
        most = Op("largest32" if self.index == INT32 else "largest", (), INT)
        if n + 1 < len(self.units):
            below = self.units[n + 1]
            array: Expr = below.segments
            block = self.block(unit.last + 1, below.first, times)
            old, new = had * block + 1, times(unit.capacity, block) + 1
            zeroed = True
        else:
            array = self.values
            block = self.block(unit.last + 1, len(self.levels), times)
            old, new, zeroed = had * block, times(unit.capacity, block), block != ONE
        need = Var("need")
        least = Const(_LEAST) if block == ONE else Const(1) + op("/", Const(_LEAST), block + 1)
        body: list[Stmt] = [
            Declare(had, unit.capacity, const=True),
            Assign(unit.capacity, Call("grown", (had, need, least, most))),
            *(resized(crd, had, unit.capacity) for crd in unit.coordinates.values()),
            resized(array, old, new, zeroed),
        ]
        says = both(*map(exists, (*unit.coordinates.values(), array)))
        about = f"Makes room for `need` positions in level {unit.last} of {self.name}."
        name = self.builder.fresh(f"grow_{self.name}{unit.last}")
        return Function(name, about, self.name, (need,), body, says)

    def grow(self, n: int, need: Expr) -> Expr:
        """Makes room for ``need`` positions; false if there is no memory."""
        return Call(self.functions[n].name, (Param(self.name), need), BOOL)

    def room(self, n: int) -> Stmt:
        """Requires room for one more position of a unit."""
        unit = self.units[n]
        return Require(either(op("<", unit.count, unit.capacity), self.grow(n, unit.count + 1)))

    def reserve(self, n: int, more: Expr) -> list[Stmt]:
        """Requires room for more positions of a unit."""
        unit, need = self.units[n], Var(self.builder.fresh(f"{self.name}_need"))
        enough = either(op("<=", need, unit.capacity), self.grow(n, need))
        return [Declare(need, unit.count + more, const=True), Require(enough)]

    def block(
        self, first: int, last: int, times: Callable[[Expr, Expr], Expr] = operator.mul
    ) -> Expr:
        """The number of positions that full levels ``first`` to ``last - 1`` have for a parent."""
        block: Expr = ONE
        for level in range(first, last):
            block = times(block, self.size(level))
        return block

    def size(self, level: int) -> Expr:
        """The extent of a level's mode."""
        if self.variables[level] in self.extents:
            return Const(self.extents[self.variables[level]])
        return Field(self.name, f"size{level}")

    def unit_of(self, variable: str, last: bool) -> int | None:
        """The unit whose first, or last, variable is ``variable``."""
        for n, unit in enumerate(self.units):
            if self.variables[unit.last if last else unit.first] == variable:
                return n
        return None

    def position(self, level: int, bound: Mapping[str, Expr]) -> Expr:
        """The position in a level, -1 being the root, at bound coordinates."""
        if level < 0:
            return ZERO
        for unit in self.units:
            if unit.last == level:
                return unit.count
        return self.position(level - 1, bound) * self.size(level) + bound[self.variables[level]]

    def append(self, n: int, bound: Mapping[str, Expr]) -> list[Stmt]:
        """Appends the coordinates of a unit."""
        unit = self.units[n]
        return [
            *(
                Assign(crd[unit.count], cast(bound[self.variables[level]], self.index))
                for level, crd in unit.coordinates.items()
            ),
            Assign(unit.count, ONE, "+"),
        ]

    def finish(self) -> None:
        """Completes fibers that loops passed over: those of the variables in ``partial``."""
        if not self.units and self.partial and not self.zeroed:
            p = Var(self.builder.fresh("p"))
            zero = Assign(self.values[p], number(0, self.dtype))
            self.zeroing = For(p, ZERO, self.block(0, len(self.levels)), [zero])
        first = 0
        for n, unit in enumerate(self.units):
            passed_over = bool(self.partial & set(self.variables[first : unit.first]))
            if n == 0:
                self.make_first_segments(unit, passed_over or unit.first == 0)
            if passed_over:
                parents = self.block(first, unit.first)
                if n:
                    parents = self.units[n - 1].count * parents
                self.builder.epilogue.append(self._filled(unit.segments, ZERO, parents))
            first = unit.last + 1

    def make_first_segments(self, unit: _LevelGroup, zeroed: bool) -> None:
        """Makes the segments of the first unit, zeroed if the loops do not write all of them."""
        parents = self.block(0, unit.first, times)
        self.builder.prologue.append(resized(unit.segments, ZERO, parents + 1, zeroed))
        if not zeroed:
            zero = Assign(unit.segments[ZERO], cast(ZERO, self.index))
            self.builder.epilogue.append(zero)

    def completed(self, parents: tuple[Expr, Expr]) -> list[Stmt]:
        """Statements that complete all fibers which loops may have passed over, of a range of the
        parents of the first unit."""
        found: list[Stmt] = []
        for n, unit in enumerate(self.units):
            if n:
                above = self.units[n - 1]
                parents = ZERO, above.count * self.block(above.last + 1, unit.first)
            found.append(self._filled(unit.segments, *parents))
        return found

    def _filled(self, segments: Expr, begin: Expr, end: Expr) -> Stmt:
        """Gives an empty fiber to the parents that were passed over."""
        p = Var(self.builder.fresh("p"))
        behind = op("<", segments[p + 1], segments[p])
        return For(p, begin, end, [If([(behind, [Assign(segments[p + 1], segments[p])])])])


def times(left: Expr, right: Expr) -> Expr:
    """The product of two counts, checked for overflow in C, as it is a size of memory."""
    return left * right if ONE in (left, right) else Call("times", (left, right))
