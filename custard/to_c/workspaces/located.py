"""Workspaces that are filled once, and then located in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from custard.to_c.assembly import times
from custard.to_c.builder import KernelBuilder
from custard.to_c.dense_sums import ZeroedArray
from custard.to_c.levels import Counted, Iterator, LevelFunctions, Place
from custard.to_c.levels.dense import Dense
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    ONE,
    TRUE,
    ZERO,
    Assign,
    Declare,
    Expr,
    For,
    If,
    Op,
    Stmt,
    Var,
    array,
    select,
)
from custard.to_c.values import adding, number
from custard.to_c.workspaces.base import Workspace
from sam.arithmetic import ValueType


class LocatedWorkspace(Workspace):
    """A vector that is filled once: its values, and whether each is set; coordinates are located.

    If nothing else goes through its dimension, the set coordinates are listed. Over several
    variables, it is a vector of rows that are set as a whole; if all rows are full, it is an array.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        variables: Sequence[str],
        extents: Sequence[Expr],
        dtype: ValueType,
        full: bool = False,
    ) -> None:
        super().__init__(builder, name, variables, extents, dtype)
        self.levels = ("d" if full else "s") + "d" * (len(self.variables) - 1)
        size = reduce(times, extents)
        self.values = builder.scratch(f"{name}_values", array(self.c_type), size, zeroed=not full)
        p = Var(builder.fresh("p"))
        zero = For(p, ZERO, size, [Assign(self.values[p], number(0, dtype))])
        # An array without gaps is set to zero by a loop, which tiles can do without.
        self.zeroed = ZeroedArray(zero, extents, lambda: extents) if full else None
        self.set = None if full else builder.scratch(f"{name}_set", array(BOOL), extents[0])
        self.list: Var | None = None
        self.count = Var(builder.fresh(f"{name}_count"))
        self.cursor = Var(builder.fresh(f"p_{name}"))

    def insert(self, bound: Mapping[str, Expr], value: Expr) -> list[Stmt]:
        place = at = bound[self.variables[0]]
        for variable, extent in zip(self.variables[1:], self.extents[1:], strict=True):
            place = place * extent + bound[variable]
        mark = [] if self.set is None else [Assign(self.set[at], TRUE)]
        return [Assign(self.values[place], value, adding(self.dtype)), *mark]

    def listed(self) -> Var:
        """The coordinates that are set, which ``ready`` lists."""
        if self.list is None:
            size = self.extents[0]
            self.list = self.builder.scratch(f"{self.name}_list", array(INT), size, zeroed=False)
        return self.list

    def ready(self) -> list[Stmt]:
        if self.list is None or self.set is None:
            return []
        p = Var(self.builder.fresh("p"))
        append = [Assign(self.list[self.count], p), Assign(self.count, ONE, "+")]
        return [
            Declare(self.count, ZERO),
            For(p, ZERO, self.extents[0], [If([(self.set[p], append)])]),
        ]

    def function(self, level: int) -> LevelFunctions:
        if level > 0 or self.set is None:
            return _Row(self, level)
        return _SetCoordinates(self, self.set)

    def reset(self) -> list[Stmt]:
        return []


class _SetCoordinates(LevelFunctions):
    """The coordinates that are set; a position is a coordinate."""

    def __init__(self, workspace: LocatedWorkspace, is_set: Expr) -> None:
        super().__init__("s", "", 0, INT, workspace.builder)
        self.format = replace(self.format, locates=True)
        self.workspace, self.is_set = workspace, is_set

    def cursor(self) -> Var:
        return Var(self.names.fresh(f"p_{self.workspace.name}"))

    def locate(self, above: Place, coordinate: Expr) -> Place:
        position = select(self.is_set[coordinate], coordinate, Op("-", (ONE,), INT))
        return above.below(position, coordinate)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        found = self.workspace.listed()[self.workspace.cursor]
        return Counted(self.workspace.cursor, ZERO, self.workspace.count, found, found)


class _Row(Dense):
    """A dimension all of whose coordinates are there."""

    def __init__(self, workspace: LocatedWorkspace, level: int) -> None:
        super().__init__("d", workspace.name, level, INT, workspace.builder)
        self.extent = workspace.extents[level]

    @property
    def size(self) -> Expr:
        return self.extent
