"""The level functions of each level format, as IR (Chou et al., OOPSLA 2018, Table 2).

``custard.language.formats.LEVEL_FORMATS`` says what a level format can do; how it does it in C
is told here, by one class for each, which declares the arrays of its storage (those of the class of
the same name in ``sam.levels``) and gives

    iterate  the coordinates below a position, as an ``Iterator``
    locate   the position of one coordinate

``Iterator`` is what loops are made of: alone (``loop``), or merged with others, step by step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from custard.language.formats import LEVEL_FORMATS, LevelFormat
from custard.to_c.builder import Builder
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
    Field,
    For,
    If,
    Load,
    Op,
    Stmt,
    Type,
    Var,
    While,
    array,
    both,
    cast,
    op,
    select,
    substituted,
)
from custard.to_c.runtime import INDEX_TYPES
from sam.levels import WORD_BITS


@dataclass(frozen=True)
class Place:
    """Where an operand has got to: the positions and coordinates of the levels that are done.

    ``group_end``  where the last level repeats coordinates: the end of the positions that agree
    ``present``    whether it is there at all; None where that is certain
    ``clipped``    whether it was only gone through where the next level has a coordinate
    """

    positions: tuple[Expr, ...] = (ZERO,)
    coordinates: tuple[Expr, ...] = ()
    group_end: Expr | None = None
    present: Expr | None = None
    clipped: bool = False

    @property
    def position(self) -> Expr:
        """The position in the last level."""
        return self.positions[-1]

    def below(
        self,
        position: Expr,
        coordinate: Expr,
        group_end: Expr | None = None,
        present: Expr | None = None,
    ) -> Place:
        """The place of a coordinate one level below."""
        both = self.present if present is None else present
        return Place((*self.positions, position), (*self.coordinates, coordinate), group_end, both)


START = Place()


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

    def length(self) -> Expr | None:
        """At most how many coordinates there are, before ``begin``; None where it is not known."""
        return None

    @abstractmethod
    def advance(self, condition: Expr) -> list[Stmt]:
        """Goes on to the next coordinate where the condition holds."""


@dataclass
class Counted(Iterator):
    """A cursor that goes from ``first`` to ``end``, one by one.

    ``coordinate``  in terms of the cursor
    ``valid``       whether the cursor has a coordinate at all; None where it always has
    ``single``      there is just one step
    ``increasing``  each coordinate is greater than the one before
    ``limits``      what declares ``first`` and ``end``, where they are clipped
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
        self.cursor = cursor

    def valid_at(self, variable: Var) -> Expr:
        """``valid``, with the coordinate in a variable."""
        assert self.valid is not None
        return substituted(self.valid, self.coordinate, variable)

    def begin(self) -> list[Stmt]:
        last = _named(self.cursor, self.end)
        self.alive = self.cursor < last
        declared: list[Stmt] = [Declare(self.cursor, self.first)]
        if last != self.end:
            declared.append(Declare(last, self.end, const=True))
        if self.valid is not None:
            declared += self._skip()
        return declared

    def length(self) -> Expr | None:
        return self.end if self.first == ZERO else self.end - self.first

    def left(self) -> Expr:
        """How many coordinates there are from the cursor on, after ``begin``."""
        return _named(self.cursor, self.end) - self.cursor

    def sought(self, coordinate: Expr) -> Expr | None:
        """The position of the first coordinate from the cursor on that is not below another one,
        after ``begin``; None where coordinates do not stand in an array, in order."""
        found = self.coordinate
        match found:
            case Op("cast", (inner,)):
                found = inner
        stored = isinstance(found, Load) and found.index == self.cursor
        if not stored or self.valid is not None or self.single or not self.increasing:
            return None
        assert isinstance(found, Load)
        if found.type.name not in INDEX_TYPES:
            return None
        arguments = (found.array, self.cursor, _named(self.cursor, self.end), coordinate)
        return Call(f"sought_{found.type.name}", arguments, INT)

    def clip(self, low: Expr, high: Expr) -> None:
        """Keeps to the coordinates from ``low`` to below ``high``; the cursor is the coordinate."""
        begin, end = Var(f"{self.cursor.name}_begin"), Var(f"{self.cursor.name}_end")
        self.limits = [
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


def _when(condition: Expr, body: list[Stmt]) -> list[Stmt]:
    return body if condition == TRUE else [If([(condition, body)])]


def _named(cursor: Var, end: Expr) -> Var:
    """The end itself where it is a variable already, else a variable for it."""
    return end if isinstance(end, Var) else Var(f"{cursor.name}_end")


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

    def __post_init__(self) -> None:
        self.next = Var(f"{self.cursor.name}_next")
        self.run = Var(f"{self.cursor.name}_run")
        self.last = _named(self.cursor, self.end)
        self.alive = self.cursor < self.last
        self.coordinate = self.coordinate_at(self.cursor)
        self.position = self.cursor
        self.group_end = self.next

    def _limit(self) -> list[Stmt]:
        limit = [] if self.last == self.end else [Declare(self.last, self.end, const=True)]
        return [*limit, Declare(self.run, ONE)]

    def _found(self) -> Expr:
        return self.run_end(self.cursor, self.last, self.run)

    def _measured(self) -> Stmt:
        return Assign(self.run, self.next - self.cursor)

    def length(self) -> Expr | None:
        return self.end - self.first

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
            Declare(self.cursor, self.first),
            *self._limit(),
            Declare(self.next, select(self.alive, self._found(), self.cursor)),
        ]

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
        self.start = self.first
        self.alive = op("!=", self.bits, self._word(0))
        at = (self.word - self.start) * WORD_BITS
        self.coordinate = at + Call("lowest_bit", (self.bits,))

    @staticmethod
    def _word(value: int) -> Expr:
        return Const(value, WORD)

    def begin(self) -> list[Stmt]:
        return [
            Declare(self.word, self.first),
            Declare(self.stop, self.word + self.count, const=True),
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


class LevelFunctions(ABC):
    """The level functions of one level of a tensor.

    ``arrays``   the fields of its storage that are arrays of indices (``words``: of bits)
    ``numbers``  those that are numbers, besides the extent of the mode

    ``innermost`` tells whether there is no level below.
    """

    arrays: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[str, ...]] = ()

    def __init__(self, code: str, tensor: str, level: int, index: Type, names: Builder) -> None:
        self.format: LevelFormat = LEVEL_FORMATS[code]
        self.tensor, self.level, self.index, self.names = tensor, level, index, names
        self.innermost = True

    @classmethod
    def fields(cls, level: int, index: Type) -> list[tuple[str, Type]]:
        """The fields of the tensor's struct for this level, with their types."""
        found: list[tuple[str, Type]] = [(f"size{level}", INT)]
        found += [(f"{name}{level}", INT) for name in cls.numbers]
        for name in cls.arrays:
            found.append((f"{name}{level}", array(WORD if name == "words" else index)))
        return found

    @property
    def size(self) -> Expr:
        """The extent of the level's mode."""
        return Field(self.tensor, f"size{self.level}")

    def array(self, name: str) -> Var:
        """An array of the level's storage."""
        type = WORD if name == "words" else self.index
        return self.names.stored(self.tensor, f"{name}{self.level}", array(type))

    def number(self, name: str) -> Expr:
        """A number of the level's storage."""
        return Field(self.tensor, f"{name}{self.level}")

    def cursor(self) -> Var:
        """A new variable for positions of the level."""
        return Var(self.names.fresh(f"p{self.tensor}{self.level}"))

    @abstractmethod
    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        """The coordinates below a place; ``owner`` numbers the operand whose it is.

        ``ordered`` and ``unique`` ask for iterator conversion where the format is not.
        """

    def positions(self, parents: Expr) -> Expr | None:
        """How many positions the level has for that many parents; None where it does not tell."""
        return parents

    def limits(self, above: Place) -> tuple[Expr, Expr] | None:
        """Between which coordinates of the level above this one has one; None where in all.

        ``above`` is the place of that level's fiber.
        """
        return None

    def locate(self, above: Place, coordinate: Expr) -> Place:
        """The place of a coordinate; for formats that locate."""
        raise TypeError(f"{self.format.name} levels do not locate")


