"""Loops that a schedule derives: counted loops, and the loop over operands inside of them.

The loops that were derived from a variable are counted, outermost first, all but the last one.
Then the coordinates of the variable are known to lie in a ``CoordinateRange``. Its operands are
iterated over as without a schedule, but within that range: their positions are searched for there
(scheduling paper, Sections 3.3 and 5). A fused loop goes through its variables, one inside of the
other, each within its part of the range. A range of positions becomes a range of coordinates: its
ends are found by searching the levels upwards, and the tensor that owns the positions keeps to the
positions themselves. Only the first and the last coordinates of a range are cut (``whole_rounds``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from custard.to_c.expression import Operand, TypedNode, without
from custard.to_c.levels import LevelFunctions
from custard.to_c.loop_ir import (
    INT,
    ONE,
    ZERO,
    Const,
    Declare,
    Expr,
    For,
    Stmt,
    Var,
    op,
    select,
)
from custard.to_c.outputs import (
    CoordinateRange,
    KeptPositions,
    Output,
    RangedVariable,
)
from custard.to_c.positions import owner
from custard.to_c.whole_rounds import apart, has_whole_rounds
from sam.derivations import Fuse, Rename, Split, parts

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering


# A tile of more values than this has no more than what is split: loops over parts of a tile that is
# far too large would go through all that is not there. Fewer are a constant, by which the C
# compiler unrolls.
_FEW = 64


@dataclass(frozen=True)
class LoopPositions:
    """The positions that a loop goes over, from ``first`` to below ``end``, in the last of the
    ``levels`` of an operand; ``ranges`` has the positions of each of the levels."""

    owner: Operand
    levels: tuple[LevelFunctions, ...]
    ranges: tuple[tuple[Expr, Expr], ...]

    @property
    def first(self) -> Expr:
        return self.ranges[-1][0]

    @property
    def end(self) -> Expr:
        return self.ranges[-1][1]


class DerivedLoop:
    """The loop over the first of some loops, which a schedule has derived."""

    def __init__(
        self, lowering: Lowering, order: Sequence[str], tree: TypedNode, output: Output
    ) -> None:
        self.lowering, self.nest, self.builder = lowering, lowering.nest, lowering.builder
        self.leaf, self.rest = order[0], list(order[1:])
        self.tree, self.output = tree, output
        self.before: list[Stmt] = []
        # The number of the range that the loop is in, if one of its variables is fused.
        self.cut: int | None = None

    def statements(self) -> list[Stmt]:
        """The loop, after the declarations that it needs."""
        stack = self.output.pending.get(self.leaf, (RangedVariable(self.leaf),))
        part, left = stack[0], list(stack[1:])
        name = part.name
        region = None if part.region is None else part.region(self.output)
        self.cut = part.cut
        single = region is not None and region.end == region.begin + 1
        while True:
            primes, made = parts(name)[1], self.nest.made(name)
            match made:
                case None:
                    loops = self.original(name, region, left, single)
                    return [*self.before, *loops]
                case Rename(variable):
                    if self.nest.tensor_of(name) is not None and region is not None:
                        if region.step != ONE:
                            return self.counted(name, region, left, again=True)
                        region = self.coordinates(name, region)
                    name = variable + primes
                case Split(variable, outer, inner):
                    is_outer = parts(name)[0] == outer
                    other = self.value((inner if is_outer else outer) + primes)
                    if other is None:
                        return self.counted(name, region, left)
                    region = self.whole(made, primes, is_outer, other, region)
                    name = variable + primes
                case Fuse(outer, inner):
                    if region is not None and region.step != ONE:
                        return self.counted(name, region, left, again=True)
                    if self.cut is None and region is not None:
                        self.cut = next(self.lowering.keys)
                    found = self.inner(made, primes, region)
                    left.insert(0, RangedVariable(inner + primes, found, self.cut))
                    region = self.outer(made, primes, region)
                    name = outer + primes
                    if region is not None and self.nest.over_positions(outer):
                        # Which values of the inner variable are left depends on the position.
                        return self.counted(name, region, left, again=True)

    # The two kinds of loops

    def original(
        self,
        variable: str,
        region: CoordinateRange | None,
        left: Sequence[RangedVariable],
        single: bool = False,
    ) -> list[Stmt]:
        """The loop over a variable of the program, along the lattice of its operands.

        ``single``  whether the region has one value
        """
        output = self.with_left(left)
        order = [self.leaf, *self.rest] if left else self.rest
        if region is not None and not single and has_whole_rounds(self, variable, region, left):
            return apart(self, variable, region, left)
        loops = self.lowering.nested(variable, order, self.tree, output, region)
        repeats = None if left else self.nest.repeats(self.leaf)
        reached = [] if region is None else output.reach(variable, region)
        return [*reached, *_repeated(loops, repeats or 1)]

    def with_left(self, left: Sequence[RangedVariable]) -> Output:
        """The output where the loop still has to go through some variables."""
        return replace(self.output, pending={**self.output.pending, self.leaf: tuple(left)})

    def counted(
        self,
        name: str,
        region: CoordinateRange | None,
        left: Sequence[RangedVariable],
        again: bool = False,
    ) -> list[Stmt]:
        """A loop that counts, with the rest of the loops in each round.

        ``again`` continues the loop with the sources of the name, a round at a time.
        """
        var = self.builder.loop_variable(self.builder.name_of(name))
        if region is None:
            region = CoordinateRange(ZERO, self.number(f"{var.name}_end", self.extent(name)))
        variables = self.nest.originals(name)
        if {*variables} & {*self.output.appended}:
            # Where there are no rounds, nothing ends the fibers. There are none for any coordinates
            # where the tensor whose positions are shared out has no entry.
            over = variables if self.nest.over_positions(name) else ()
            self.output.skips([*self.output.bound, *over])
        parts_left = list(left)
        if again:
            parts_left.insert(0, RangedVariable(name, lambda output: CoordinateRange(var, var + 1)))
        with self.builder.scope():
            self.builder.bound.add(var.name)
            output = self.output if name == self.leaf and again else self.output.bind(name, var)
            output = replace(output, pending={**output.pending, self.leaf: tuple(parts_left)})
            order = [self.leaf, *self.rest] if parts_left else self.rest
            body = self.lowering.statements(order, self.tree, output)
        repeats = self.nest.repeats(self.leaf) or 1
        loop = For(var, region.begin, region.end, body, unroll=repeats, step=region.step)
        return [*self.before, loop]

    # Regions, upwards

    def whole(
        self, made: Split, primes: str, is_outer: bool, other: Expr, region: CoordinateRange | None
    ) -> CoordinateRange:
        """The region of a variable that was split, one of whose loops is known."""
        extent = self.extent(made.variable + primes)
        if self.goes_further(made.variable + primes):
            extent = self.positive(extent)
        tile = self.tile(made, primes)
        if is_outer:
            begin, step = other, tile
            end = extent
            if region is not None:
                begin = region.begin * tile + other
                end = self.smaller(region.end * tile, extent)
                step = region.step * tile
            return CoordinateRange(
                self.number(made.variable, begin), self.number(made.variable, end), step
            )
        begin = self.number(f"{made.variable}_begin", other * tile)
        if region is None:
            last = self.smaller(begin + tile, extent)
            return CoordinateRange(begin, self.number(f"{made.variable}_end", last))
        last = self.smaller(begin + self.smaller(region.end, tile), extent)
        return CoordinateRange(
            self.number(f"{made.variable}_begin", begin + region.begin),
            self.number(f"{made.variable}_end", last),
            region.step,
        )

    def outer(
        self, made: Fuse, primes: str, region: CoordinateRange | None
    ) -> CoordinateRange | None:
        """The region of the outer of two variables that were fused."""
        if region is None:
            return None
        size = self.positive(self.extent(made.inner + primes))
        begin = op("/", region.begin, size)
        end = select(op("<", region.begin, region.end), op("/", region.end - 1, size) + 1, begin)
        return CoordinateRange(
            self.number(f"{made.outer}_begin", begin), self.number(f"{made.outer}_end", end)
        )

    def inner(
        self, made: Fuse, primes: str, region: CoordinateRange | None
    ) -> Callable[[Output], CoordinateRange] | None:
        """The region of the inner variable, which depends on the outer one."""
        if region is None:
            return None
        size = self.extent(made.inner + primes)
        outer = self.later(made.outer + primes)

        def found(output: Output) -> CoordinateRange:
            at = outer(output) * size
            low, high = region.begin - at, region.end - at
            return CoordinateRange(
                select(op(">", low, ZERO), low, ZERO), select(op("<", high, size), high, size)
            )

        return found

    def later(self, name: str) -> Callable[[Output], Expr]:
        """The value of a variable or loop, as inner loops will know it."""
        primes, made = parts(name)[1], self.nest.made(name)
        match made:
            case Rename(variable):
                return self.known(name, self.later(variable + primes))
            case Fuse(outer, inner):
                above, below = self.later(outer + primes), self.later(inner + primes)
                size = self.extent(inner + primes)
                return self.known(name, lambda output: above(output) * size + below(output))
            case Split(variable, outer, _):
                sign = "/" if parts(name)[0] == outer else "%"
                whole, tile = self.later(variable + primes), self.tile(made, primes)
                return self.known(name, lambda output: op(sign, whole(output), tile))
        return lambda output: output.bound[name]

    def known(self, name: str, found: Callable[[Output], Expr]) -> Callable[[Output], Expr]:
        """The value of a variable or loop, found by search where no loop knows it."""

        def value(output: Output) -> Expr:
            return output.bound[name] if name in output.bound else found(output)

        return value

    # Positions

    def coordinates(self, name: str, region: CoordinateRange) -> CoordinateRange:
        """The range of coordinates of a region of positions; the tensor keeps to the positions."""
        found = self.positions(name)
        low = self.number("low", found.first + region.begin)
        high = self.number("high", self.smaller(found.first + region.end, found.end))
        made = self.nest.made(name)
        assert isinstance(made, Rename)
        whole = self.extent(made.variable + parts(name)[1])
        inside = op("<", low, high)
        begin = select(
            op(">", low, found.first), select(inside, self.recovered(found, low), whole), ZERO
        )
        end = select(op("<", high, found.end), self.recovered(found, high), whole)
        begin = self.number("begin", begin)
        end = self.number("end", select(inside, end, select(op("<", found.first, found.end),
                                                            begin, whole)))  # fmt: skip
        self.cut = next(self.lowering.keys)
        last = found.levels[-1]
        # Levels that hang on a singleton level may repeat its coordinate.
        if last.format.unique and (last.innermost or not last.format.branchless):
            self.keep(found, low, high)
        return CoordinateRange(begin, end)

    def keep(self, found: LoopPositions, low: Expr, high: Expr) -> None:
        """Restricts the tensor to positions, and to the positions above them."""
        kept = dict(self.output.kept)
        level = found.owner.level + len(found.levels) - 1
        key = found.owner.key
        assert self.cut is not None
        kept[key, level] = KeptPositions(low, high, self.cut)
        self.output = replace(self.output, kept=kept)

    def recovered(self, found: LoopPositions, position: Expr) -> Expr:
        """The coordinates of a position, as one number."""
        at, value = position, None
        size: Expr = ONE
        for n in range(len(found.levels) - 1, -1, -1):
            level = found.levels[n]
            own = level.coordinate(at)
            value = own if value is None else own * size + value
            size = size * level.size
            if n:
                at = level.parent(at, *found.ranges[n - 1])
        assert value is not None
        return value

    def places_positions(self, name: str) -> bool:
        """Whether the positions that a loop goes over are known, or were known before the operand's
        values went into a workspace."""
        known = name in self.output.positions
        return known or owner(self.nest, self.tree, name) is not None

    def positions(self, name: str) -> LoopPositions:
        """The positions that a loop goes over, found at the place of the operand."""
        found = owner(self.nest, self.tree, name)
        if found is None:
            return self.output.positions[name]
        functions = self.lowering.storage.functions
        chain = range(found.level, found.level + len(self.nest.originals(name)))
        levels = tuple(functions[found.slot.name, level] for level in chain)
        first: Expr = found.place.position
        end = first + 1 if found.place.group_end is None else found.place.group_end
        if found.place.present is not None:
            end = select(found.place.present, end, first)
        ranges = []
        for n, level in enumerate(levels):
            first, end = level.positions(first), level.positions(end)  # type: ignore[assignment]
            first = self.number(f"first{n}", first)
            end = self.number(f"last{n}", end)
            ranges.append((first, end))
        known = {**self.output.positions, name: LoopPositions(found, levels, tuple(ranges))}
        self.output = replace(self.output, positions=known)
        return known[name]

    # Numbers

    def value(self, name: str) -> Expr | None:
        """The value of a variable or loop, if it is known."""
        if name in self.output.bound:
            return self.output.bound[name]
        used, primes = self.nest.used(name), parts(name)[1]
        match used:
            case Rename(_, new) if self.nest.tensor_of(new) is None:
                return self.value(new + primes)
            case Split(_, outer, inner):
                above, below = self.value(outer + primes), self.value(inner + primes)
                if above is None or below is None:
                    return None
                return above * self.tile(used, primes) + below
        return None

    def extent(self, name: str) -> Expr:
        """How many values a variable or loop has at most."""
        primes, made = parts(name)[1], self.nest.made(name)
        match made:
            case None:
                return self.lowering.storage.extent(name)
            case Rename(variable):
                over = self.nest.tensor_of(name) is not None
                if over and self.places_positions(name):
                    found = self.positions(name)
                    return self.number(f"{name}_size", found.end - found.first)
                return self.extent(variable + primes)
            case Fuse(outer, inner):
                return self.extent(outer + primes) * self.extent(inner + primes)
            case Split(variable, outer, _):
                tile = self.tile(made, primes)
                is_outer = parts(name)[0] == outer
                if not is_outer and isinstance(tile, Const) and made.size <= _FEW:
                    return tile
                size = self.extent(variable + primes)
                count = op("/", size + (tile - 1), tile) if is_outer else self.smaller(tile, size)
                return self.positive(count) if self.goes_further(variable + primes) else count
        raise AssertionError(made)

    def goes_further(self, name: str) -> bool:
        """Whether a loop over positions also goes through coordinates that the tensor does not
        store: then there is a tile for them even where the tensor has no entry."""
        if self.nest.tensor_of(name) is None or not self.places_positions(name):
            return False
        found = owner(self.nest, self.tree, name)
        return found is None or without(self.tree, [found.key]) is not None

    def tile(self, made: Split, primes: str) -> Expr:
        """How many values a tile has."""
        if not made.counts:
            return Const(made.size)
        above = self.extent(made.variable + primes)
        share = op("/", above + (made.size - 1), made.size)
        return self.number(f"{made.inner}_size", select(op(">", above, ZERO), share, ONE))

    def number(self, name: str, value: Expr) -> Expr:
        """A number, in a variable of its own unless it is simple."""
        if isinstance(value, Var | Const):
            return value
        for statement in self.before:
            if isinstance(statement, Declare) and statement.value == value:
                return statement.var
        var = Var(self.builder.fresh(name), INT)
        self.before.append(Declare(var, value, const=True))
        return var

    def smaller(self, left: Expr, right: Expr) -> Expr:
        left, right = self.number("end", left), self.number("end", right)
        return select(op("<", left, right), left, right)

    def positive(self, value: Expr) -> Expr:
        """The number, or 1 for 0, as a divisor: the loop then has no rounds."""
        value = self.number("size", value)
        return select(op(">", value, ZERO), value, ONE)


def _repeated(loops: Sequence[Stmt], times: int) -> list[Stmt]:
    if times == 1:
        return list(loops)
    return [replace(one, unroll=times) if isinstance(one, For) else one for one in loops]
