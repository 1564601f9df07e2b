"""Outputs of a loop nest: a number, or a tensor that it assembles.

An ``Output`` follows the loops: it is asked for statements before and behind the loop over each
of its variables (``begin``, ``end``), and at the begin and the end of each round (``enter``,
``leave``).

A tensor is assembled as in the formats paper, Section 4.4. Full levels are inserted into. All
others are appended to, in the order of their coordinates: level after level, each such level, or
chain of branchless levels that hang on it, counts its own positions. A coordinate is appended
after what lies below it, and only if something does.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from custard.language.formats import LEVEL_FORMATS
from custard.to_c.builder import Builder, exists, resized
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ONE,
    TRUE,
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
from custard.to_c.values import adding, c_type, number
from sam.arithmetic import ValueType

if TYPE_CHECKING:
    from custard.to_c.derived_loops import Positions


@dataclass(frozen=True)
class Region:
    """Coordinates: ``begin``, and each ``step`` further on, below ``end``."""

    begin: Expr
    end: Expr
    step: Expr = ONE


@dataclass(frozen=True)
class Part:
    """A variable that a loop goes through, within a region; None for all of it."""

    name: str
    region: Callable[[Output], Region] | None = None


@dataclass(frozen=True, kw_only=True)
class Output(ABC):
    """The destination of values.

    ``bound``    the loop variables that are bound, with their coordinates
    ``pending``  for loops that have begun, the variables that they still have to go through
    ``kept``     the positions that levels of operands, by key and level, are to keep to
    ``positions``  the positions that loops go over, by loop, as far as they are found
    ``threaded``  whether the loops are inside of one that is shared out to threads
    """

    dtype: ValueType
    bound: Mapping[str, Expr] = field(default_factory=dict)
    pending: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    kept: Mapping[tuple[int, int], tuple[Expr, Expr]] = field(default_factory=dict)
    positions: Mapping[str, Positions] = field(default_factory=dict)
    threaded: bool = False

    def inside(self, other: Output) -> Output:
        """This output inside of the loops of another one."""
        return replace(
            self,
            bound=other.bound,
            pending=other.pending,
            kept=other.kept,
            positions=other.positions,
            threaded=other.threaded,
        )

    @property
    def done(self) -> set[str]:
        """The variables and loops that are bound."""
        return {*self.bound, *(loop for loop, left in self.pending.items() if not left)}

    def bind(self, variable: str, coordinate: Expr) -> Output:
        """The output one loop further in."""
        return replace(self, bound={**self.bound, variable: coordinate})

    @property
    def appended(self) -> Sequence[str]:
        """The variables that must be bound in this order, with increasing coordinates."""
        return ()

    @property
    def sparse(self) -> bool:
        """Whether the output knows which values have been written."""
        return False

    def takes(self, variables: Sequence[str]) -> bool:
        """Whether values may be added to in any order of these variables, the rest being bound."""
        return True

    def begin(self, variable: str) -> list[Stmt]:
        """Statements before the loop over a variable."""
        return []

    def end(self, variable: str) -> list[Stmt]:
        """Statements behind the loop over a variable."""
        return []

    def enter(self, variable: str) -> list[Stmt]:
        """The first statements in each round over a variable, which is bound."""
        return []

    def leave(self, variable: str) -> list[Stmt]:
        """The last statements in each round over a variable, which is bound."""
        return []

    def reserve(self, variable: str, most: Expr) -> tuple[Output, list[Stmt]]:
        """The output with room for so many values in the loop over a variable, the last one."""
        return self, []

    @property
    def adds(self) -> bool:
        """Whether writing a value adds it to the one that is stored."""
        return True

    def accumulating(self) -> Output:
        """The output that adds values to the stored ones."""
        return self

    def skips(self, variables: Iterable[str]) -> None:
        """Notes that loops may pass over some coordinates of these variables."""
        return

    @abstractmethod
    def write(self, value: Expr) -> list[Stmt]:
        """Writes a value, once all variables are bound."""


@dataclass(frozen=True, kw_only=True)
class ScalarOutput(Output):
    """A number that values are added to; the first one sets ``flag``."""

    var: Var
    flag: Var | None = None

    def write(self, value: Expr) -> list[Stmt]:
        add = Assign(self.var, value, adding(self.dtype))
        return [add] if self.flag is None else [add, Assign(self.flag, TRUE)]


@dataclass(frozen=True)
class _Unit:
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


# The values that there is room for at first, where nothing is known of their number.
_LEAST = 1024


class Assembly:
    """The storage of a tensor that is assembled, in the fields of a parameter.

    ``made``        the statements that make its arrays; ``room_first`` must hold behind them
    """

    def __init__(
        self,
        builder: Builder,
        name: str,
        levels: str,
        variables: Sequence[str],
        dtype: ValueType,
        index: Type,
        expected: Expr,
        counted: Callable[[Sequence[str]], Expr | None] = lambda variables: None,
    ) -> None:
        self.builder, self.name, self.levels = builder, name, levels
        self.variables, self.dtype, self.index = tuple(variables), dtype, index
        self.units = self._units()
        values = array(c_type(dtype))
        self.values: Expr = (
            Field(name, "values", values) if self.units else builder.stored(name, "values", values)
        )
        self.functions = [self._grow(n) for n in range(len(self.units))]
        self.partial: set[str] = set()
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

    def _units(self) -> list[_Unit]:
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

    def _unit(self, first: int, last: int) -> _Unit:
        indices = array(self.index)
        return _Unit(
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
        """Makes room for so many positions; false if there is none."""
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
        return Field(self.name, f"size{level}")

    def unit_of(self, variable: str, last: bool) -> int | None:
        """The unit whose first, or last, variable this is."""
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
        if not self.units and self.partial:
            p = Var(self.builder.fresh("p"))
            zero = Assign(self.values[p], number(0, self.dtype))
            self.builder.prologue.append(For(p, ZERO, self.block(0, len(self.levels)), [zero]))
        first = 0
        for n, unit in enumerate(self.units):
            passed_over = bool(self.partial & set(self.variables[first : unit.first]))
            if n == 0:
                self.make_first_segments(unit, passed_over or unit.first == 0)
            if passed_over:
                parents = self.block(first, unit.first)
                if n:
                    parents = self.units[n - 1].count * parents
                self.builder.epilogue.append(self._filled(unit.segments, parents))
            first = unit.last + 1

    def make_first_segments(self, unit: _Unit, zeroed: bool) -> None:
        """Makes the segments of the first unit, zero if the loops do not write all of them."""
        parents = self.block(0, unit.first, times)
        self.builder.prologue.append(resized(unit.segments, ZERO, parents + 1, zeroed))
        if not zeroed:
            zero = Assign(unit.segments[ZERO], cast(ZERO, self.index))
            self.builder.epilogue.append(zero)

    def completed(self) -> list[Stmt]:
        """Statements that complete all fibers which loops may have passed over."""
        found: list[Stmt] = []
        first = 0
        for n, unit in enumerate(self.units):
            parents = self.block(first, unit.first)
            if n:
                parents = self.units[n - 1].count * parents
            found.append(self._filled(unit.segments, parents))
            first = unit.last + 1
        return found

    def _filled(self, segments: Expr, parents: Expr) -> Stmt:
        """Gives the parents that were passed over an empty fiber."""
        p = Var(self.builder.fresh("p"))
        behind = op("<", segments[p + 1], segments[p])
        return For(p, ZERO, parents, [If([(behind, [Assign(segments[p + 1], segments[p])])])])


def times(left: Expr, right: Expr) -> Expr:
    """The product of two counts, checked for overflow in C, as it is a size of memory."""
    return left * right if ONE in (left, right) else Call("times", (left, right))


@dataclass(frozen=True, kw_only=True)
class TensorOutput(Output):
    """A tensor that is assembled.

    ``accumulate``  values are added to the stored ones
    ``drop_zeros``  values that are 0 are left out where levels are appended to
    ``reserved``    there is room for all values
    ``values``      a copy that values are added to instead of the tensor's own array
    """

    assembly: Assembly
    accumulate: bool = False
    drop_zeros: bool = False
    reserved: bool = False
    values: Expr | None = None

    @cached_property
    def appended(self) -> Sequence[str]:
        units = self.assembly.units
        return self.assembly.variables[: units[-1].last + 1] if units else ()

    @property
    def sparse(self) -> bool:
        return bool(self.assembly.units)

    @property
    def adds(self) -> bool:
        return self.accumulate

    def accumulating(self) -> Output:
        self.skips(self.assembly.variables)
        return replace(self, accumulate=True)

    def skips(self, variables: Iterable[str]) -> None:
        self.assembly.partial |= {*variables} & {*self.assembly.variables}

    def takes(self, variables: Sequence[str]) -> bool:
        return not set(variables) & set(self.appended)

    def end(self, variable: str) -> list[Stmt]:
        n = self.assembly.unit_of(variable, last=False)
        if n is None:
            return []
        unit = self.assembly.units[n]
        parent = self.assembly.position(unit.first - 1, self.bound)
        return [Assign(unit.segments[parent + 1], cast(unit.count, self.assembly.index))]

    def _start(self, n: int) -> Var:
        return Var(f"{self.assembly.units[n].count.name}_before")

    def enter(self, variable: str) -> list[Stmt]:
        n = self.assembly.unit_of(variable, last=True)
        if n is None or self._is_leaf(n):
            return []
        grow = [self.assembly.room(n)]
        if n + 1 == len(self.assembly.units):
            return grow
        return [*grow, Declare(self._start(n + 1), self.assembly.units[n + 1].count, const=True)]

    def leave(self, variable: str) -> list[Stmt]:
        n = self.assembly.unit_of(variable, last=True)
        if n is None or self._is_leaf(n):
            return []
        append = self.assembly.append(n, self.bound)
        if n + 1 == len(self.assembly.units):
            return append
        more = op(">", self.assembly.units[n + 1].count, self._start(n + 1))
        return [If([(more, append)])]

    def _is_leaf(self, n: int) -> bool:
        return self.assembly.units[n].last + 1 == len(self.assembly.levels)

    def reserve(self, variable: str, most: Expr) -> tuple[Output, list[Stmt]]:
        n = len(self.assembly.units) - 1
        if n < 0 or not self._is_leaf(n) or self.assembly.unit_of(variable, last=True) != n:
            return self, []
        return replace(self, reserved=True), self.assembly.reserve(n, most)

    def write(self, value: Expr) -> list[Stmt]:
        assembly = self.assembly
        if assembly.units and self._is_leaf(len(assembly.units) - 1):
            n = len(assembly.units) - 1
            place = assembly.values[assembly.units[n].count]
            write = [Assign(place, value), *assembly.append(n, self.bound)]
            if not self.reserved:
                write.insert(0, assembly.room(n))
            if not self.drop_zeros:
                return write
            return [If([(op("!=", value, number(0, self.dtype)), write)])]
        values = assembly.values if self.values is None else self.values
        place = values[assembly.position(len(assembly.levels) - 1, self.bound)]
        return [Assign(place, value, adding(self.dtype) if self.accumulate else "")]