class Dense(LevelFunctions):
    """Positions are numbered parent by parent, as many as the extent for each."""

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        cursor = self.cursor()
        end = _guarded(above, self.size, ZERO)
        return Counted(cursor, ZERO, end, cursor, self.at(above, cursor))

    def positions(self, parents: Expr) -> Expr:
        return parents * self.size

    def at(self, above: Place, coordinate: Expr) -> Expr:
        """The position of a coordinate."""
        return above.position * self.size + coordinate

    def locate(self, above: Place, coordinate: Expr) -> Place:
        return above.below(self.at(above, coordinate), coordinate)


class Compressed(LevelFunctions):
    """The fiber of a parent is the positions from ``segments[parent]`` to the next one."""

    arrays = ("segments", "coordinates")

    def positions(self, parents: Expr) -> Expr:
        return cast(self.array("segments")[parents], INT)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        segments, crd = self.array("segments"), self.array("coordinates")
        first = cast(segments[above.position], INT)
        last = above.position + 1 if above.group_end is None else above.group_end
        end = cast(segments[last], INT)
        first, end = _guarded(above, first, ZERO), _guarded(above, end, ZERO)
        return _listed(self, crd, first, end, above, unique)


class Singleton(LevelFunctions):
    """A coordinate per parent, at the parent's position."""

    arrays = ("coordinates",)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        crd = self.array("coordinates")
        first = above.position
        end = above.position + 1 if above.group_end is None else above.group_end
        if above.present is not None:
            end = select(above.present, end, first)
        return _listed(self, crd, first, end, above, unique)


