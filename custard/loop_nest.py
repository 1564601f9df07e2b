"""The loops over one variable, along the lattice of the operands that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from custard import lattice
from custard.kernel_tree import Node, Operand, is_linear, mapped, without
from custard.level_functions import Iterator, dimension
from custard.loop_ir import (
    BOOL,
    ONE,
    TRUE,
    ZERO,
    Assign,
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
from custard.outputs import Output, TensorOutput

if TYPE_CHECKING:
    from custard.loop_lowering import Lowering

# Points of a lattice, and bodies of a kernel, beyond which a loop asks each operand instead.
MOST_POINTS = 7
MOST_BODIES = 40


class Nest:
    """The loops over one variable."""

    def __init__(
        self,
        lowering: Lowering,
        variable: str,
        rest: Sequence[str],
        tree: Node,
        output: Output,
        formula: lattice.Formula,
    ) -> None:
        self.lowering, self.builder = lowering, lowering.builder
        self.variable, self.rest, self.tree, self.output = variable, rest, tree, output
        self.located = lowering.located
        self.var = self.builder.loop_variable(lowering.names[variable])
        self.iterators: dict[int, Iterator] = {}
        self.formula = lattice.replaced(formula, self._guard)

    def _guard(self, when: lattice.When) -> lattice.Formula:
        """Stands for a condition in a union: the whole dimension, or nothing of it."""
        key = -1 - len(self.iterators)
        cursor = Var(self.builder.fresh(f"{self.var.name}_all"))
        extent = self.lowering.extent(self.variable)
        self.iterators[key] = dimension(cursor, extent, when.condition)
        return lattice.Has(key)

    def statements(self) -> list[Stmt]:
        """The loops along the lattice."""
        lowering = self.lowering
        points = lattice.points(self.formula, MOST_POINTS)
        keys = lattice.iterated(self.formula)
        dense = lattice.is_dense(self.formula)
        alone = points is not None and len(points) == 1 and len(keys) <= 1
        ordered = not alone or self.variable in self.output.appended
        for key in keys:
            if key >= 0:
                self.iterators[key] = self.iterator(key, ordered)
        if not dense:
            lowering.note_partial(self.output, [self.variable])
        if points is not None and alone:
            return self.alone(keys[0] if keys else None)
        bodies = sum(1 for p in points or () for q in points or () if q <= p)
        if points is None or lowering.bodies * bodies > MOST_BODIES:
            return self.asked(keys, dense)
        return self.merged(points, keys, dense)

    def iterator(self, key: int, ordered: bool) -> Iterator:
        """The iterator over an operand's next level."""
        operand = self.lowering.operand(self.tree, key)
        unique = not (isinstance(self.output, TensorOutput) and self.output.accumulate)
        unique = unique or ordered or not is_linear(self.tree, key)
        level = self.lowering.functions_of(operand)
        return level.iterate(operand.place, key, ordered, unique)

    def alone(self, key: int | None) -> list[Stmt]:
        """The loop over one operand, or over the whole dimension."""
        if key is None:
            body = self.body({}, ())
            return [For(self.var, ZERO, self.lowering.extent(self.variable), body)]
        iterator = self.iterators[key]
        loop = iterator.loop(self.var, lambda: self.body({key: None}, ()))
        self.builder.bound.update(
            one.var.name for one in loop if isinstance(one, Declare) and one.var == self.var
        )
        return loop

    def body(self, present: Mapping[int, Expr | None], absent: Sequence[int]) -> list[Stmt]:
        """What is done at a coordinate where some operands are present, and others are not.

        One that is present may be so under a condition.
        """
        lowering = self.lowering
        with self.builder.scope():
            self.builder.bound.add(self.var.name)
            output = self.output.bind(self.variable, self.var)
            before: list[Stmt] = []
            tree = without(self.tree, absent)
            if tree is None:
                return []
            new_condition = any(condition is not None for condition in present.values())

            def change(node: Node) -> Node:
                nonlocal new_condition
                if not isinstance(node, Operand):
                    return node
                if node.key in present:
                    iterator = self.iterators[node.key]
                    place = node.place.below(
                        iterator.position, self.var, iterator.group_end, present[node.key]
                    )
                    return replace(node, place=place)
                if node.key in self.located and node.left[:1] == (self.variable,):
                    new_condition = True
                    return self.locate(node, before)
                return node

            tree = lowering.bound(mapped(tree, change), output)
            inner = lowering.guarded(self.rest, tree, output, new_condition)
            return [
                *before,
                *output.enter(self.variable),
                *inner,
                *output.leave(self.variable),
            ]

    def locate(self, operand: Operand, before: list[Stmt]) -> Operand:
        """An operand whose level may lack the coordinate."""
        level = self.lowering.functions_of(operand)
        place = level.locate(operand.place, self.var)
        position = level.cursor()
        before.append(Declare(position, place.position, const=True))
        found = op(">=", position, ZERO)
        there = operand.place.below(position, self.var, None, found)
        return replace(operand, place=there)

    def label(self, key: int) -> str:
        """What tells the coordinates of an operand from those of others."""
        return self.lowering.operand(self.tree, key).slot.name if key >= 0 else "all"

    def merged(
        self, points: Sequence[lattice.Point], keys: Sequence[int], dense: bool
    ) -> list[Stmt]:
        """A loop for each point, with a body for each point below it."""
        lowering = self.lowering
        result: list[Stmt] = []
        for key in keys:
            result += self.iterators[key].begin()
        counter = Var(self.builder.fresh(self.var.name)) if dense else None
        if counter is not None:
            result.append(Declare(counter, ZERO))
        bodies = sum(1 for p in points for q in points if q <= p)
        lowering.bodies *= bodies
        for point in points:
            below = [other for other in points if other <= point]
            with self.builder.scope():
                result.append(self.merge(point, below, keys, counter))
        lowering.bodies //= bodies
        return result

    def merge(
        self,
        point: lattice.Point,
        below: Sequence[lattice.Point],
        keys: Sequence[int],
        counter: Var | None,
    ) -> Stmt:
        """The loop while all operands of a point have coordinates left."""
        together = [key for key in keys if key in point]
        alive = both(*(self.iterators[key].alive for key in together))
        if counter is not None and not together:
            # The rest of the dimension.
            body = self.body({}, keys)
            rest = Declare(self.var, counter)
            return While(
                counter < self.lowering.extent(self.variable),
                [rest, *body, Assign(counter, ONE, "+")],
            )
        inside: list[Stmt] = []
        at: dict[int, Var] = {}
        for key in together:
            here = Var(self.builder.fresh(f"{self.var.name}{self.label(key)}"))
            inside.append(Declare(here, self.iterators[key].coordinate, const=True))
            at[key] = here
        if counter is not None:
            inside.append(Declare(self.var, counter, const=True))
        elif len(together) == 1:
            inside = [Declare(self.var, self.iterators[together[0]].coordinate, const=True)]
            at[together[0]] = self.var
        else:
            inside += self.smallest([at[key] for key in together])
        cases: list[tuple[Expr, Sequence[Stmt]]] = []
        for other in below:
            chosen = [key for key in together if key in other]
            condition = both(*(at[key].eq(self.var) for key in chosen if at[key] != self.var))
            absent = [key for key in keys if key not in other]
            cases.append((condition, self.body(dict.fromkeys(chosen), absent)))
        alone = {other for other in below if len(other) == 1}
        if counter is None and len(alone) == len(together):
            cases[-1] = (TRUE, cases[-1][1])  # one of them is at the coordinate
        inside += _branches(cases)
        for key in together:
            here = at[key]
            condition = TRUE if here == self.var else here.eq(self.var)
            inside += self.iterators[key].advance(condition)
        if counter is not None:
            inside.append(Assign(counter, ONE, "+"))
        return While(alive, inside)

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
        extent = self.lowering.extent(self.variable)
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
            return [*result, For(self.var, ZERO, extent, inside)]
        alive = either(*(self.iterators[key].alive for key in keys))
        return [*result, While(alive, inside)]


def _branches(cases: Sequence[tuple[Expr, Sequence[Stmt]]]) -> list[Stmt]:
    """The first case that holds; the last may hold always."""
    if cases[0][0] == TRUE:
        return list(cases[0][1])
    if cases[-1][0] == TRUE:
        return [If(cases[:-1], cases[-1][1])]
    return [If(cases)]
