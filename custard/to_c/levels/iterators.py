"""Iterators over the coordinates of a fiber: a loop is made from one, or from several merged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from custard.to_c.loop_ir import (
    INT,
    ONE,
    TRUE,
    WORD,
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Declare,
    Expr,
    For,
    If,
    Load,
    Op,
    Stmt,
    Var,
    While,
    both,
    cast,
    op,
    select,
)
from custard.to_c.runtime import INDEX_TYPES
from custard.to_c.walks import substituted
from sam.levels import WORD_BITS


class Iterator(ABC):
    """The coordinates of a fiber, in increasing order unless ``ordered`` is False."""

    ordered = True

    @abstractmethod
    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        """The loop over the fiber alone."""

    @abstractmethod
    def begin(self) -> list[Stmt]:
        """Declares the state, at the first coordinate."""

    alive: Expr
    coordinate: Expr
    position: Expr
    group_end: Expr | None = None
    low: Expr | None = None

    @property
    def mark(self) -> Expr | None:
        """The place, after ``begin``, at which another iterator over the same fiber finds the
        current coordinate and all later ones; None if it must begin at the start."""
        return None

    def seek(self, coordinate: Expr) -> None:
        """Skips coordinates below another one where that is cheap; some may remain."""
        self.low = coordinate

    def length(self) -> Expr | None:
        """An upper bound of the number of coordinates, before ``begin``; None where unknown."""
        return None

    @abstractmethod
    def advance(self, condition: Expr) -> list[Stmt]:
        """Goes on to the next coordinate where the condition holds."""

    def sought(self, coordinate: Expr) -> Expr | None:
        """The position of the first coordinate from the cursor on that is not below another one,
        after ``begin``; None where coordinates do not stand in an array, in order."""
        return None

    def left(self) -> Expr:
        """The number of positions from the cursor on, after ``begin``, for a fiber to seek in."""
        raise TypeError(f"{type(self).__name__} does not count positions")

    def gallop(self, coordinate: Expr) -> list[Stmt]:
        """Goes on to the first coordinate that is not below another one."""
        raise TypeError(f"{type(self).__name__} does not gallop")

    def restricts(self) -> bool:
        """Whether the iterator can keep to a range of coordinates."""
        return False

    def restrict(self, begin: Expr, end: Expr, extent: Expr) -> None:
        """Keeps to the coordinates from ``begin`` to below ``end``; the mode has ``extent``."""
        raise TypeError(f"{type(self).__name__} does not keep to a range")

    def keep(self, first: Expr, end: Expr) -> None:
        """Keeps to the positions from ``first`` to below ``end``."""
        raise TypeError(f"{type(self).__name__} does not keep to positions")


def sorted_array(found: Expr, cursor: Expr) -> Expr | None:
    """The array in which coordinates stand at the cursor, if its elements can be sought."""
    match found:
        case Op("cast", (inner,)):
            found = inner
    if isinstance(found, Load) and found.index == cursor and found.type.name in INDEX_TYPES:
        return found.array
    return None


def _between(low: Expr, high: Expr, first: Expr, end: Expr) -> tuple[Expr, Expr]:
    """The range from the larger of the beginnings to the smaller of the ends."""
    begin = low if first == ZERO else select(op("<", first, low), low, first)
    return begin, select(op("<", high, end), high, end)


@dataclass
class Counted(Iterator):
    """A cursor that goes from ``first`` to ``end``, one by one.

    ``coordinate``  in terms of the cursor
    ``valid``       the condition that the cursor has a coordinate; None where it always has
    ``single``      there is just one step
    ``increasing``  each coordinate is greater than the one before
    ``limits``      the declarations of ``first`` and ``end``, if these are clipped
    """

    cursor: Var
    first: Expr
    end: Expr
    coordinate: Expr
    position: Expr
    valid: Expr | None = None
    single: bool = False
    increasing: bool = True
    limits: list[Stmt] = field(default_factory=list)

    @property
    def mark(self) -> Expr | None:
        return None if self.single or self.coordinate == self.cursor else self.cursor

    def seek(self, coordinate: Expr) -> None:
        crd = sorted_array(self.coordinate, self.cursor)
        if crd is not None and self.valid is None and not self.single:
            self.first = sought_position(crd, self.first, self.end, coordinate)

    def restricts(self) -> bool:
        return True

    def restrict(self, begin: Expr, end: Expr, extent: Expr) -> None:
        if self.coordinate == self.cursor:
            self._limit(*_between(begin, end, self.first, self.end))
            return
        crd = sorted_array(self.coordinate, self.cursor)
        if crd is None or self.valid is not None or self.single:
            after = [] if begin == ZERO else [self.coordinate >= begin]
            inside = both(*after, self.coordinate < end)
            self.valid = inside if self.valid is None else both(self.valid, inside)
            return
        first, last = sought_range(crd, self.first, self.end, begin, end, extent)
        self._limit(first, last)

    def keep(self, first: Expr, end: Expr) -> None:
        if self.single:
            inside = both(self.position >= first, self.position < end)
            self.valid = inside if self.valid is None else both(self.valid, inside)
            return
        self._limit(*_between(first, end, self.first, self.end))

    def _limit(self, first: Expr, end: Expr) -> None:
        """Declares where the cursor begins and ends."""
        name, n = self.cursor.name, "" if not self.limits else str(len(self.limits) // 2 + 1)
        begin, last = Var(f"{name}_from{n}"), Var(f"{name}_to{n}")
        self.limits += [Declare(begin, first, const=True), Declare(last, end, const=True)]
        self.first, self.end = begin, last

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        if self.single and isinstance(self.first, Var):
            self._replace_cursor(self.first)
        inside: list[Stmt] = []
        cursor = variable if self.coordinate == self.cursor else self.cursor
        if cursor == variable:
            self.position = substituted(self.position, self.cursor, variable)
        else:
            inside.append(Declare(variable, cast(self.coordinate, INT)))
            self.position = substituted(self.position, self.coordinate, variable)
        if self.valid is None:
            inside += body()
        else:
            inside.append(If([(self.valid_at(variable), body())]))
        if self.single:
            return inside if cursor == self.first else [Declare(cursor, self.first), *inside]
        return [*self.limits, For(cursor, self.first, self.end, inside, None, self.increasing)]

    def _replace_cursor(self, cursor: Var) -> None:
        self.coordinate = substituted(self.coordinate, self.cursor, cursor)
        self.position = substituted(self.position, self.cursor, cursor)
        if self.valid is not None:
            self.valid = substituted(self.valid, self.cursor, cursor)
        self.cursor = cursor

    def valid_at(self, variable: Var) -> Expr:
        """``valid``, with the coordinate in a variable."""
        assert self.valid is not None
        return substituted(self.valid, self.coordinate, variable)

    def begin(self) -> list[Stmt]:
        last = _named(self.cursor, self.end)
        self.alive = self.cursor < last
        declared: list[Stmt] = [*self.limits, Declare(self.cursor, self.first)]
        if last != self.end:
            declared.append(Declare(last, self.end, const=True))
        if self.valid is not None:
            declared += self._skip()
        return declared

    def length(self) -> Expr | None:
        if self.limits:
            return None
        return self.end if self.first == ZERO else self.end - self.first

    def left(self) -> Expr:
        return _named(self.cursor, self.end) - self.cursor

    def gallop(self, coordinate: Expr) -> list[Stmt]:
        sought = self.sought(coordinate)
        assert sought is not None
        return [Assign(self.cursor, sought)]

    def sought(self, coordinate: Expr) -> Expr | None:
        crd = sorted_array(self.coordinate, self.cursor)
        if crd is None or self.valid is not None or self.single or not self.increasing:
            return None
        return sought_position(crd, self.cursor, _named(self.cursor, self.end), coordinate)

    def clip(self, low: Expr, high: Expr) -> None:
        """Keeps to the coordinates from ``low`` to below ``high``; the cursor is the coordinate."""
        begin, end = Var(f"{self.cursor.name}_begin"), Var(f"{self.cursor.name}_end")
        self.limits += [
            Declare(begin, select(self.first < low, low, self.first), const=True),
            Declare(end, select(high < self.end, high, self.end), const=True),
        ]
        self.first, self.end = begin, end

    def _skip(self) -> list[Stmt]:
        """Goes past the steps without a coordinate."""
        assert self.valid is not None
        invalid = Op("!", (self.valid,), self.valid.type)
        return [While(both(self.alive, invalid), [Assign(self.cursor, ONE, "+")])]

    def advance(self, condition: Expr) -> list[Stmt]:
        if self.valid is not None:
            return _when(condition, [Assign(self.cursor, ONE, "+"), *self._skip()])
        return [Assign(self.cursor, ONE if condition == TRUE else cast(condition, INT), "+")]


@dataclass
class Runs(Iterator):
    """Runs of equal coordinates, each taken as one (deduplication with iterator chaining).

    ``run_end``  the end of the run that begins at a position, before a last one; the length of the
                 run before that is known too
    """

    cursor: Var
    first: Expr
    end: Expr
    coordinate_at: Callable[[Expr], Expr]
    run_end: Callable[[Expr, Expr, Expr], Expr]
    limits: list[Stmt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.next = Var(f"{self.cursor.name}_next")
        self.run = Var(f"{self.cursor.name}_run")
        self._ends()
        self.coordinate = self.coordinate_at(self.cursor)
        self.position = self.cursor
        self.group_end = self.next

    def _ends(self) -> None:
        self.last = _named(self.cursor, self.end)
        self.alive = self.cursor < self.last

    @property
    def mark(self) -> Expr | None:
        return self.cursor

    def seek(self, coordinate: Expr) -> None:
        crd = sorted_array(self.coordinate, self.cursor)
        if crd is not None:
            self.first = sought_position(crd, self.first, self.end, coordinate)

    def restricts(self) -> bool:
        return sorted_array(self.coordinate, self.cursor) is not None

    def restrict(self, begin: Expr, end: Expr, extent: Expr) -> None:
        crd = sorted_array(self.coordinate, self.cursor)
        assert crd is not None
        self._kept(*sought_range(crd, self.first, self.end, begin, end, extent))

    def keep(self, first: Expr, end: Expr) -> None:
        self._kept(*_between(first, end, self.first, self.end))

    def _kept(self, first: Expr, end: Expr) -> None:
        begin, last = Var(f"{self.cursor.name}_from"), Var(f"{self.cursor.name}_to")
        self.limits += [Declare(begin, first, const=True), Declare(last, end, const=True)]
        self.first, self.end = begin, last
        self._ends()

    def _limit(self) -> list[Stmt]:
        limit = [] if self.last == self.end else [Declare(self.last, self.end, const=True)]
        return [*self.limits, *limit, Declare(self.run, ONE)]

    def _found(self) -> Expr:
        return self.run_end(self.cursor, self.last, self.run)

    def _measured(self) -> Stmt:
        return Assign(self.run, self.next - self.cursor)

    def length(self) -> Expr | None:
        return None if self.limits else self.end - self.first

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        inside = [
            Declare(variable, self.coordinate),
            Declare(self.next, self._found()),
            self._measured(),
            *body(),
        ]
        return [*self._limit(), For(self.cursor, self.first, self.last, inside, self.next)]

    def begin(self) -> list[Stmt]:
        return [
            *self.limits,
            Declare(self.cursor, self.first),
            *self._limit()[len(self.limits) :],
            Declare(self.next, select(self.alive, self._found(), self.cursor)),
        ]

    def left(self) -> Expr:
        return self.last - self.cursor

    def sought(self, coordinate: Expr) -> Expr | None:
        crd = sorted_array(self.coordinate, self.cursor)
        return None if crd is None else sought_position(crd, self.cursor, self.last, coordinate)

    def gallop(self, coordinate: Expr) -> list[Stmt]:
        sought = self.sought(coordinate)
        assert sought is not None
        step = If([(self.alive, [Assign(self.next, self._found())])])
        return [Assign(self.cursor, sought), Assign(self.run, ONE), step]

    def advance(self, condition: Expr) -> list[Stmt]:
        step = [If([(self.alive, [Assign(self.next, self._found())])])]
        return _when(condition, [self._measured(), Assign(self.cursor, self.next), *step])


@dataclass
class Bits(Iterator):
    """The ones of a range of words."""

    name: str
    words: Var
    ranks: Var
    first: Expr
    count: Expr

    def __post_init__(self) -> None:
        self.word, self.stop = Var(f"{self.name}_word"), Var(f"{self.name}_stop")
        self.bits, self.position = Var(f"{self.name}_bits", WORD), Var(self.name)
        self.start, self.skipped = self.first, Var(f"{self.name}_skipped")
        self.alive = op("!=", self.bits, self._word(0))
        at = (self.word - self.start) * WORD_BITS
        self.coordinate = at + Call("lowest_bit", (self.bits,))

    @staticmethod
    def _word(value: int) -> Expr:
        return Const(value, WORD)

    def length(self) -> Expr | None:
        ranks = self.ranks
        return cast(ranks[self.first + self.count], INT) - cast(ranks[self.first], INT)

    def begin(self) -> list[Stmt]:
        first = self.first
        before: list[Stmt] = []
        if self.low is not None:
            words = op("/", self.low, WORD_BITS)
            within = select(op("<", words, self.count), words, self.count)
            skipped = select(op(">", self.low, ZERO), within, ZERO)
            before = [Declare(self.skipped, skipped, const=True)]
            first = self.first + self.skipped
        return [
            *before,
            Declare(self.word, first),
            Declare(self.stop, self.first + self.count, const=True),
            Declare(self.position, cast(self.ranks[self.word], INT)),  # type: ignore[arg-type]
            Declare(
                self.bits,
                select(self.word < self.stop, self.words[self.word], self._word(0)),
            ),
            self._to_a_one(),
        ]

    def _to_a_one(self) -> Stmt:
        none = both(op("==", self.bits, self._word(0)), self.word + 1 < self.stop)
        return While(none, [Assign(self.word, ONE, "+"), Assign(self.bits, self.words[self.word])])

    def advance(self, condition: Expr) -> list[Stmt]:
        lower = op("&", self.bits, op("-", self.bits, self._word(1)))
        step = [
            Assign(self.bits, lower),
            Assign(self.position, ONE, "+"),
            self._to_a_one(),
        ]
        return _when(condition, step)

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        lower = op("&", self.bits, op("-", self.bits, self._word(1)))
        inside = [
            Declare(variable, self.coordinate),
            *body(),
            Assign(self.bits, lower),
            Assign(self.position, ONE, "+"),
            self._to_a_one(),
        ]
        return [*self.begin(), While(self.alive, inside)]


@dataclass
class Links(Iterator):
    """The nodes of a linked list, from ``first`` on."""

    cursor: Var
    first: Expr
    nexts: Var
    coordinates: Var

    def __post_init__(self) -> None:
        self.position = self.cursor
        self.coordinate = cast(self.coordinates[self.cursor], INT)
        self.alive = self.cursor >= ZERO
        self.step = Assign(self.cursor, cast(self.nexts[self.cursor], INT))

    @property
    def mark(self) -> Expr | None:
        return self.cursor

    def begin(self) -> list[Stmt]:
        return [Declare(self.cursor, self.first)]

    def advance(self, condition: Expr) -> list[Stmt]:
        return _when(condition, [self.step])

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        inside = [Declare(variable, self.coordinate), *body(), self.step]
        return [*self.begin(), While(self.alive, inside)]


def dimension(variable: Var, extent: Expr, present: Expr | None = None) -> Counted:
    """All coordinates of a dimension."""
    end = extent if present is None else select(present, extent, ZERO)
    return Counted(variable, ZERO, end, variable, ZERO)


def sought_position(crd: Expr, first: Expr, end: Expr, coordinate: Expr) -> Expr:
    """The first position, of some, whose coordinate is not below another one."""
    name = replace(crd.type, pointer=False).name
    return Call(f"sought_{name}", (crd, first, end, coordinate), INT)


def sought_range(
    crd: Expr, first: Expr, last: Expr, begin: Expr, end: Expr, extent: Expr
) -> tuple[Expr, Expr]:
    """The positions, of some, with the coordinates from ``begin`` to below ``end``.

    Nothing is sought where the range begins, or ends, with the dimension.
    """
    low: Expr = first
    if begin != ZERO:
        low = select(op(">", begin, ZERO), sought_position(crd, first, last, begin), first)
    high: Expr = last
    if end != extent:
        high = select(op("<", end, extent), sought_position(crd, first, last, end), last)
    return low, high


def _when(condition: Expr, body: list[Stmt]) -> list[Stmt]:
    return body if condition == TRUE else [If([(condition, body)])]


def _named(cursor: Var, end: Expr) -> Var:
    """The end itself if it is a variable, else a variable for it."""
    return end if isinstance(end, Var) else Var(f"{cursor.name}_end")