def _listed(
    level: LevelFunctions, crd: Var, first: Expr, end: Expr, above: Place, unique: bool
) -> Iterator:
    """A list of coordinates, whose duplicates are joined where it may have some."""
    alone = above.group_end is None
    cursor = level.cursor()
    if level.format.branchless:
        # Chains of which one differs from the next further in only have the same coordinate here.
        repeats = not alone and not (level.format.unique and level.innermost)
    else:
        repeats = not level.format.unique or not alone
    if unique and repeats:
        find = f"run_end_{level.index}"
        return Runs(
            cursor,
            first,
            end,
            lambda at: cast(crd[at], INT),
            lambda at, last, run: Call(find, (crd, at, last, run)),
        )
    single = level.format.branchless and alone and above.present is None
    coordinate = cast(crd[cursor], INT)
    return Counted(cursor, first, end, coordinate, cursor, single=single, increasing=not repeats)


class Hashed(LevelFunctions):
    """A table of ``width`` buckets per parent; -1 where one is empty."""

    numbers = ("width",)
    arrays = ("coordinates",)

    def __init__(self, code: str, tensor: str, level: int, index: Type, names: Builder) -> None:
        super().__init__(code, tensor, level, index, names)
        self.scratches: dict[int, Var] = {}

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        crd, width = self.array("coordinates"), self.number("width")
        first = above.position * width
        cursor = self.cursor()
        if ordered:
            sorted_ = self.scratch(owner, width)
            return _Sorted(self, cursor, sorted_, crd, first, above)
        end = _guarded(above, first + width, first)
        found = cast(crd[cursor], INT)
        table = Counted(cursor, first, end, found, cursor, found >= ZERO, increasing=False)
        table.ordered = False
        return table

    def positions(self, parents: Expr) -> Expr:
        return parents * self.number("width")

    def scratch(self, owner: int, width: Expr) -> Var:
        """The array in which an operand's buckets are sorted."""
        if owner not in self.scratches:
            name = f"{self.tensor}{self.level}_sorted"
            self.scratches[owner] = self.names.scratch(name, array(INT), width)
        return self.scratches[owner]

    def locate(self, above: Place, coordinate: Expr) -> Place:
        crd, width = self.array("coordinates"), self.number("width")
        arguments = (crd, width, above.position, coordinate)
        position: Expr = Call(f"locate_hashed_{self.index}", arguments)
        return above.below(_guarded(above, position, Op("-", (ONE,), INT)), coordinate)


