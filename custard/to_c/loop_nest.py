"""The loops over one variable: what they go through, and their bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from custard.to_c import lattice
from custard.to_c.coiteration import Coiteration
from custard.to_c.expression import (
    Operand,
    TypedNode,
    is_linear,
    mapped,
    operand_of,
    operands,
    without,
)
from custard.to_c.levels import Counted, Iterator, dimension
from custard.to_c.locating import bound, located_at, window
from custard.to_c.loop_ir import (
    ONE,
    ZERO,
    Declare,
    Expr,
    For,
    If,
    Stmt,
    Var,
    both,
    op,
)
from custard.to_c.merged_loops import MergedLoops
from custard.to_c.outputs import CoordinateRange, Output
from custard.to_c.subsections import Collection, non_empty, reduced_level, subsections
from custard.to_c.windows import windowed

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering

# Points of a lattice, and bodies of a kernel, beyond which a loop asks each operand instead.
MOST_POINTS = 7
MOST_BODIES = 40


class VariableLoops:
    """The loops over one variable.

    ``begins``  of each operand that the variable does not resolve, where its next level begins
    ``joint``   the keys of operands that a union only has together, by one key for all of them
    """

    def __init__(
        self,
        lowering: Lowering,
        variable: str,
        rest: Sequence[str],
        tree: TypedNode,
        output: Output,
        where: Coiteration,
        region: CoordinateRange | None = None,
    ) -> None:
        self.lowering, self.builder, self.storage = lowering, lowering.builder, lowering.storage
        self.variable, self.rest, self.tree, self.output = variable, rest, tree, output
        self.located, self.conditional = where.located, where.conditional
        self.var = self.builder.loop_variable(self.builder.name_of(variable))
        self.iterators: dict[int, Iterator] = {}
        self.begins: dict[int, Expr | None] = {}
        self.joint: dict[int, tuple[int, ...]] = {}
        self.collections: list[Collection] = []
        self.clipped = False
        self.region, self.guards = region, list[Expr]()
        self.formula = lattice.replaced(where.formula, self._guard)

    def _guard(self, when: lattice.When) -> lattice.Formula:
        """Stands for a condition in a union: the whole dimension, or nothing of it."""
        key = -1 - len(self.iterators)
        cursor = Var(self.builder.fresh(f"{self.var.name}_all"))
        extent = self.storage.extent(self.variable)
        self.iterators[key] = dimension(cursor, extent, when.condition)
        return lattice.Has(key)

    def statements(self) -> list[Stmt]:
        """The loops along the lattice."""
        points = lattice.points(self.formula, MOST_POINTS)
        keys = lattice.iterated(self.formula)
        dense = lattice.is_dense(self.formula)
        alone = points is not None and len(points) == 1 and len(keys) <= 1
        ordered = not alone or self.variable in self.output.appended
        for key in keys:
            if key >= 0:
                self.iterators[key] = self.iterator(key, ordered)
        self.restrict(alone)
        if not dense:
            self.output.skips([self.variable])
        room: list[Stmt] = []
        most = None if self.rest else self.most(self.formula)
        if most is not None and not self.is_single(keys):
            self.output, room = self.output.reserve(self.variable, most)
        filled = [step for one in self.collections for step in one.before()]
        emptied = [step for one in self.collections for step in one.after()]
        return [*filled, *room, *self.loops(points, keys, dense), *emptied]

    def join(self, keys: Sequence[int]) -> int:
        """The key of operands that are merged with others where they meet."""
        joint = next(self.lowering.keys)
        self.joint[joint] = tuple(keys)
        return joint

    def members(self, keys: Iterable[int]) -> list[int]:
        """The keys of operands that some keys stand for."""
        return [one for key in keys for one in self.joint.get(key, (key,))]

    def restrict(self, alone: bool) -> None:
        """Keeps to the region: the iterators do, or else each coordinate is looked at."""
        region = self.region
        if region is None:
            return
        extent = self.storage.extent(self.variable)
        kept = {
            key: self.output.kept[at]
            for key in self.iterators
            if key >= 0 and key not in self.begins
            and (at := (key, operand_of(self.tree, key).level)) in self.output.kept
        }  # fmt: skip
        if all(one.restricts() or key in kept for key, one in self.iterators.items()):
            for key, one in self.iterators.items():
                if key in kept and not _counts(one):
                    one.keep(kept[key].first, kept[key].end)
                else:
                    one.restrict(region.begin, region.end, extent)
        else:
            self.guards += [self.var >= region.begin, self.var < region.end]
            self.region = replace(region, begin=ZERO, end=extent)
        if region.step != ONE and not (alone and not self.iterators):
            away = op("%", self.var - region.begin, region.step)
            self.guards.append(away.eq(ZERO))

    def limits(self) -> tuple[Expr, Expr]:
        """Between which coordinates the loops go, if nothing else tells."""
        if self.region is None:
            return ZERO, self.storage.extent(self.variable)
        return self.region.begin, self.region.end

    def is_single(self, keys: Sequence[int]) -> bool:
        """Whether there is just one coordinate."""
        iterators = [self.iterators[key] for key in keys]
        return len(keys) == 1 and all(isinstance(i, Counted) and i.single for i in iterators)

    def loops(
        self, points: Sequence[lattice.Point] | None, keys: Sequence[int], dense: bool
    ) -> list[Stmt]:
        """One of the three kinds of loops."""
        lowering = self.lowering
        if points is not None and len(points) == 1 and len(keys) <= 1:
            return self.alone(keys[0] if keys else None)
        asked = keys
        if not dense:
            formula = lattice.with_joint_operands(self.formula, self.join)
            points, keys = lattice.points(formula, MOST_POINTS), lattice.iterated(formula)
        bodies = sum(1 for p in points or () for q in points or () if q <= p)
        if points is None or lowering.bodies * bodies > MOST_BODIES:
            return MergedLoops(self).asked(asked, dense)
        return MergedLoops(self).merged(points, keys, dense)

    def iterator(self, key: int, ordered: bool) -> Iterator:
        """The iterator over an operand's next level."""
        storage, operand = self.storage, operand_of(self.tree, key)
        level, place = storage.level(operand), operand.place
        unique = ordered or not self.output.adds or not is_linear(self.tree, key)
        at = reduced_level(operand, self.variable)
        if operand.left[:1] != (self.variable,) and at is not None:
            form = operand.computed[at]
            assert form is not None
            sections = subsections(storage, form, self.variable, self.output)
            if at == operand.level and sections.scale > 0:
                found = level.iterate(place, key, True, False)
                self.begins[key] = found.mark
                return non_empty(found, sections, self.builder.fresh)
            self.collections.append(
                Collection(self.lowering, operand, at, self.variable, self.output, self.region)
            )
            self.begins[key] = place.begin
            return self.collections[-1].iterator()
        found = level.iterate(place, key, ordered or place.begin is not None, unique)
        points = window(storage, operand, self.output)
        return found if points is None else windowed(found, points, self.builder.fresh)

    def clip(self, key: int) -> None:
        """Keeps an operand that is alone to where the level below has coordinates."""
        operand, iterator = operand_of(self.tree, key), self.iterators[key]
        levels = operand.slot.levels[operand.level + 1 :]
        if not levels or not isinstance(iterator, Counted) or operand.form is not None:
            return
        if key in self.begins:  # it goes through values of another level's subscript
            return
        below = self.storage.functions[operand.slot.name, operand.level + 1]
        limits = below.limits(operand.place)
        if limits is not None and iterator.coordinate == iterator.cursor:
            iterator.clip(*limits)
            self.clipped = True

    def most(self, formula: lattice.Formula) -> Expr | None:
        """At most how many coordinates the loops go through; None where it is not known."""
        if lattice.is_dense(formula):
            return self.storage.extent(self.variable)
        match formula:
            case lattice.Has(key):
                return self.iterators[key].length()
            case lattice.All(parts):
                return next((n for part in parts if (n := self.most(part)) is not None), None)
            case lattice.Any(parts):
                lengths = [self.most(part) for part in parts]
                known = [length for length in lengths if length is not None]
                return sum(known[1:], start=known[0]) if len(known) == len(lengths) else None
        return self.storage.extent(self.variable)

    def alone(self, key: int | None) -> list[Stmt]:
        """The loop over one operand, or over the whole dimension."""
        if key is None:
            body = self.body({}, ())
            step = ONE if self.region is None else self.region.step
            return [For(self.var, *self.limits(), body, step=step)]
        iterator = self.iterators[key]
        if key >= 0:
            self.clip(key)
        loop = iterator.loop(self.var, lambda: self.body({key: None}, ()))
        # A single coordinate has no block: its declarations hold behind it too.
        declared = {one.var.name for one in loop if isinstance(one, Declare)}
        self.builder.bound |= declared
        self.builder.taken |= declared
        return loop

    def body(self, present: Mapping[int, Expr | None], absent: Sequence[int]) -> list[Stmt]:
        """The body at a coordinate where some operands are present, and others are absent.

        One that is present may be so under a condition.
        """
        lowering = self.lowering
        with self.builder.scope():
            self.builder.bound.add(self.var.name)
            output = self.output.bind(self.variable, self.var)
            before: list[Stmt] = []
            present = {one: there for key, there in present.items() for one in self.members([key])}
            tree = without(self.tree, self.members(absent))
            if tree is None:
                return []
            new_condition = self.conditional or any(one is not None for one in present.values())

            def change(node: TypedNode) -> TypedNode:
                nonlocal new_condition
                if not isinstance(node, Operand):
                    return node
                if node.key in present:
                    iterator = self.iterators[node.key]
                    if node.key in self.begins:
                        condition = present[node.key]
                        known = node.place.present if condition is None else condition
                        begin = self.begins[node.key]
                        place = replace(node.place, begin=begin, present=known)
                        return replace(node, place=place)
                    points = window(self.storage, node, self.output)
                    at = self.var if points is None else points.place(self.var)
                    place = node.place.below(
                        iterator.position, at, iterator.group_end, present[node.key]
                    )
                    return replace(node, place=replace(place, clipped=self.clipped))
                if node.key in self.located and node.left[:1] == (self.variable,):
                    new_condition = True
                    return self.locate(node, before)
                return node

            known = {one.key: one.place.present for one in operands(tree)}
            tree = bound(self.storage, mapped(tree, change), output)
            new_condition |= any(one.place.present != known[one.key] for one in operands(tree))
            inner = lowering.guarded(self.rest, tree, output, new_condition)
            found = [
                *before,
                *output.enter(self.variable),
                *inner,
                *output.leave(self.variable),
            ]
            return [If([(both(*self.guards), found)])] if self.guards else found

    def locate(self, operand: Operand, before: list[Stmt]) -> Operand:
        """An operand whose level may lack the coordinate."""
        level = self.storage.level(operand)
        if operand.form is not None:
            there = located_at(self.storage, operand, self.var, self.output)
            if not level.format.full:
                position = level.cursor()
                before.append(Declare(position, there.position, const=True))
                found = op(">=", position, ZERO)
                there = operand.place.below(position, there.coordinates[-1], None, found)
            return replace(operand, place=there)
        place = level.locate(operand.place, self.var)
        position = level.cursor()
        before.append(Declare(position, place.position, const=True))
        found = op(">=", position, ZERO)
        there = operand.place.below(position, self.var, None, found)
        return replace(operand, place=there)

    def label(self, key: int) -> str:
        """The part of a name that tells the coordinates of an operand from those of others."""
        if key in self.joint:
            return "".join(map(self.label, self.joint[key]))
        return operand_of(self.tree, key).slot.name if key >= 0 else "all"


def _counts(iterator: Iterator) -> bool:
    """Whether positions of an iterator are counted by its coordinates."""
    return isinstance(iterator, Counted) and iterator.coordinate == iterator.cursor
