"""Loops over operands whose lengths are far apart: they gallop, and copy what is alone.

A coordinate at which an expression is present is not below a bound: at a product, the largest of
the bounds of its factors; at a sum, the least of those of its terms (worst-case optimal joins do
the same: Veldhuizen, ICDT 2014). An operand that is behind the bound of a product that it is in is
sought there by galloping. A stretch of coordinates that one term of a sum has alone, up to the next
coordinate of the others, has a loop of its own, whose branches are foreseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from custard.to_c import lattice
from custard.to_c.loop_ir import (
    BOOL,
    TRUE,
    ZERO,
    Assign,
    Declare,
    Expr,
    If,
    Op,
    Stmt,
    Var,
    While,
    both,
    either,
    op,
    select,
)

if TYPE_CHECKING:
    from custard.to_c.merged_loops import MergedLoops

# How many times as long one of two fibers is, from where on it pays to gallop through it; with each
# more fiber, as many times more.
_FAR = 6
# How many times as long a term of a sum is as all others, from where on it pays to copy stretches.
_ALONE = 3


class UnequalLoops:
    """The loops over operands that are far apart in length; ``far`` tells whether they are."""

    def __init__(self, merged: MergedLoops) -> None:
        self.merged, self.loops = merged, merged.loops
        self.builder, self.var = merged.loops.builder, merged.loops.var
        self.iterators = merged.loops.iterators
        self.far = Var(self.builder.fresh("far"), BOOL)

    def declared(self, points: Sequence[lattice.Point]) -> list[Stmt]:
        """Declares whether some operands are far apart; nothing where that does not matter, or one
        cannot be sought in."""
        formula = self.loops.formula
        keys = lattice.iterated(formula)
        if len(keys) < 2 or lattice.has_dense_part(formula):
            return []
        if any(self.iterators[key].sought(ZERO) is None for key in keys):
            return []
        if len(points) > 1 and (self.loops.rest or (len(keys) > 2 and self.loops.output.bound)):
            # Loops inside of these would be there twice. The rows of three matrices take 1.07 times
            # as long where all are as long.
            return []
        statements: list[Stmt] = []
        apart: list[Expr] = []
        self._length(formula, statements, apart)
        return [*statements, Declare(self.far, either(*apart), const=True)]

    def _length(self, formula: lattice.Formula, statements: list[Stmt], apart: list[Expr]) -> Expr:
        """About how many coordinates a formula has; ``apart`` takes what tells that one of its
        parts is much longer than the others."""
        match formula:
            case lattice.Has(key):
                return self.iterators[key].left()
            case lattice.All(parts) | lattice.Any(parts):
                found = [self._length(part, statements, apart) for part in parts]
            case _:
                raise AssertionError(formula)
        if isinstance(formula, lattice.Any):
            total = sum(found[1:], start=found[0])
            if len(found) > 2:
                every = Var(self.builder.fresh("every"))
                statements.append(Declare(every, total, const=True))
                total = every
            for one, part in zip(found, parts, strict=True):
                if isinstance(part, lattice.Has):
                    others = [other for other in found if other is not one]
                    rest = others[0] if len(others) == 1 else total - one
                    apart.append(op("<", rest * _ALONE, one))
            return total
        if len(found) == 2 and formula is self.loops.formula:
            first, second = found
            apart += [op("<", first * _FAR, second), op("<", second * _FAR, first)]
            return ZERO  # nobody asks
        least, steps = self.extreme("few", found, least=True)
        statements += steps
        apart += [op("<", least * (_FAR * (len(found) - 1)), one) for one in found]
        return least

    def extreme(self, name: str, values: Sequence[Expr], least: bool) -> tuple[Expr, list[Stmt]]:
        """The least or the largest of some numbers, in a variable."""
        if len(values) == 1:
            return values[0], []
        var, (first, *others) = Var(self.builder.fresh(name)), values

        def better(one: Expr, other: Expr) -> Expr:
            return op("<", one, other) if least else op("<", other, one)

        if len(others) == 1:
            value = select(better(first, others[0]), first, others[0])
            return var, [Declare(var, value, const=True)]
        steps = [If([(better(one, var), [Assign(var, one)])]) for one in others]
        return var, [Declare(var, first), *steps]

    def bound(self, formula: lattice.Formula, at: Mapping[int, Expr]) -> tuple[Expr, list[Stmt]]:
        """The bound of the coordinates of a formula, for operands at some coordinates."""
        match formula:
            case lattice.Has(key):
                return at[key], []
            case lattice.All(parts) | lattice.Any(parts):
                found = [self.bound(part, at) for part in parts]
                name = f"{self.var.name}_bound"
                values = [value for value, _ in found]
                value, steps = self.extreme(name, values, isinstance(formula, lattice.Any))
                return value, [step for _, steps in found for step in steps] + steps
        raise AssertionError(formula)

    def is_inside(self, point: lattice.Point, below: Sequence[lattice.Point]) -> bool:
        """Whether the operands of a point gallop in the loop that merges them otherwise: two that
        only count together, which takes less time than another loop, and those of outer loops."""
        count = len(self.loops.members(point))
        return len(below) == 1 and (count == 2 or bool(self.loops.rest))

    def beside(
        self,
        loop: While,
        point: lattice.Point,
        below: Sequence[lattice.Point],
        keys: Sequence[int],
    ) -> list[Stmt]:
        """The loop that merges the operands of a point, and the one for operands far apart.

        Where several sets of operands may be present, operands of equal length take 1.1 times as
        long if their loop comes last.
        """
        if len(self.loops.members(point)) == 1 or self.is_inside(point, below):
            return [loop]
        other = self.loop(point, below, keys)
        if len(below) == 1:
            return [other, loop]
        near = Op("!", (self.far,), BOOL)
        return [replace(loop, condition=both(near, *self.alive(point, keys))), other]

    def alive(self, point: lattice.Point, keys: Sequence[int]) -> list[Expr]:
        """Whether each operand of a point has coordinates left."""
        together = self.loops.members([key for key in keys if key in point])
        return [self.iterators[key].alive for key in together]

    def galloped(self, at: Mapping[int, Var]) -> list[Stmt]:
        """Goes on where operands that only count together are apart: those that are behind another
        one gallop."""
        if len(at) > 2:
            bound, steps = self.extreme(f"{self.var.name}_bound", list(at.values()), least=False)
            return [*steps, *self.behind(at, bound)]
        (first, here), (second, there) = at.items()
        one, other = self.iterators[first], self.iterators[second]
        return [If([(here < there, one.gallop(there))], other.gallop(here))]

    def behind(self, at: Mapping[int, Var], bound: Expr) -> list[Stmt]:
        """Gallops with those of some operands that are behind a bound."""
        return [If([(one < bound, self.iterators[key].gallop(bound))]) for key, one in at.items()]

    def loop(
        self, point: lattice.Point, below: Sequence[lattice.Point], keys: Sequence[int]
    ) -> Stmt:
        """The loop while all operands of a point have coordinates left, if they are far apart."""
        together = [key for key in keys if key in point]
        members = self.loops.members(together)
        at = self.merged.heads(members)
        inside: list[Stmt] = [
            Declare(here, self.iterators[key].coordinate, const=True) for key, here in at.items()
        ]
        cases: list[tuple[Expr, Sequence[Stmt]]] = []
        formula = lattice.among(self.loops.formula, members)
        assert formula is not None
        used: dict[lattice.Formula, list[int]] = {}
        for key in members:
            where = lattice.where_used(formula, key)
            if where != lattice.ALWAYS:
                used.setdefault(where, []).append(key)
        for where, some in used.items():
            bound, steps = self.bound(where, at)
            inside += steps
            those = {key: at[key] for key in some}
            apart = either(*(one < bound for one in those.values()))
            cases.append((apart, self.behind(those, bound)))
        heads = {key: at[self.loops.members([key])[0]] for key in together}
        alone = [key for key in together if key in at and frozenset((key,)) in below]
        cases += [self.stretch(key, heads, keys) for key in alone if len(heads) > 1]
        left = [one for one in below if len(one) > 1 or not one <= {*alone}]
        otherwise = self.merged.apart(heads, keys, left, covered=True, last=False)
        alive = both(self.far, *self.alive(point, keys))
        return While(alive, [*inside, If(cases, otherwise)])

    def stretch(
        self, key: int, heads: Mapping[int, Var], keys: Sequence[int]
    ) -> tuple[Expr, list[Stmt]]:
        """A loop through the coordinates of an operand up to those of all others, where these are
        ahead of it."""
        own, others = heads[key], [one for other, one in heads.items() if other != key]
        iterator = self.iterators[key]
        nearest, steps = self.extreme(f"{self.var.name}_next", others, least=True)
        with self.builder.scope():
            body = [
                Declare(self.var, iterator.coordinate, const=True),
                *self.loops.body({key: None}, [other for other in keys if other != key]),
                *iterator.advance(TRUE),
            ]
        copied = [*steps, While(both(iterator.alive, iterator.coordinate < nearest), body)]
        return both(*(own < other for other in others)), copied
