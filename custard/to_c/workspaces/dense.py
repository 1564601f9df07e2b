"""Workspaces with a place for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from custard.to_c.assembly import times
from custard.to_c.builder import KernelBuilder
from custard.to_c.loop_ir import (
    INT,
    ONE,
    WORD,
    ZERO,
    Assign,
    Call,
    CallStatement,
    Declare,
    Expr,
    For,
    Ordered,
    Stmt,
    Var,
    array,
    op,
    product,
)
from custard.to_c.values import adding, number
from custard.to_c.workspaces.base import Keyed
from sam.arithmetic import ValueType


class DenseWorkspace(Keyed):
    """A vector or a block of several dimensions: its values, a bit for each that is set, a bit for
    each word of bits (the tops), and which words of those are touched.

    The key of a value is its place.
    """

    joined = "+"

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        variables: Sequence[str],
        extents: Sequence[Expr],
        dtype: ValueType,
    ) -> None:
        super().__init__(builder, name, variables, extents, dtype)
        size = reduce(times, extents)
        words = op("/", size, 64) + 1
        self.values = builder.scratch(f"{name}_values", array(self.c_type), size)
        self.words = builder.scratch(f"{name}_words", array(WORD), words)
        tops = op("/", words, 64) + 1
        self.tops = builder.scratch(f"{name}_tops", array(WORD), tops)
        self.touched = builder.scratch(f"{name}_touched", array(INT), tops + 1)
        self.keys = builder.scratch(f"{name}_list", array(INT), size, zeroed=False)
        self.count: Var = Var(builder.fresh(f"{name}_count"))

    def insert(self, bound: Mapping[str, Expr], value: Expr) -> list[Stmt]:
        at = self.key_of([bound[v] for v in self.variables])
        if isinstance(at, Var):
            return self._added(at, value)
        place = Var(self.builder.fresh("at"))
        return [Declare(place, at, const=True), *self._added(place, value)]

    def _added(self, at: Expr, value: Expr) -> list[Stmt]:
        """Adds a value at a place, which is set then."""
        mark = Call("mark_bit", (self.words, self.tops, self.touched, at))
        return [Assign(self.values[at], value, adding(self.dtype)), CallStatement(mark)]

    def ready(self) -> list[Stmt]:
        arguments = (self.words, self.tops, self.touched, self.keys)
        return [Declare(self.count, Call("take_bits", arguments), const=True)]

    def reset(self) -> list[Stmt]:
        p = Var(self.builder.fresh("p"))
        clear = Assign(self.values[self.keys[p]], number(0, self.dtype))
        return [For(p, ZERO, self.count, [clear])]

    def another(self, name: str) -> DenseWorkspace:
        return DenseWorkspace(self.builder, name, self.variables, self.extents, self.dtype)

    def add(self, other: Keyed) -> list[Stmt]:
        assert isinstance(other, DenseWorkspace)
        p, at = Var(self.builder.fresh("p")), Var(self.builder.fresh("at"))
        one = [Declare(at, other.keys[p], const=True), *self._added(at, other.values[at])]
        return [Ordered([For(p, ZERO, other.count, one)])]

    # Keys

    def _stride(self, level: int) -> Expr:
        """How many places there are for each coordinate of a level."""
        return product([*self.extents[level + 1 :]]) if level + 1 < len(self.extents) else ONE

    def leading(self, key: Expr, level: int) -> Expr:
        return op("/", key, self._stride(level))

    def widened(self, key: Expr, level: int) -> Expr:
        return key * self._stride(level)

    def shifted(self, key: Expr, level: int) -> Expr:
        return key * self.extents[level]

    def position(self, place: Expr) -> Expr:
        return self.keys[place]