class _Sorted(Counted):
    """The buckets of a hash table that are in use, sorted into a scratch array."""

    def __init__(
        self, level: Hashed, cursor: Var, sorted_: Var, crd: Var, first: Expr, above: Place
    ) -> None:
        rank = Var(f"{cursor.name}_rank")
        self.count = Var(f"{cursor.name}_count")
        bucket = sorted_[rank]
        super().__init__(rank, ZERO, self.count, cast(crd[bucket], INT), bucket)
        width = _guarded(above, level.number("width"), ZERO)
        self.width = width
        call = Call(f"sort_buckets_{level.index}", (crd, first, width, sorted_))
        self.sort = Declare(self.count, call, const=True)

    def length(self) -> Expr | None:
        return self.width

    def loop(self, variable: Var, body: Callable[[], Body]) -> list[Stmt]:
        return [self.sort, *super().loop(variable, body)]

    def begin(self) -> list[Stmt]:
        return [self.sort, *super().begin()]


class Range(LevelFunctions):
    """Positions as in a dense level; the coordinates from ``begins[parent]`` to ``ends``."""

    arrays = ("begins", "ends")

    def positions(self, parents: Expr) -> Expr:
        return parents * self.size

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        cursor = self.cursor()
        begin = cast(self.array("begins")[above.position], INT)
        end = cast(self.array("ends")[above.position], INT)
        position = above.position * self.size + cursor
        first, last = _guarded(above, begin, ZERO), _guarded(above, end, ZERO)
        return Counted(cursor, first, last, cursor, position)


class Offset(LevelFunctions):
    """The coordinate above, shifted by what the position two levels above has."""

    arrays = ("offsets",)

    def limits(self, above: Place) -> tuple[Expr, Expr] | None:
        shift = cast(self.array("offsets")[above.position], INT)
        return Op("-", (shift,), INT), self.size - shift

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        shift = cast(self.array("offsets")[above.positions[-2]], INT)
        coordinate = above.coordinates[-1] + shift
        cursor = self.cursor()
        inside = both(coordinate >= ZERO, coordinate < self.size)
        valid = None if above.clipped else inside
        first = above.position
        end = _guarded(above, first + 1, first)
        single = above.present is None
        return Counted(cursor, first, end, coordinate, cursor, valid, single)


class Bitvector(LevelFunctions):
    """A bit per coordinate; the positions are those of the ones, counted by ``ranks``."""

    arrays = ("words", "ranks")

    def words(self) -> Expr:
        """The number of words of a fiber."""
        return op("/", self.size + (WORD_BITS - 1), WORD_BITS)

    def positions(self, parents: Expr) -> Expr:
        return cast(self.array("ranks")[parents * self.words()], INT)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        width = self.words()
        first = _guarded(above, above.position * width, ZERO)
        count = _guarded(above, width, ZERO)
        name = self.cursor().name
        return Bits(name, self.array("words"), self.array("ranks"), first, count)


class Linked(LevelFunctions):
    """A list of nodes per parent: from ``heads[parent]``, each with its next one."""

    arrays = ("heads", "nexts", "coordinates")

    def positions(self, parents: Expr) -> Expr | None:
        return None

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        head = cast(self.array("heads")[above.position], INT)
        first = _guarded(above, head, Op("-", (ONE,), INT))
        return Links(self.cursor(), first, self.array("nexts"), self.array("coordinates"))


def _guarded(above: Place, value: Expr, otherwise: Expr) -> Expr:
    """The value where the place is present."""
    return value if above.present is None else select(above.present, value, otherwise)


LEVEL_FUNCTIONS: dict[str, type[LevelFunctions]] = {
    "d": Dense,
    "s": Compressed,
    "u": Compressed,
    "q": Singleton,
    "c": Singleton,
    "h": Hashed,
    "r": Range,
    "o": Offset,
    "b": Bitvector,
    "l": Linked,
}
