"""The outputs of a loop nest: a number, or a tensor that it assembles (``assembly``).

An ``Output`` follows the loops: it is asked for statements before and behind the loop over each
of its variables (``begin``, ``end``), and at the begin and the end of each round (``enter``,
``leave``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from custard.to_c.assembly import Assembly
from custard.to_c.loop_ir import (
    ONE,
    TRUE,
    Assign,
    Declare,
    Expr,
    If,
    Stmt,
    Var,
    cast,
    op,
)
from custard.to_c.values import adding, number
from sam.arithmetic import ValueType

if TYPE_CHECKING:
    from custard.to_c.derived_loops import LoopPositions


@dataclass(frozen=True)
class CoordinateRange:
    """Coordinates: ``begin``, and each ``step`` further on, below ``end``."""

    begin: Expr
    end: Expr
    step: Expr = ONE


@dataclass(frozen=True)
class RangedVariable:
    """A variable that a loop goes through, within a region; None for all of it.

    ``cut``  the number of the range that cuts it: it is cut only at the first and the last values
             of the loops above that were fused with it
    """

    name: str
    region: Callable[[Output], CoordinateRange] | None = None
    cut: int | None = None


@dataclass(frozen=True)
class KeptPositions:
    """Positions that a level keeps to, from ``first`` to below ``end``; ``cut`` is the number of
    the range that they come from."""

    first: Expr
    end: Expr
    cut: int


@dataclass(frozen=True, kw_only=True)
class Output(ABC):
    """The destination of values.

    ``bound``    the loop variables that are bound, with their coordinates
    ``pending``  by loop that has begun, the variables that it still has to go through
    ``kept``     the positions that levels of operands, by key and level, are to keep to
    ``positions``  the positions that loops go over, by loop, once they are found
    ``threaded``  whether the loops are inside of a loop that is shared out to threads
    """

    dtype: ValueType
    bound: Mapping[str, Expr] = field(default_factory=dict)
    pending: Mapping[str, tuple[RangedVariable, ...]] = field(default_factory=dict)
    kept: Mapping[tuple[int, int], KeptPositions] = field(default_factory=dict)
    positions: Mapping[str, LoopPositions] = field(default_factory=dict)
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
        """Whether the output records which values have been written."""
        return False

    def takes(self, variables: Sequence[str]) -> bool:
        """Whether values may be added in any order of these variables, the others being bound."""
        return True

    def begin(self, variable: str) -> list[Stmt]:
        """Statements before the loop over a variable."""
        return []

    def end(self, variable: str) -> list[Stmt]:
        """Statements behind the loop over a variable."""
        return []

    def reach(self, variable: str, region: CoordinateRange, summed: bool = False) -> list[Stmt]:
        """Statements before the part of the loop over a variable that goes through a range.

        ``summed``  whether the rounds between the first and the last one write whole sums to the
                    output that ``between`` gives
        """
        return []

    def between(self, variable: str) -> Output:
        """The output for the rounds of such a part between the first and the last one: the same,
        or one whose places are written by no other rounds, with the whole sum."""
        return self

    def enter(self, variable: str) -> list[Stmt]:
        """The first statements in each round over a variable, which is bound."""
        return []

    def leave(self, variable: str) -> list[Stmt]:
        """The last statements in each round over a variable, which is bound."""
        return []

    def reserve(self, variable: str, most: Expr) -> tuple[Output, list[Stmt]]:
        """The output with room for ``most`` values in the loop over a variable, the last one."""
        return self, []

    @property
    def adds(self) -> bool:
        """Whether writing a value adds it to the one that is stored."""
        return True

    def accumulating(self) -> Output:
        """The output that adds values to the stored ones."""
        return self

    def summing(self) -> Output:
        """The output that adds up values, each of which is a sum."""
        return self.accumulating()

    def complete(self, variables: Sequence[str]) -> Output | None:
        """The output for values to add, once loops over these variables have written all places;
        None where there is none."""
        return None

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

    def complete(self, variables: Sequence[str]) -> Output | None:
        return self

    def write(self, value: Expr) -> list[Stmt]:
        add = Assign(self.var, value, adding(self.dtype))
        return [add] if self.flag is None else [add, Assign(self.flag, TRUE)]


@dataclass(frozen=True, kw_only=True)
class TensorOutput(Output):
    """A tensor that is assembled.

    ``accumulate``  values are added to the stored ones
    ``alone``       no other loops write to it
    ``drop_zeros``  values that are 0 are left out where levels are appended to
    ``reserved``    there is room for all values
    ``values``      a copy that values are added to instead of the tensor's own array
    ``whole``       all places have values already
    """

    assembly: Assembly
    accumulate: bool = False
    alone: bool = False
    drop_zeros: bool = False
    reserved: bool = False
    values: Expr | None = None
    whole: bool = False

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
        return replace(self, accumulate=True, alone=False)

    def summing(self) -> Output:
        self.skips(self.assembly.variables)
        return replace(self, accumulate=True, alone=not self.accumulate)

    def complete(self, variables: Sequence[str]) -> Output | None:
        return (
            None
            if self.sparse
            else replace(self, accumulate=True, alone=False, whole=not self.accumulate)
        )

    def skips(self, variables: Iterable[str]) -> None:
        if self.whole:
            return
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
