"""Iteration over a level whose subscript is computed, at the variable that resolves it.

With ``x = scale * v + rest``, the coordinates x of a fiber from ``rest`` on stand for the values v
of the variable (convolution paper, Section 3.1: an index resolve loop). The coordinates outside of
the window that the extent of v opens are passed over: by their number where the level counts
coordinates, by search where it lists them in order, and else one by one. ``subsections.py`` has the
loops over variables further out, which do not resolve the subscript.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from custard.to_c.levels import Counted, Iterator
from custard.to_c.levels.iterators import sorted_array, sought_position
from custard.to_c.loop_ir import (
    INT,
    ONE,
    TRUE,
    ZERO,
    Body,
    Call,
    Const,
    Declare,
    Expr,
    If,
    Op,
    Stmt,
    Var,
    While,
    both,
    cast,
    op,
    select,
)
from custard.to_c.walks import substituted


@dataclass(frozen=True)
class Window:
    """The values v of a variable, from 0 to below ``extent``, at ``x = scale * v + rest``."""

    scale: int
    rest: Expr
    extent: Expr

    def place(self, value: Expr) -> Expr:
        """The coordinate that stands for a value."""
        if self.scale < 0:
            return self.rest - value * -self.scale
        return value * self.scale + self.rest

    def value(self, coordinate: Expr) -> Expr:
        """The value that a coordinate stands for, if it is one."""
        if self.scale < 0:
            return op("/", self.rest - coordinate, -self.scale)
        return op("/", coordinate - self.rest, self.scale)

    def divides(self, coordinate: Expr) -> Expr:
        """Whether a coordinate is a whole number of steps away."""
        if abs(self.scale) == 1:
            return TRUE
        return op("==", op("%", coordinate - self.rest, abs(self.scale)), ZERO)

    def lies_inside(self, value: Expr) -> Expr:
        """Whether a value is one of the variable."""
        return both(value >= ZERO, value < self.extent)

    def values(self, begin: Expr, end: Expr) -> tuple[Expr, Expr]:
        """The first value whose coordinate lies between two bounds, and the last one plus one."""
        if self.scale < 0:
            low = floored(self.rest - end, -self.scale) + ONE
            high = floored(self.rest - begin, -self.scale) + ONE
        else:
            low = floored(begin - self.rest + (self.scale - 1), self.scale)
            high = floored(end - self.rest + (self.scale - 1), self.scale)
        return larger(low, ZERO), smaller(high, self.extent)

    def bounds(self) -> tuple[Expr, Expr]:
        """The least coordinate of the window, and the largest plus one."""
        if self.scale < 0:
            return self.rest - (self.extent - ONE) * -self.scale, self.rest + ONE
        return self.rest, self.rest + (self.extent - ONE) * self.scale + ONE


def windowed(inner: Iterator, window: Window, fresh: Callable[[str], str]) -> Iterator:
    """The iterator over the values that the coordinates of ``inner`` stand for.

    If a negative scale turns the fiber around, the values come in order only if the fiber is
    counted, or listed in order. ``fresh`` makes names.
    """
    if not isinstance(inner, Counted):
        return _Filtered(inner, window)
    most = inner.length()
    if inner.coordinate == inner.cursor and inner.valid is None:
        first, end = window.values(inner.first, inner.end)
        found = _named(inner.cursor, first, end, fresh)
        place = substituted(inner.position, inner.cursor, window.place(inner.cursor))
        begin, behind, limits = found
        return _BoundedCursor(
            inner.cursor, begin, behind, inner.cursor, place, limits=limits, most=most
        )
    if inner.ordered and inner.valid is None and not inner.single:
        crd = sorted_array(inner.coordinate, inner.cursor)
        return _Filtered(inner, window) if crd is None else _listed(inner, crd, window, fresh)
    value = window.value(cast(inner.coordinate, INT))
    valid = [] if inner.valid is None else [inner.valid]
    conditions = both(
        *valid, window.divides(cast(inner.coordinate, INT)), window.lies_inside(value)
    )
    inner.coordinate, inner.valid, inner.increasing = value, conditions, False
    return inner


@dataclass
class _BoundedCursor(Counted):
    """A cursor between bounds that are found first; ``most`` tells how many there may be."""

    most: Expr | None = field(default=None, kw_only=True)

    def length(self) -> Expr | None:
        return self.most


def _listed(inner: Counted, crd: Expr, window: Window, fresh: Callable[[str], str]) -> Iterator:
    """The part of a list that lies in the window, backwards where it is turned around."""
    low, high = window.bounds()
    name = inner.cursor.name
    begin = Var(fresh(f"{name}_begin"))
    end = Var(fresh(f"{name}_end"))
    limits: list[Stmt] = [
        Declare(begin, sought_position(crd, inner.first, inner.end, low), const=True),
        Declare(end, sought_position(crd, begin, inner.end, high), const=True),
    ]
    cursor: Expr = inner.cursor
    if window.scale < 0:
        cursor = begin + end - ONE - inner.cursor
    coordinate = substituted(inner.coordinate, inner.cursor, cursor)
    position = substituted(inner.position, inner.cursor, cursor)
    divides = window.divides(cast(coordinate, INT))
    return _BoundedCursor(
        inner.cursor,
        begin,
        end,
        window.value(cast(coordinate, INT)),
        position,
        None if divides == TRUE else divides,
        increasing=inner.increasing,
        limits=limits,
        most=inner.length(),
    )


def shifted(value: Expr, by: Expr, scale: int) -> Expr:
    """A value plus another one times a number."""
    return value - by * -scale if scale < 0 else by * scale + value


class _Filtered(Iterator):
    """Any iterator in order, without the steps outside of the window."""

    def __init__(self, inner: Iterator, window: Window) -> None:
        self.inner, self.window = inner, window
        inner.seek(window.bounds()[0])

    def begin(self) -> list[Stmt]:
        inner, window = self.inner, self.window
        declared = inner.begin()
        coordinate = cast(inner.coordinate, INT)
        low, high = window.bounds()
        self.coordinate, self.position = window.value(coordinate), inner.position
        self.group_end = inner.group_end
        self.alive = both(inner.alive, coordinate < high)
        inside = both(coordinate >= low, window.divides(coordinate))
        outside = Op("!", (inside,), inside.type)
        self.skip = While(both(self.alive, outside), inner.advance(TRUE))
        return [*declared, self.skip]

    def length(self) -> Expr | None:
        return self.inner.length()

    def advance(self, condition: Expr) -> list[Stmt]:
        step = [*self.inner.advance(TRUE), self.skip]
        return step if condition == TRUE else [If([(condition, step)])]

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        begun = self.begin()
        inside = [Declare(variable, self.coordinate, const=True), *body(), *self.advance(TRUE)]
        return [*begun, While(self.alive, inside)]


def _named(
    cursor: Var, first: Expr, end: Expr, fresh: Callable[[str], str]
) -> tuple[Expr, Expr, list[Stmt]]:
    """Bounds as variables, and what declares them."""
    begin, behind = Var(fresh(f"{cursor.name}_begin")), Var(fresh(f"{cursor.name}_end"))
    return begin, behind, [Declare(begin, first, const=True), Declare(behind, end, const=True)]


def floored(value: Expr, divisor: int) -> Expr:
    if divisor == 1:
        return value
    return Call("floored", (value, Const(divisor)), INT)


def larger(left: Expr, right: Expr) -> Expr:
    return right if left == right else select(left < right, right, left)


def smaller(left: Expr, right: Expr) -> Expr:
    return right if left == right else select(right < left, right, left)
