"""The loops over one variable of several operands: where they meet, and where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from custard.to_c import lattice
from custard.to_c.expression import (
    Operand,
    Scalar,
    Total,
    TypedNode,
    mapped,
    operands,
    walk,
    without,
)
from custard.to_c.locating import bound
from custard.to_c.loop_ir import (
    BOOL,
    ONE,
    TRUE,
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
from custard.to_c.unequal_loops import UnequalLoops
from custard.to_c.values import c_type

if TYPE_CHECKING:
    from custard.to_c.loop_nest import VariableLoops


class MergedLoops:
    """The loops over one variable that go through several operands, which are set up."""

    def __init__(self, loops: VariableLoops) -> None:
        self.loops, self.builder, self.var = loops, loops.builder, loops.var
        self.iterators, self.joint = loops.iterators, loops.joint

    def merged(
        self, points: Sequence[lattice.Point], keys: Sequence[int], dense: bool
    ) -> list[Stmt]:
        """A loop for each point, with a body for each point below it."""
        lowering = self.loops.lowering
        result: list[Stmt] = []
        for key in self.loops.members(keys):
            result += self.iterators[key].begin()
        counter = Var(self.builder.fresh(self.var.name)) if dense else None
        if counter is not None:
            result.append(Declare(counter, self.loops.limits()[0]))
        unequal = UnequalLoops(self) if counter is None else None
        declared = [] if unequal is None else unequal.declared(points)
        result += declared
        unequal = unequal if declared else None
        bodies = sum(1 for p in points for q in points if q <= p)
        lowering.bodies *= bodies
        for point in points:
            below = [other for other in points if other <= point]
            with self.builder.scope():
                loop = self.merge(point, below, keys, counter, unequal)
            if unequal is None:
                result.append(loop)
                continue
            with self.builder.scope():
                result += unequal.beside(loop, point, below, keys)
        lowering.bodies //= bodies
        return result

    def merge(
        self,
        point: lattice.Point,
        below: Sequence[lattice.Point],
        keys: Sequence[int],
        counter: Var | None,
        unequal: UnequalLoops | None = None,
    ) -> While:
        """The loop while all operands of a point have coordinates left.

        ``unequal``  tells where those that are behind are to be sought by galloping
        """
        together = [key for key in keys if key in point]
        alive = both(*(self.iterators[key].alive for key in self.loops.members(together)))
        if counter is not None and not together:
            # The rest of the dimension.
            body = self.loops.body({}, keys)
            rest = Declare(self.var, counter)
            return While(
                counter < self.loops.limits()[1],
                [rest, *body, Assign(counter, ONE, "+")],
            )
        at = self.heads(self.loops.members(together))
        inside: list[Stmt] = [
            Declare(here, self.iterators[key].coordinate, const=True) for key, here in at.items()
        ]
        alone = {other for other in below if len(other) == 1}
        covered = counter is not None or len(alone) == len(together)
        last = covered and len(together) > 0 and len(below) > 1 and self.is_last(keys)
        if counter is None and len(at) > 1:
            if len(below) == 1:
                apart = self.behind(at)
                if unequal is not None and unequal.is_inside(point, below):
                    apart = [If([(unequal.far, unequal.galloped(at))], apart)]
            else:
                others = [] if last else [other for other in below if other != point]
                heads = {key: at[self.loops.members([key])[0]] for key in together}
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
            cases.append((condition, self.loops.body(dict.fromkeys(chosen), absent)))
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
            absent = [key for key in self.loops.members(keys) if key not in at]
            body = [declared, *self.loops.body(dict.fromkeys(at), absent)]
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

    def heads(self, keys: Iterable[int]) -> dict[int, Var]:
        """The variables for the coordinates that some operands are at."""
        return {key: Var(self.builder.fresh(f"{self.var.name}{self.loops.label(key)}"))
                for key in keys}  # fmt: skip

    def behind(self, at: Mapping[int, Var]) -> list[Stmt]:
        """Goes on with those of some operands that are behind another one.

        The steps are statements of their own: C compilers make branches of a choice between the
        two that each step would ask for, and no processor foresees these.
        """
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
            for one in self.loops.members([key]):
                steps += self.iterators[one].advance(condition)
        if counter is not None:
            steps.append(Assign(counter, ONE, "+"))
        return steps

    def is_last(self, keys: Sequence[int]) -> bool:
        """Whether only values are left to be computed, of operands that are all there."""
        done = all(o.left in ((), (self.loops.variable,)) for o in operands(self.loops.tree))
        totals = any(isinstance(node, Total) for node in walk(self.loops.tree))
        there = all(
            o.place.present is None and (o.key not in self.loops.located or not o.left)
            for o in operands(self.loops.tree)
        )
        last = not self.loops.rest and not self.loops.guards
        return last and done and there and not totals and min(keys) >= 0

    def masked(self, here: Mapping[int, Expr], keys: Sequence[int]) -> list[Stmt]:
        """The one body for all points: the values of all operands, 0 for those not at it.

        Loads that depend on no condition do not branch.
        """
        loads: list[Stmt] = []
        here = {one: there for key, there in here.items() for one in self.loops.members([key])}

        def change(node: TypedNode) -> TypedNode:
            if not isinstance(node, Operand) or node.key not in here:
                return node
            var = Var(self.builder.fresh(f"{node.slot.name}_value"), c_type(node.dtype))
            position = self.iterators[node.key].position
            loads.append(Declare(var, self.loops.storage.value_array(node)[position], const=True))
            return Scalar(node.dtype, var, here[node.key], zero=False)

        absent = [key for key in self.loops.members(keys) if key not in here]
        tree = without(self.loops.tree, absent)
        assert tree is not None
        output = self.loops.output.bind(self.loops.variable, self.var)
        tree = bound(self.loops.storage, mapped(tree, change), output)
        return [
            *loads,
            *output.enter(self.loops.variable),
            *self.loops.lowering.written(tree, output),
            *output.leave(self.loops.variable),
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
        begin, extent = self.loops.limits()
        inside: list[Stmt] = []
        at: dict[int, Var] = {}
        for key in keys:
            iterator = self.iterators[key]
            here = Var(self.builder.fresh(f"{self.var.name}{self.loops.label(key)}"))
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
        inside += self.loops.body(present, ())
        for key in keys:
            condition = present[key]
            assert condition is not None
            inside += self.iterators[key].advance(condition)
        if dense:
            return [*result, For(self.var, begin, extent, inside)]
        alive = either(*(self.iterators[key].alive for key in keys))
        return [*result, While(alive, inside)]


def _branches(cases: Sequence[tuple[Expr, Sequence[Stmt]]]) -> list[Stmt]:
    """The first case that holds; the last may hold always."""
    if not cases:
        return []
    if cases[0][0] == TRUE:
        return list(cases[0][1])
    if cases[-1][0] == TRUE:
        return [If(cases[:-1], cases[-1][1])]
    return [If(cases)]
