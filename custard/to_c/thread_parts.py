"""Sparse results that threads assemble in parts, one for each share of a loop.

A thread appends the entries of a share to arrays of its own. Once the entries of all shares before
are counted, the place of the part in the result is known, and the part is copied there: mostly at
once, while it is in the cache. No thread waits for an earlier share: the part waits, the thread
goes on with the next share, and whoever comes by later copies the part. So the threads are all busy
to the end, and no page of memory is touched but those of the result.

    the arrays of a share:  X_parts[thread], if it is copied at once, to be used again
                            X_parts[threads + share], if it waits
    one thread:             the arrays of the result themselves

The result grows while no thread copies; a part that does not fit waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from custard.to_c.assembly import Assembly
from custard.to_c.builder import THREADS, exists, resized
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    ONE,
    TRUE,
    ZERO,
    Assign,
    Call,
    CallStatement,
    Const,
    Declare,
    Expr,
    Field,
    For,
    If,
    Op,
    Param,
    Require,
    Stmt,
    Type,
    Var,
    While,
    array,
    both,
    cast,
    either,
    op,
)
from custard.to_c.outputs import TensorOutput
from custard.to_c.turns import Turns, several
from custard.to_c.values import number

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering

# How many shares a thread gets, and of how many values each at least: so few entries that they stay
# in the cache until they are copied.
_LEAST, _MOST, _VALUES = Const(4), Const(256), 16


class ThreadParts:
    """The parts of a result.

    ``thread``  the number of the thread, ``limits`` those of the share at hand
    ``rows``   gives the parents of the first level that is appended to which a share alone writes,
               for its first value and the one behind its last; None where they are not known
    """

    def __init__(
        self,
        lowering: Lowering,
        output: TensorOutput,
        turns: Turns,
        thread: Var,
        limits: tuple[Expr, Expr],
        rows: Callable[[Expr, Expr], tuple[Expr, Expr]] | None,
    ) -> None:
        self.builder, self.assembly, self.turns = lowering.builder, output.assembly, turns
        self.dtype, self.thread, self.limits, self.rows = output.dtype, thread, limits, rows
        name = self.assembly.name
        self.type = Type(f"struct {name}", pointer=True)
        self.parts = Var(self.builder.fresh(f"{name}_parts"), self.type)
        self.whole = Var(self.builder.fresh(f"{name}_whole"), self.type)
        self.own = Param(name, self.type)
        self.places = [
            Var(self.builder.fresh(f"{name}_places{unit.last}"), array(INT))
            for unit in self.assembly.units
        ]
        self.builder.outer += self.places
        lowering.parts = self.parts, self.count

    @property
    def count(self) -> Expr:
        """The number of structs of parts: of the threads, and of the shares."""
        return THREADS + self.state("count")

    @property
    def structs(self) -> dict[str, str]:
        """The struct that a thread fills, by that of the result."""
        name = self.assembly.name
        return {name: f"threads > 1 ? {self.parts.name} + {self.thread.name} : {name}"}

    @property
    def most(self) -> Expr:
        """The number of shares; one to a thread where each of them goes through all rows."""
        if self.rows is None and self.assembly.units[0].first:
            return THREADS
        return most_shares(self.turns)

    @property
    def parents(self) -> Expr:
        """The number of parents of the first level that is appended to."""
        return self.assembly.block(0, self.assembly.units[0].first)

    def state(self, name: str) -> Field:
        """What is known of the shares."""
        return Field(self.turns.state.name, name)

    def state_call(self, function: str) -> Stmt:
        """Calls a function on what is known of the shares."""
        return CallStatement(Call(function, (self.turns.state,)))

    def field(self, struct: Var, member: Field) -> Field:
        """A member of a part, or of the result."""
        return Field(struct.name, member.name, member.type)

    def part(self, n: Expr) -> Expr:
        """The struct of a part."""
        return Op("+", (self.parts, n), self.type)

    def range(self, limits: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
        """The parents that a share writes, of its first value and the one behind its last."""
        return (ZERO, self.parents) if self.rows is None else self.rows(*limits)

    # The statements before all threads

    def before(self) -> list[Stmt]:
        """Makes the structs of the parts, and the arrays of their places."""
        size = Op("sizeof", (self.parts,), INT)
        n, part = Var(self.builder.fresh("n")), Var(self.builder.fresh("part"), self.type)
        sizes: list[Stmt] = [
            Assign(Field(part.name, f"size{level}"), self.assembly.size(level))
            for level in range(len(self.assembly.levels))
        ]
        return [
            Declare(self.whole, Param(self.assembly.name, self.type)),
            Assign(self.parts, Call("calloc", (self.count, size), self.type)),
            *(resized(var, ZERO, self.turns.count + 1, zeroed=True) for var in self.places),
            Require(both(exists(self.parts), *map(exists, self.places))),
            For(n, ZERO, THREADS, [Declare(part, self.part(n)), *sizes]),
            *self.zeroed(),
        ]

    def zeroed(self) -> list[Stmt]:
        """Zeroes the segments that shares add to."""
        if self.rows is not None:
            return []
        p = Var(self.builder.fresh("p"))
        segments = self.field(self.whole, self.assembly.units[0].segments)
        zero = Assign(segments[p], cast(ZERO, self.assembly.index))
        return [For(p, ZERO, self.parents + 1, [zero])]

    # The statements of a share

    def first(self) -> list[Stmt]:
        """An empty part."""
        assembly, unit = self.assembly, self.assembly.units[0]
        p = Var(self.builder.fresh("p"))
        begin, end = self.range(self.limits)
        made = [resized(unit.segments, ZERO, self.parents + 1)]
        room = [
            either(op("<", ZERO, one.capacity), assembly.grow(n, ONE))
            for n, one in enumerate(assembly.units)
        ]
        return [
            *(Declare(one.count, ZERO) for one in assembly.units),
            If([(op("==", unit.segments, Const(None, unit.segments.type)), made)]),
            Require(both(exists(unit.segments), *room)),
            For(p, begin, end + 1, [Assign(unit.segments[p], cast(ZERO, assembly.index))]),
        ]

    def last(self) -> list[Stmt]:
        """The part is completed, counted, and copied if its place is known."""
        return [
            *self.assembly.completed(self.range(self.limits)),
            If([(op("<", ONE, THREADS), self.copied())]),
        ]

    def copied(self) -> list[Stmt]:
        """The part is counted, and those whose places are known then are copied."""
        fresh, share, known = self.builder.fresh, self.turns.share, self.state("known")
        more, fits, has_room = (Var(fresh(name), BOOL) for name in ("more", "fits", "has_room"))
        part, after = Var(fresh("part")), Var(fresh("next"))
        source = Var(fresh(f"{self.assembly.name}_part"), self.type)
        copying = self.state("copying")
        enough, grown = self.room(after + 1)
        is_own, ready = op("<", part, ZERO), after < known
        may_grow = both(ready, Op("!", (fits,), BOOL), op("==", copying, ZERO))
        at_once = both(is_own, fits, op("==", after, share))
        waits = [
            If([(is_own, self.waits(share))]),
            Assign(source, self.part(THREADS + after)),
        ]
        ended = If([(Op("!", (fits,), BOOL), [self.state_call("end_turns")])])
        placed = [Assign(self.state("placed"), ONE, "+"), Assign(copying, ONE, "+")]
        claimed: list[Stmt] = [
            If([(is_own, self.counted())], [Assign(copying, ONE, "-")]),
            Declare(after, self.state("placed"), const=True),
            Declare(fits, both(ready, enough)),
            If([(may_grow, [Assign(fits, grown), Assign(has_room, fits), ended])]),
            Assign(source, self.own),
            If([(Op("!", (at_once,), BOOL), waits)]),
            If([(fits, placed)]),
            Assign(more, fits),
            Assign(part, after),
            self.state_call("unlock_turns"),
        ]
        moved = If([(more, self.moved(part, source))])
        return [
            Declare(part, Const(-1)),
            Declare(source, self.own),
            Declare(has_room, TRUE),
            Declare(more, TRUE),
            While(more, [self.state_call("lock_turns"), *claimed, moved]),
            Require(has_room),
        ]

    def counted(self) -> list[Stmt]:
        """Counts the part of a share, and finds the places of those behind."""
        known, share = self.state("known"), self.turns.share
        counts = [
            Assign(places[share + 1], unit.count)
            for unit, places in zip(self.assembly.units, self.places, strict=True)
        ]
        counted = Field(self.turns.state.name, "counted", array(BOOL))
        summed = [Assign(places[known + 1], places[known], "+") for places in self.places]
        return [
            *counts,
            *self.added(),
            Assign(counted[share], TRUE),
            While(
                both(known < self.state("count"), counted[known]),
                [*summed, Assign(known, ONE, "+")],
            ),
        ]

    def added(self) -> list[Stmt]:
        """Adds the segments of a share to those of the result, if the share is not alone there."""
        if self.rows is not None:
            return []
        p, segments = Var(self.builder.fresh("p")), self.assembly.units[0].segments
        add = Assign(self.field(self.whole, segments)[p + 1], segments[p + 1], "+")
        return [For(p, ZERO, self.parents, [add])]

    def room(self, n: Expr) -> tuple[Expr, Expr]:
        """Whether the result has room for all parts before the n-th, and whether it gets it."""
        enough, grown = [], []
        for unit, (level, places) in zip(self.assembly.units, enumerate(self.places), strict=True):
            capacity = self.field(self.whole, unit.capacity)
            fits = op("<=", places[n], capacity)
            call = Call(self.assembly.functions[level].name, (self.whole, places[n]), BOOL)
            enough.append(fits)
            grown.append(either(fits, call))
        return both(*enough), both(*grown)

    def waits(self, share: Expr) -> list[Stmt]:
        """The arrays of the thread become those of the share's part, which waits."""
        waiting = Var(self.builder.fresh("waiting"), self.type)
        found: list[Stmt] = [Declare(waiting, self.part(THREADS + share))]
        for member in self.assembly.arrays():
            found.append(Assign(self.field(waiting, member), member))
            found.append(Assign(member, Const(None, member.type)))
        for unit in self.assembly.units:
            found.append(Assign(unit.capacity, ZERO))
        return found

    def moved(self, n: Var, source: Var) -> list[Stmt]:
        """Copies a part to its place; its arrays are used again, or freed."""
        builder, assembly, whole = self.builder, self.assembly, self.whole
        found: list[Stmt] = []
        clear: list[Stmt] = []
        above: Expr = ONE
        outer: Expr = ZERO
        for u, (unit, places) in enumerate(zip(assembly.units, self.places, strict=True)):
            begin, count = Var(builder.fresh("begin")), Var(builder.fresh("count"))
            found += [
                Declare(begin, places[n], const=True),
                Declare(count, places[n + 1] - begin, const=True),
            ]
            first = assembly.units[u - 1].last + 1 if u else 0
            block = assembly.block(first, unit.first)
            segments, own = (self.field(one, unit.segments) for one in (whole, source))
            limits = (ZERO, above * block) if u else self.range(self.turns.limits(n))
            p = Var(builder.fresh("p"))
            value = cast(cast(own[p + 1], INT) + begin, assembly.index)
            if u or self.rows is not None:
                to = outer * block + p + 1
                found.append(For(p, *limits, [Assign(segments[to], value)]))
            if u:
                q = Var(builder.fresh("p"))
                zero = Assign(own[q], cast(ZERO, assembly.index))
                clear.append(For(q, ZERO, above * block + 1, [zero]))
            for crd in unit.coordinates.values():
                found.append(self.copy(crd, source, begin, count, unit.capacity))
            above, outer = count, begin
        block = assembly.block(assembly.units[-1].last + 1, len(assembly.levels))
        assert isinstance(assembly.values, Field)
        room = assembly.units[-1].capacity
        found.append(self.copy(assembly.values, source, outer * block, above * block, room))
        if block != ONE:
            q = Var(builder.fresh("p"))
            place = self.field(source, assembly.values)[q]
            clear.append(For(q, ZERO, above * block, [Assign(place, number(0, self.dtype))]))
        freed: list[Stmt] = []
        for member in assembly.arrays():
            freed.append(CallStatement(Call("free", (self.field(source, member),))))
            freed.append(Assign(self.field(source, member), Const(None, member.type)))
        waited = op("!=", source, self.own)
        again = If([(waited, freed)], clear)
        return [*found, again]

    def copy(self, member: Field, source: Var, begin: Expr, count: Expr, room: Field) -> Stmt:
        """Copies the elements of an array of a part to their place in the result, where there is
        ``room`` for so many."""
        to, old = self.field(self.whole, member), self.field(source, member)
        each, place = Op("sizeof", (to,), INT), Op("+", (to, begin), to.type)
        whole = self.field(self.whole, room) * each
        return CallStatement(Call("placed", (place, old, count * each, whole)))


def most_shares(turns: Turns) -> Expr:
    """The number of shares of a loop each of which has rows of its own."""
    return several(_LEAST, _MOST, op("/", turns.extent, THREADS * _VALUES))


def begins(assembly: Assembly, parent: Expr) -> list[Stmt]:
    """Declares the counts of positions where those of a share begin in a result whose coordinates
    are there: below a parent of its first compressed level."""
    found: list[Stmt] = []
    for n, unit in enumerate(assembly.units):
        if n:
            above = assembly.units[n - 1]
            parent = above.count * assembly.block(above.last + 1, unit.first)
        found.append(Declare(unit.count, cast(unit.segments[parent], INT)))
    return found
