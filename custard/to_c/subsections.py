"""Iteration over a level whose subscript is computed, at a variable that does not resolve it.

Such a variable goes through the values whose subsection of the tensor holds a coordinate (an index
reduction loop of the convolution paper, Sections 3.1 and 5.2). Where the levels above are done and
the coefficient is positive, one iterator over the level finds these values in order (``NonEmpty``;
the paper's Figures 10 and 13, a and b), and the loops inside begin to search at its place. Where
levels above are still to be gone through (c), or coordinates come from the last one on, the values
are collected first (``Collection``): each stored coordinate in the subsection so far marks the
values that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from custard.ir import cin
from custard.language.formats import LEVEL_FORMATS
from custard.to_c.expression import Operand
from custard.to_c.levels import START, Counted, Iterator, Place
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    ONE,
    TRUE,
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Declare,
    Expr,
    For,
    If,
    Stmt,
    Var,
    While,
    both,
    cast,
    either,
    op,
)
from custard.to_c.outputs import CoordinateRange, Output
from custard.to_c.storage import Storage
from custard.to_c.windows import Window, floored, larger, shifted, smaller, windowed
from custard.to_c.workspaces import DenseWorkspace, SparseWorkspace, Workspace
from custard.to_c.workspaces.choice import LOCATED, Filling
from sam.subscripts import Affine

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering


@dataclass(frozen=True)
class Subsections:
    """For each value v of a variable, the coordinates from ``scale * v + low`` to ``scale * v +
    high``.

    v goes from 0 to below ``extent``.
    """

    scale: int
    low: Expr
    high: Expr
    extent: Expr

    def values(self, begin: Expr, end: Expr) -> tuple[Expr, Expr]:
        """The first value whose subsection reaches into a range of coordinates, and the one behind
        the last."""
        whole = Window(self.scale, ZERO, self.extent)
        return whole.values(begin - self.high, end - self.low)


def reduced_level(operand: Operand, variable: str) -> int | None:
    """The level whose nonempty subsections a variable goes through; None if it goes through its
    whole extent."""
    for level in range(operand.level, len(operand.computed)):
        form, full = operand.computed[level], LEVEL_FORMATS[operand.slot.levels[level]].full
        if form is not None and variable in dict(form.terms) and not full:
            return level
    return None


def subsections(storage: Storage, form: Affine, variable: str, output: Output) -> Subsections:
    """The subsections at a form that belong to the values of one of its variables."""
    coefficients = form.coefficients()
    scale = coefficients.pop(variable)
    low, high = _reach(storage, coefficients, form.constant, output)
    return Subsections(scale, low, high, storage.extent(variable))


def _reach(
    storage: Storage, coefficients: dict[str, int], constant: int, output: Output
) -> tuple[Expr, Expr]:
    """The least and the largest value of a sum, given the bound variables."""
    rest: Expr = Const(constant)
    low: Expr = ZERO
    high: Expr = ZERO
    for name, scale in coefficients.items():
        if name in output.bound:
            rest = shifted(rest, output.bound[name], scale)
        elif scale > 0:
            high = shifted(high, storage.extent(name) - ONE, scale)
        else:
            low = shifted(low, storage.extent(name) - ONE, scale)
    return rest + low, rest + high


def non_empty(inner: Iterator, sections: Subsections, fresh: Callable[[str], str]) -> Iterator:
    """The values whose subsection of a fiber holds a coordinate; the coefficient is positive."""
    if isinstance(inner, Counted) and inner.coordinate == inner.cursor:
        value = Var(fresh(f"{inner.cursor.name}_offset"))
        return Counted(value, *sections.values(inner.first, inner.end), value, value)
    return NonEmpty(inner, sections, fresh)


class NonEmpty(Iterator):
    """An iterator over the values whose subsection of a fiber holds a coordinate."""

    def __init__(self, inner: Iterator, sections: Subsections, fresh: Callable[[str], str]) -> None:
        self.inner, self.sections = inner, sections
        self.value, self.behind = Var(fresh("offset")), Var(fresh("offset_end"))
        self.first: Expr = ZERO
        self.last = sections.extent
        self.coordinate = self.value

    @property
    def mark(self) -> Expr | None:
        return self.inner.mark

    def restricts(self) -> bool:
        return True

    def restrict(self, begin: Expr, end: Expr, extent: Expr) -> None:
        self.first, self.last = begin, smaller(end, self.last)

    def begin(self) -> list[Stmt]:
        sections, inner = self.sections, self.inner
        inner.seek(self.first * sections.scale + sections.low)
        begun = inner.begin()
        self.position = inner.position
        self.alive = both(inner.alive, self.value < self.behind)
        return [
            *begun,
            Declare(self.behind, self.last, const=True),
            Declare(self.value, self.first),
            self._settle(),
        ]

    def _settle(self) -> Stmt:
        """Goes on until the subsection at the value holds the coordinate at hand."""
        sections = self.sections
        at, place = cast(self.inner.coordinate, INT), self.value * sections.scale
        below = op("<", at, place + sections.low)
        beyond = op(">", at, place + sections.high)
        far = at - sections.high + (sections.scale - 1)
        to = Assign(self.value, floored(far, sections.scale))
        step = If([(below, self.inner.advance(TRUE))], [to])
        return While(both(self.inner.alive, either(below, beyond)), [step])

    def length(self) -> Expr | None:
        """An upper bound: a coordinate lies in at most as many subsections as one is wide."""
        sections = self.sections
        places = floored(sections.high - sections.low, sections.scale) + ONE
        known = self.inner.length()
        if known is None:
            return None
        return smaller(Call("times", (known, places), INT), sections.extent)

    def advance(self, condition: Expr) -> list[Stmt]:
        step = [Assign(self.value, ONE, "+"), self._settle()]
        return step if condition == TRUE else [If([(condition, step)])]

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        begun = self.begin()
        inside = [Declare(variable, self.value, const=True), *body(), *self.advance(TRUE)]
        return [*begun, While(self.alive, inside)]


class Collection:
    """The values of a variable whose subsections of an operand hold a coordinate, in a workspace.

    ``level``   the level whose subscript has the variable
    ``region``  the wanted part of the values; None for all
    """

    def __init__(
        self,
        lowering: Lowering,
        operand: Operand,
        level: int,
        variable: str,
        output: Output,
        region: CoordinateRange | None,
    ) -> None:
        self.lowering, self.storage, self.builder = lowering, lowering.storage, lowering.builder
        self.operand, self.level, self.output = operand, level, output
        self.variable, self.region = variable, region
        self.workspace = self._made()

    def _made(self) -> Workspace:
        builder, types, base = self.builder, self.storage.types, cin.base(self.variable)
        name, extents = builder.fresh(f"{self.variable}_held"), [self.storage.extent(self.variable)]
        self.lowering.fillings.append(Filling((base,), (), (), self.operand, False, LOCATED))
        shared = builder, name, [self.variable], extents, np.dtype(bool)
        if base in types.far:
            return SparseWorkspace(*shared, "coord", types.wide)
        return DenseWorkspace(*shared)

    def before(self) -> list[Stmt]:
        """Statements that fill the workspace."""
        return [*self._marked(self.operand.level, self.operand.place), *self.workspace.ready()]

    def after(self) -> list[Stmt]:
        """Statements that empty it again."""
        return self.workspace.reset()

    def iterator(self) -> Iterator:
        """The values, in order."""
        return self.workspace.function(0).iterate(START, self.operand.key, True, True)

    def _marked(self, level: int, place: Place) -> list[Stmt]:
        """Loops over the levels from ``level`` down to that of the collection."""
        operand, storage = self.operand, self.storage
        functions = storage.functions[operand.slot.name, level]
        form = operand.computed[level]
        used = (operand.variables[level],) if form is None else form.variables
        low: Expr = ZERO
        end = functions.size
        bounded = form is not None or used[0] in self.output.bound
        if bounded:
            form = Affine(used[0]) if form is None else form
            if level == self.level:
                sections = subsections(storage, form, self.variable, self.output)
                low, end = self._range(sections)
            else:
                low, high = _reach(storage, form.coefficients(), form.constant, self.output)
                end = high + ONE
        name = f"{operand.slot.name}{level}"
        low, begun = self._named(f"{name}_low", low)
        iterator = functions.iterate(place, operand.key, place.begin is not None, False)
        if bounded:
            iterator = windowed(iterator, Window(1, low, end - low), self.builder.fresh)
        var, at = (Var(self.builder.fresh(f"{name}_{n}")) for n in ("offset", "at"))

        def body() -> list[Stmt]:
            here = [Declare(at, var + low, const=True)]
            if level == self.level:
                return [*here, *self._mark(*sections.values(at, at + ONE))]
            below = place.below(iterator.position, at, iterator.group_end)
            return [*here, *self._marked(level + 1, below)]

        return [*begun, *iterator.loop(var, body)]

    def _named(self, name: str, value: Expr) -> tuple[Expr, list[Stmt]]:
        """A number as a variable, with its declaration."""
        if isinstance(value, Const | Var):
            return value, []
        var = Var(self.builder.fresh(name))
        return var, [Declare(var, value, const=True)]

    def _range(self, sections: Subsections) -> tuple[Expr, Expr]:
        """The coordinates in the subsections of all wanted values."""
        first, last = self._limits()
        if sections.scale < 0:
            first, last = last - ONE, first + ONE
        return (
            shifted(sections.low, first, sections.scale),
            shifted(sections.high, last - ONE, sections.scale) + ONE,
        )

    def _limits(self) -> tuple[Expr, Expr]:
        """The first wanted value, and the one behind the last."""
        extent = self.storage.extent(self.variable)
        if self.region is None:
            return ZERO, extent
        return self.region.begin, smaller(self.region.end, extent)

    def _mark(self, first: Expr, end: Expr) -> list[Stmt]:
        """Marks some values."""
        least, behind = self._limits()
        if self.region is not None:
            first, end = larger(first, least), smaller(end, behind)
        first, begun = self._named(f"{self.variable}_first", first)
        end, ended = self._named(f"{self.variable}_last", end)
        value = Var(self.builder.fresh(self.variable))
        output = self.workspace.output().bind(self.variable, value)
        return [*begun, *ended, For(value, first, end, output.write(Const(True, BOOL)))]
