"""The loops over one variable, along the lattice of the operands that have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from custard.to_c import lattice
from custard.to_c.coiteration import Coiteration
from custard.to_c.expression import (
    Operand,
    Scalar,
    Total,
    TypedNode,
    is_linear,
    mapped,
    operand_of,
    operands,
    walk,
    without,
)
from custard.to_c.levels import Counted, Iterator, dimension
from custard.to_c.locating import bound, located_at, window
from custard.to_c.loop_ir import (
    BOOL,
    ONE,
    TRUE,
    ZERO,
    Assign,
    Call,
    Declare,
    Expr,
    For,
    If,
    Stmt,
    Var,
    While,
    both,
    either,
    op,
    select,
)
from custard.to_c.outputs import CoordinateRange, Output
from custard.to_c.subsections import Collection, non_empty, reduced_level, subsections
from custard.to_c.values import c_type
from custard.to_c.windows import windowed

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering

# Points of a lattice, and bodies of a kernel, beyond which a loop asks each operand instead.
MOST_POINTS = 7
MOST_BODIES = 40
# How many times as long one fiber is as another, from where on it pays to gallop through it.
_FAR = 16


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
                    one.keep(*kept[key])
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
            return self.asked(asked, dense)
        return self.merged(points, keys, dense)

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

    def merged(
        self, points: Sequence[lattice.Point], keys: Sequence[int], dense: bool
    ) -> list[Stmt]:
        """A loop for each point, with a body for each point below it."""
        lowering = self.lowering
        result: list[Stmt] = []
        for key in self.members(keys):
            result += self.iterators[key].begin()
        counter = Var(self.builder.fresh(self.var.name)) if dense else None
        if counter is not None:
            result.append(Declare(counter, self.limits()[0]))
        far = self.far_apart(points, keys) if counter is None else None
        if far is not None:
            result.append(far)
        bodies = sum(1 for p in points for q in points if q <= p)
        lowering.bodies *= bodies
        for point in points:
            below = [other for other in points if other <= point]
            with self.builder.scope():
                loop = self.merge(point, below, keys, counter, None if far is None else far.var)
                result.append(loop)
        lowering.bodies //= bodies
        return result

    def merge(
        self,
        point: lattice.Point,
        below: Sequence[lattice.Point],
        keys: Sequence[int],
        counter: Var | None,
        far: Var | None = None,
    ) -> Stmt:
        """The loop while all operands of a point have coordinates left.

        ``far``  whether the operand that is behind is to be sought by galloping
        """
        together = [key for key in keys if key in point]
        alive = both(*(self.iterators[key].alive for key in self.members(together)))
        if counter is not None and not together:
            # The rest of the dimension.
            body = self.body({}, keys)
            rest = Declare(self.var, counter)
            return While(
                counter < self.limits()[1],
                [rest, *body, Assign(counter, ONE, "+")],
            )
        inside: list[Stmt] = []
        at: dict[int, Var] = {}
        for key in self.members(together):
            here = Var(self.builder.fresh(f"{self.var.name}{self.label(key)}"))
            inside.append(Declare(here, self.iterators[key].coordinate, const=True))
            at[key] = here
        alone = {other for other in below if len(other) == 1}
        covered = counter is not None or len(alone) == len(together)
        last = covered and len(together) > 0 and len(below) > 1 and self.is_last(keys)
        if counter is None and len(at) > 1:
            if len(below) == 1:
                apart = self.behind(at) if far is None else self.galloped(at, far)
            else:
                others = [] if last else [other for other in below if other != point]
                heads = {key: at[self.members([key])[0]] for key in together}
                apart = self.apart(heads, keys, others, covered, last)
                apart = self.approach(at, together, apart)
            return While(alive, [*inside, self.met(at, keys, apart)])
        if counter is not None:
            inside.append(Declare(self.var, counter, const=True))
        else:
            inside = [Declare(self.var, self.iterators[together[0]].coordinate, const=True)]
            at[together[0]] = self.var
        if last:
            inside += self.masked({key: at[key].eq(self.var) for key in together}, keys)
        else:
            inside += self.cases(at, keys, below, covered and counter is None)
        return While(alive, [*inside, *self.advanced(at, counter)])

    def cases(
        self,
        at: Mapping[int, Var],
        keys: Sequence[int],
        points: Sequence[lattice.Point],
        covered: bool,
    ) -> list[Stmt]:
        """The body of the first of some points all of whose operands are at the coordinate.

        ``covered``  whether one of them is
        """
        cases: list[tuple[Expr, Sequence[Stmt]]] = []
        for point in points:
            chosen = [key for key in at if key in point]
            condition = both(*(at[key].eq(self.var) for key in chosen if at[key] != self.var))
            absent = [key for key in keys if key not in point]
            cases.append((condition, self.body(dict.fromkeys(chosen), absent)))
        if covered and cases:
            cases[-1] = (TRUE, cases[-1][1])
        return _branches(cases)

    def met(self, at: Mapping[int, Var], keys: Sequence[int], apart: Sequence[Stmt]) -> Stmt:
        """Branches on whether all of some operands meet: the body where they do, which is easily
        foreseen for some inputs, and ``apart`` where they do not.

        The C compiler would put the body out of the way, which costs operands with the same
        coordinates, as those of banded matrices, two jumps for each: up to 0.3 of the time.
        """
        first, *others = at.values()
        with self.builder.scope():
            declared = Declare(self.var, first, const=True)
            absent = [key for key in self.members(keys) if key not in at]
            body = [declared, *self.body(dict.fromkeys(at), absent)]
            steps = [step for key in at for step in self.iterators[key].advance(TRUE)]
        equal = both(*(first.eq(other) for other in others))
        met = Call("as_often_as_not", (equal,), BOOL), [*body, *steps]
        match apart:
            case [If(cases, otherwise)]:
                return If([met, *cases], otherwise)
        return If([met], apart)

    def approach(
        self, at: Mapping[int, Var], keys: Sequence[int], apart: Sequence[Stmt]
    ) -> list[Stmt]:
        """Brings together operands that are merged where they meet; ``apart`` are the statements
        where those have met, but not all others."""
        cases: list[tuple[Expr, Sequence[Stmt]]] = []
        for key in (one for one in keys if one in self.joint):
            members = {one: at[one] for one in self.joint[key]}
            first, *others = members.values()
            differ = either(*(op("!=", first, other) for other in others))
            cases.append((differ, self.behind(members)))
        return _branches([*cases, (TRUE, apart)])

    def apart(
        self,
        at: Mapping[int, Var],
        keys: Sequence[int],
        points: Sequence[lattice.Point],
        covered: bool,
        last: bool,
    ) -> list[Stmt]:
        """The statements where some operands do not meet: the body of one of some points, or, where
        only values are left (``last``), statements that depend on no condition."""
        with self.builder.scope():
            found = self.smallest(list(at.values()))
            if last:
                found += self.masked({key: one.eq(self.var) for key, one in at.items()}, keys)
            else:
                found += self.cases(at, keys, points, covered)
            return [*found, *self.advanced(at, None)]

    def far_apart(self, points: Sequence[lattice.Point], keys: Sequence[int]) -> Declare | None:
        """Declares whether one of two intersected fibers is much longer than the other.

        None where that does not matter, or a level cannot be sought in.
        """
        if len(points) != 1 or len(keys) != 2 or len(points[0]) != 2:
            return None
        lengths = []
        for one in (self.iterators[key] for key in keys):
            if one.sought(ZERO) is None:
                return None
            lengths.append(one.left())
        first, second = lengths
        unequal = either(op("<", first * _FAR, second), op("<", second * _FAR, first))
        return Declare(Var(self.builder.fresh("far"), BOOL), unequal, const=True)

    def galloped(self, at: Mapping[int, Var], far: Var) -> list[Stmt]:
        """Goes on where two operands are apart; where lengths are far apart, the one that is behind
        goes to where the other one is.

        The steps are statements of their own: C compilers make branches of a choice between the
        two that each step would ask for, and no processor foresees these.
        """
        (first, here), (second, there) = at.items()
        one, other = self.iterators[first], self.iterators[second]
        sought = If([(here < there, one.gallop(there))], other.gallop(here))
        return [If([(far, [sought])], self.behind(at))]

    def behind(self, at: Mapping[int, Var]) -> list[Stmt]:
        """Goes on with those of some operands that are behind another one."""
        steps: list[Stmt] = []
        for key, own in at.items():
            condition = either(*(own < other for other in at.values() if other != own))
            steps += self.iterators[key].advance(condition)
        return steps

    def advanced(self, at: Mapping[int, Var], counter: Var | None) -> list[Stmt]:
        """Goes on from a coordinate, which some operands are at."""
        steps: list[Stmt] = []
        for key, here in at.items():
            condition = TRUE if here == self.var else here.eq(self.var)
            for one in self.members([key]):
                steps += self.iterators[one].advance(condition)
        if counter is not None:
            steps.append(Assign(counter, ONE, "+"))
        return steps

    def is_last(self, keys: Sequence[int]) -> bool:
        """Whether only values are left to be computed, of operands that are all there."""
        done = all(o.left in ((), (self.variable,)) for o in operands(self.tree))
        totals = any(isinstance(node, Total) for node in walk(self.tree))
        there = all(
            o.place.present is None and (o.key not in self.located or not o.left)
            for o in operands(self.tree)
        )
        last = not self.rest and not self.guards
        return last and done and there and not totals and min(keys) >= 0

    def masked(self, here: Mapping[int, Expr], keys: Sequence[int]) -> list[Stmt]:
        """The one body for all points: the values of all operands, 0 for those not at it.

        Loads that depend on no condition do not branch.
        """
        loads: list[Stmt] = []
        here = {one: there for key, there in here.items() for one in self.members([key])}

        def change(node: TypedNode) -> TypedNode:
            if not isinstance(node, Operand) or node.key not in here:
                return node
            var = Var(self.builder.fresh(f"{node.slot.name}_value"), c_type(node.dtype))
            position = self.iterators[node.key].position
            loads.append(Declare(var, self.storage.value_array(node)[position], const=True))
            return Scalar(node.dtype, var, here[node.key], zero=False)

        absent = [key for key in self.members(keys) if key not in here]
        tree = without(self.tree, absent)
        assert tree is not None
        output = self.output.bind(self.variable, self.var)
        tree = bound(self.storage, mapped(tree, change), output)
        return [
            *loads,
            *output.enter(self.variable),
            *self.lowering.written(tree, output),
            *output.leave(self.variable),
        ]

    def smallest(self, candidates: Sequence[Var]) -> list[Stmt]:
        """Declares the loop's variable as the smallest of some coordinates."""
        first, *others = candidates
        if len(others) == 1:
            least = select(first < others[0], first, others[0])
            return [Declare(self.var, least, const=True)]
        steps = [If([(one < self.var, [Assign(self.var, one)])]) for one in others]
        return [Declare(self.var, first), *steps]

    def asked(self, keys: Sequence[int], dense: bool) -> list[Stmt]:
        """One loop over all operands, each of which is asked at each coordinate."""
        result: list[Stmt] = []
        for key in keys:
            result += self.iterators[key].begin()
        begin, extent = self.limits()
        inside: list[Stmt] = []
        at: dict[int, Var] = {}
        for key in keys:
            iterator = self.iterators[key]
            here = Var(self.builder.fresh(f"{self.var.name}{self.label(key)}"))
            coordinate = select(iterator.alive, iterator.coordinate, extent)
            inside.append(Declare(here, coordinate, const=True))
            at[key] = here
        present: dict[int, Expr | None] = {}
        if not dense:
            inside += self.smallest(list(at.values()))
        for key in keys:
            flag = Var(self.builder.fresh(f"{at[key].name}_here"), BOOL)
            inside.append(Declare(flag, at[key].eq(self.var), const=True))
            present[key] = flag
        inside += self.body(present, ())
        for key in keys:
            condition = present[key]
            assert condition is not None
            inside += self.iterators[key].advance(condition)
        if dense:
            return [*result, For(self.var, begin, extent, inside)]
        alive = either(*(self.iterators[key].alive for key in keys))
        return [*result, While(alive, inside)]


def _counts(iterator: Iterator) -> bool:
    """Whether positions of an iterator are counted by its coordinates."""
    return isinstance(iterator, Counted) and iterator.coordinate == iterator.cursor


def _branches(cases: Sequence[tuple[Expr, Sequence[Stmt]]]) -> list[Stmt]:
    """The first case that holds; the last may hold always."""
    if not cases:
        return []
    if cases[0][0] == TRUE:
        return list(cases[0][1])
    if cases[-1][0] == TRUE:
        return [If(cases[:-1], cases[-1][1])]
    return [If(cases)]
