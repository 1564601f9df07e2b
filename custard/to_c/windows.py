"""Iteration over a level whose subscript is computed, at the variable that resolves it.

With ``x = scale * v + rest``, the coordinates x of a fiber from ``rest`` on stand for the values v
of the variable (convolution paper, Section 3.1: an index resolve loop). The coordinates outside of
the window that the extent of v opens are passed over: by their number where the level counts
coordinates, by search where it lists them in order, and else one by one.

A variable that does not resolve the subscript goes through the subsections that hold a coordinate
(an index reduction loop; Section 5.2 has ``subsection_begin`` and ``subsection_next``). The
position of the first coordinate of a subsection is where the loops inside begin to search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from custard.to_c.levels import Counted, Iterator
from custard.to_c.loop_ir import (
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
    If,
    Load,
    Op,
    Stmt,
    Var,
    While,
    both,
    cast,
    either,
    op,
    select,
    substituted,
)
from custard.to_c.runtime import INDEX_TYPES


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
        """The first value whose coordinate lies between two bounds, and the one behind the last."""
        if self.scale < 0:
            low = _floored(self.rest - end, -self.scale) + ONE
            high = _floored(self.rest - begin, -self.scale) + ONE
        else:
            low = _floored(begin - self.rest + (self.scale - 1), self.scale)
            high = _floored(end - self.rest + (self.scale - 1), self.scale)
        return _larger(low, ZERO), _smaller(high, self.extent)

    def bounds(self) -> tuple[Expr, Expr]:
        """The least coordinate of the window, and the one behind the largest."""
        if self.scale < 0:
            return self.rest - (self.extent - ONE) * -self.scale, self.rest + ONE
        return self.rest, self.rest + (self.extent - ONE) * self.scale + ONE


def windowed(
    inner: Iterator, window: Window, fresh: Callable[[str], str], begin: Expr | None = None
) -> Iterator:
    """The iterator over the values that the coordinates of another one stand for.

    A fiber that a negative scale turns around has to be counted, or listed in order, if its values
    are to come in order. ``fresh`` makes names; a list is gone through from ``begin`` on.
    """
    if not isinstance(inner, Counted):
        return _Filtered(inner, window)
    most = inner.length()
    if inner.coordinate == inner.cursor and inner.valid is None:
        first, end = window.values(inner.first, inner.end)
        found = _named(inner.cursor, first, end, fresh)
        place = substituted(inner.position, inner.cursor, window.place(inner.cursor))
        begin, behind, limits = found
        return _Window(inner.cursor, begin, behind, inner.cursor, place, limits=limits, most=most)
    if _is_listed(inner):
        return _listed(inner, window, fresh, begin)
    value = window.value(cast(inner.coordinate, INT))
    valid = [] if inner.valid is None else [inner.valid]
    conditions = both(
        *valid, window.divides(cast(inner.coordinate, INT)), window.lies_inside(value)
    )
    inner.coordinate, inner.valid, inner.increasing = value, conditions, False
    return inner


@dataclass
class _Window(Counted):
    """A cursor between bounds that are found first; ``most`` tells how many there may be."""

    most: Expr | None = field(default=None, kw_only=True)

    def length(self) -> Expr | None:
        return self.most


def _is_listed(inner: Counted) -> bool:
    """Whether the coordinates of a fiber stand in an array, in order."""
    found = _uncast(inner.coordinate)
    return (
        isinstance(found, Load)
        and found.index == inner.cursor
        and found.type.name in INDEX_TYPES
        and inner.valid is None
        and inner.increasing
        and not inner.single
    )


def _uncast(node: Expr) -> Expr:
    match node:
        case Op("cast", (operand,)):
            return operand
    return node


def _listed(
    inner: Counted, window: Window, fresh: Callable[[str], str], known: Expr | None
) -> Iterator:
    """The part of a list that lies in the window, from its end on where it is turned around."""
    found = _uncast(inner.coordinate)
    assert isinstance(found, Load)
    low, high = window.bounds()

    def sought(begin: Expr, coordinate: Expr) -> Expr:
        arguments = (found.array, begin, inner.end, coordinate)
        return Call(f"sought_{found.type.name}", arguments, INT)

    name = inner.cursor.name
    begin = Var(fresh(f"{name}_begin"))
    end = Var(fresh(f"{name}_end"))
    limits: list[Stmt] = [
        Declare(begin, sought(inner.first if known is None else known, low), const=True),
        Declare(end, sought(begin, high), const=True),
    ]
    cursor: Expr = inner.cursor
    if window.scale < 0:
        cursor = begin + end - ONE - inner.cursor
    coordinate = substituted(inner.coordinate, inner.cursor, cursor)
    position = substituted(inner.position, inner.cursor, cursor)
    divides = window.divides(cast(coordinate, INT))
    return _Window(
        inner.cursor,
        begin,
        end,
        window.value(cast(coordinate, INT)),
        position,
        None if divides == TRUE else divides,
        limits=limits,
        most=inner.length(),
    )


@dataclass(frozen=True)
class Subsections:
    """For each value v of a variable the coordinates from ``scale * v + low`` to that and ``high``.

    ``scale`` is positive, and v goes from 0 to below ``extent``.
    """

    scale: int
    low: Expr
    high: Expr
    extent: Expr

    def iterator(
        self, inner: Iterator, fresh: Callable[[str], str], known: Expr | None
    ) -> NonEmpty:
        """The values whose subsection of a list holds a coordinate; from ``known`` on, if given."""
        assert isinstance(inner, Counted)
        first = inner.first if known is None else known
        return NonEmpty(inner, self, first, Var(fresh(f"{inner.cursor.name}_offset")))


class NonEmpty(Iterator):
    """The values of a variable whose subsections hold a coordinate; ``cursor`` is at the first."""

    def __init__(self, inner: Counted, sections: Subsections, first: Expr, value: Var) -> None:
        self.inner, self.sections, self.first, self.value = inner, sections, first, value
        self.cursor = inner.cursor
        self.end = inner.end if isinstance(inner.end, Var) else Var(f"{value.name}_end")
        self.alive = both(self.cursor < self.end, value < sections.extent)
        self.coordinate, self.position = value, self.cursor

    def begin(self) -> list[Stmt]:
        sections, found = self.sections, _uncast(self.inner.coordinate)
        assert isinstance(found, Load)
        arguments = (found.array, self.first, self.inner.end, sections.low)
        sought = Call(f"sought_{found.type.name}", arguments, INT)
        end = [] if self.end == self.inner.end else [Declare(self.end, self.inner.end, const=True)]
        return [*end, Declare(self.cursor, sought), Declare(self.value, ZERO), self._settle()]

    def _settle(self) -> Stmt:
        """Goes on until the subsection at the value holds the coordinate at the cursor."""
        sections = self.sections
        at, place = cast(self.inner.coordinate, INT), self.value * sections.scale
        below = op("<", at, place + sections.low)
        beyond = op(">", at, place + sections.high)
        far = at - sections.high + (sections.scale - 1)
        to = Assign(self.value, _floored(far, sections.scale))
        step = If([(below, [Assign(self.cursor, ONE, "+")])], [to])
        return While(both(self.cursor < self.end, either(below, beyond)), [step])

    def length(self) -> Expr | None:
        """Each coordinate lies in so many subsections at most as these have places."""
        sections = self.sections
        places = _floored(sections.high - sections.low, sections.scale) + ONE
        known = self.inner.length()
        most = None if known is None else Call("times", (known, places), INT)
        return sections.extent if most is None else _smaller(most, sections.extent)

    def advance(self, condition: Expr) -> list[Stmt]:
        step = [Assign(self.value, ONE, "+"), self._settle()]
        return step if condition == TRUE else [If([(condition, step)])]

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        inside = [Declare(variable, self.value, const=True), *body(), *self.advance(TRUE)]
        return [*self.begin(), While(self.alive, inside)]


def shifted(value: Expr, by: Expr, scale: int) -> Expr:
    """A value plus another one times a number."""
    return value - by * -scale if scale < 0 else by * scale + value


class _Filtered(Iterator):
    """Any iterator, with the steps outside of the window passed over."""

    def __init__(self, inner: Iterator, window: Window) -> None:
        self.inner, self.window = inner, window

    def begin(self) -> list[Stmt]:
        inner, window = self.inner, self.window
        declared = inner.begin()
        coordinate = cast(inner.coordinate, INT)
        value = window.value(coordinate)
        self.alive, self.coordinate, self.position = inner.alive, value, inner.position
        self.group_end = inner.group_end
        inside = both(window.divides(coordinate), window.lies_inside(value))
        outside = Op("!", (inside,), inside.type)
        self.skip = While(both(inner.alive, outside), inner.advance(TRUE))
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


def _floored(value: Expr, divisor: int) -> Expr:
    if divisor == 1:
        return value
    return Call("floored", (value, Const(divisor)), INT)


def _larger(left: Expr, right: Expr) -> Expr:
    return right if left == right else select(left < right, right, left)


def _smaller(left: Expr, right: Expr) -> Expr:
    return right if left == right else select(right < left, right, left)
