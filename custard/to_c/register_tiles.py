"""Sums of products of dense arrays, of which a tile of the result stays in registers.

    for (int64_t i = 0; i < i_size; i++) {
        for (int64_t k = 0; k < k_size; k++) {
            for (int64_t j = 0; j < j_size; j++)
                C[i * j_size + j] += A[i * k_size + k] * B[k * j_size + j];
        }
    }

Each round over k loads a row of C and stores it again, for one product per element. Where such
loops may be interchanged, they are tiled:

    the rows i        TILE_ROWS at a time
    the columns j     as many as TILE_BYTES hold; the elements of the result that j goes along
    the depth k       innermost, TILE_DEPTH rounds at a time; k is not in the result's subscript

The sums of a tile are local variables, which the C compiler keeps in vector registers. The factors
with j, which all rows have in common, are copied to a block that is contiguous, and padded with
zeros: so the last tile in each direction is computed whole, and only its part that exists is added
to the result. Loops that are left stay around these, in their order. Few rows, columns or rounds
are not worth it, and have the loops as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from custard.to_c.builder import exists, resized
from custard.to_c.complex_parts import apart, is_complex, part_type, product, together
from custard.to_c.loop_ir import (
    BOOL,
    FALSE,
    INT,
    WHOLE,
    ZERO,
    Assign,
    Body,
    Call,
    Comment,
    Const,
    Declare,
    Expr,
    For,
    If,
    Limit,
    Load,
    Op,
    Parallel,
    Require,
    Stmt,
    Type,
    Var,
    array,
    both,
    is_plain,
)
from custard.to_c.walks import expressions, rewritten, substituted

ROWS, BYTES, BLOCK, DEPTH = (Limit(f"TILE_{name}") for name in ("ROWS", "BYTES", "BLOCK", "DEPTH"))
LEAST_ROWS, LEAST_DEPTH = Limit("TILE_LEAST_ROWS"), Limit("TILE_LEAST_DEPTH")

# The fewest rows, and rounds over the depth, from which tiles pay on any machine: the least ones of
# runtime/register_tile.h.
_FEWEST_ROWS, _FEWEST_ROUNDS = 6, 2
_MOST_ROWS = 8  # of a tile; the C compiler is told to take all of them at once


@dataclass(frozen=True)
class DenseSum:
    """A statement that adds to elements of an array, inside loops that may be interchanged."""

    loops: Sequence[For]
    add: Assign

    def statement(self) -> Stmt:
        """The loops around the statement."""
        return _nested(self.loops, [self.add])


@dataclass(frozen=True)
class Tile:
    """How a sum is tiled.

    ``rows``, ``columns``, ``depth``  the three loops; ``around`` are the others
    ``left``, ``right``  the factors without the variable of the columns, and with it
    ``minus``  whether the product is subtracted
    """

    around: Sequence[For]
    rows: For
    columns: For
    depth: For
    left: Expr
    right: Expr
    minus: bool


class RegisterTiles:
    """Rewrites the loops of a kernel; ``heap`` has the new arrays of the kernel."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self.fresh = fresh
        self.heap: list[Var] = []

    def tiled(self, body: Body) -> list[Stmt]:
        """The statements, with such sums tiled."""
        made: list[Stmt] = []
        for statement in body:
            match statement:
                case Parallel(body=inner, heap=heap):
                    outer, self.heap = self.heap, []
                    inner = self.tiled(inner)
                    statement = replace(statement, body=inner, heap=(*heap, *self.heap))
                    self.heap = outer
                case For() if _is_dense(statement):
                    found = self.sums(statement)
                    if found is not None:
                        made += found
                        continue
                    statement = replace(statement, body=self.tiled(statement.body))
            made.append(statement)
        return made

    def sums(self, loop: For) -> list[Stmt] | None:
        """The sums in a loop one after the other, some of them tiled; None if none is."""
        parts = _parts([], [loop])
        if parts is None:
            return None
        targets = {one.add.target.array for one in parts if isinstance(one.add.target, Load)}
        read = {node for one in parts for node in expressions(one.add.value)}
        if len(targets) > 1 or targets & read:
            return None
        tiles = [_tile(one) for one in parts]
        if not any(tiles):
            return None
        made: list[Stmt] = []
        for part, tile in zip(parts, tiles, strict=True):
            made += [part.statement()] if tile is None else self.chosen(part, tile)
        return made

    def chosen(self, part: DenseSum, tile: Tile) -> list[Stmt]:
        """The tiled sum where it is large, and the plain one elsewhere."""
        rows, rounds = (one.end - one.begin for one in (tile.rows, tile.depth))
        large = both(rows >= LEAST_ROWS, rounds >= LEAST_DEPTH)
        return [If([(large, self.statements(part, tile))], [part.statement()])]

    def statements(self, part: DenseSum, tile: Tile) -> list[Stmt]:
        """The tiled loops."""
        fresh, (i, j, k) = self.fresh, (tile.rows, tile.columns, tile.depth)
        target = part.add.target
        assert isinstance(target, Load)
        type = target.type
        one_part = part_type(type)
        names = ("reals", "imags") if is_complex(type) else ("sums",)
        sums = [Var(fresh(name), array(one_part)) for name in names]
        block = Var(fresh("block"), array(one_part))
        self.heap.append(block)
        columns, width, at, r, c = (
            Var(fresh(name)) for name in ("columns", "width", "at", "r", "c")
        )
        i_0, j_0, j_1, k_0 = (
            Var(fresh(f"{one.var.name}_{n}")) for one, n in ((i, 0), (j, 0), (j, 1), (k, 0))
        )
        j_end, k_end = (Var(fresh(f"{one.var.name}_end")) for one in (j, k))
        size = Op("/", (BYTES, Op("sizeof", (target.array,), INT)), INT)
        place = ((j_1 - j_0) * DEPTH + (k.var - k_0) * columns) * len(sums)
        shared = [block[at + c], block[at + (columns + c)]][: len(sums)]
        these = [Declare(width, least(columns, j_end - j_1), const=True)]

        right = substituted(tile.right, j.var, j_1 + c)
        filled = [
            Declare(at, place, const=True),
            For(c, ZERO, width, list(map(Assign, shared, apart(right)))),
            For(c, width, columns, [Assign(one, _zero(one_part)) for one in shared]),
        ]
        fill = For(j_1, j_0, j_end, [*these, For(k.var, k_0, k_end, filled)], step=columns)

        left = substituted(tile.left, i.var, least(i_0 + r, i.end - 1))
        computed: list[Stmt] = []
        if is_complex(type):
            factor, both_parts = (Var(fresh(name), type) for name in ("factor", "product"))
            computed.append(Declare(factor, left, const=True))
            value = product(factor, together(shared, type))
            computed.append(Declare(both_parts, value, const=True))
            values = apart(both_parts)
        else:
            values = [product(left, block[at + c])]
        elements = [Load(one, r)[c] for one in sums]
        added = [
            replace(part.add, target=element, value=_signed(value, tile.minus))
            for element, value in zip(elements, values, strict=True)
        ]
        add = For(r, ZERO, ROWS, [*computed, *added], unroll=_MOST_ROWS)
        index = substituted(substituted(target.index, i.var, i_0 + r), j.var, j_1 + c)
        store = replace(part.add, target=target.array[index], value=together(elements, type))
        summed = [
            *these,
            *(Declare(one, _zero(one_part), shape=(ROWS, size)) for one in sums),
            For(
                k.var,
                k_0,
                k_end,
                [Declare(at, place, const=True), For(c, ZERO, columns, [add])],
            ),
            For(r, ZERO, least(ROWS, i.end - i_0), [For(c, ZERO, width, [store])]),
        ]
        across = For(j_1, j_0, j_end, summed, step=columns)

        side_by_side = columns * BLOCK
        blocks = [
            Declare(j_end, least(j_0 + side_by_side, j.end), const=True),
            Comment("The factors that the rows share, tile by tile, padded with zeros"),
            fill,
            Comment("Tiles of the result, whose sums stay in vector registers"),
            For(i_0, i.begin, i.end, [across], step=ROWS),
        ]
        depths = [
            Declare(k_end, least(k_0 + DEPTH, k.end), const=True),
            For(j_0, j.begin, j.end, blocks, step=side_by_side),
        ]
        return [
            Declare(columns, size, const=True),
            resized(block, ZERO, side_by_side * DEPTH * len(sums)),
            Require(exists(block)),
            _nested(tile.around, [For(k_0, k.begin, k.end, depths, step=DEPTH)]),
        ]


def least(one: Expr, other: Expr) -> Expr:
    """The smaller of two numbers."""
    return Call("least", (one, other), INT)


def _nested(loops: Sequence[For], body: Body) -> Stmt:
    """Loops around statements, the first outermost."""
    inner = list(body)
    for loop in reversed(loops):
        inner = [replace(loop, body=inner)]
    return inner[0]


def _is_dense(loop: For) -> bool:
    """Whether a loop counts one by one between bounds that are not read from arrays."""
    bounds = (*expressions(loop.begin), *expressions(loop.end))
    return is_plain(loop) and not any(isinstance(node, Load | Call) for node in bounds)


def _parts(loops: list[For], body: Body) -> list[DenseSum] | None:
    """The sums that loops are made of, in their order; None if there is anything else in them."""
    dot = _dot(loops, body)
    if dot is not None:
        return dot
    made: list[DenseSum] = []
    for statement in body:
        match statement:
            case For() if _is_dense(statement):
                inner = _parts([*loops, statement], statement.body)
                if inner is None:
                    return None
                made += inner
            case Assign(Load(), _, "+" | "|") if loops:
                made.append(DenseSum(loops, statement))
            case _:
                return None
    return made


def _dot(loops: list[For], body: Body) -> list[DenseSum] | None:
    """Numbers that are summed up and whose sum is then stored, as sums of the element there.

    None if there is more to it, or an element is not stored once.
    """
    match body:
        case [Declare(), *_, Assign(Load() as target, value, sign)]:
            totals = {one.var for one in body if isinstance(one, Declare)}
            begin = {one.value for one in body if isinstance(one, Declare)}
            terms = list(_terms(value))
            moved = [(one, negative) for one, negative in terms if one in totals]
            others = [(one, negative) for one, negative in terms if one not in totals]
            used = {node for one, _ in others for node in expressions(one)}
            at = {*expressions(target.index)}
            if len(moved) > len(totals) or totals != {one for one, _ in moved} or totals & used:
                return None
            if {one.var for one in loops} - at or begin != {_zero(target.type)}:
                return None
            if any(one.type != target.type for one, _ in terms):
                return None
            minus: dict[Expr, bool] = dict(moved)
            begun = [] if sign else [DenseSum(loops, Assign(target, _zero(target.type)))]
            sign = "|" if target.type == BOOL else "+"
            added = [
                DenseSum(loops, Assign(target, _signed(one, negative), sign))
                for one, negative in others
            ]
            loops_of = [one for one in body[:-1] if not isinstance(one, Declare)]
            sums = _parts(loops, rewritten(loops_of, lambda one: _moved(one, minus, target)))
            return None if sums is None else [*begun, *added, *sums]
    return None


def _terms(value: Expr, minus: bool = False) -> Iterator[tuple[Expr, bool]]:
    """The terms of a sum, and whether each is subtracted."""
    match value:
        case Op("+" | "|", (left, right)) if left.type == right.type:
            yield from _terms(left, minus)
            yield from _terms(right, minus)
        case Op("-", (left, right)) if left.type == right.type:
            yield from _terms(left, minus)
            yield from _terms(right, not minus)
        case Op("-", (one,)):
            yield from _terms(one, not minus)
        case _:
            yield value, minus


def _signed(value: Expr, minus: bool) -> Expr:
    """The value, or its negative."""
    match value:
        case Op("-", (one,)) if minus:
            return one
    return Op("-", (value,), value.type) if minus else value


def _moved(statement: Stmt, minus: Mapping[Expr, bool], target: Load) -> Body | None:
    """A statement that adds to an element in place of a number; None for any other."""
    match statement:
        case Assign(Var() as one, value, "+" | "|") if one in minus:
            return [replace(statement, target=target, value=_signed(value, minus[one]))]
    return None


def _zero(type: Type) -> Const:
    """The number 0, or false."""
    return FALSE if type == BOOL else Const(0 if type in WHOLE else 0.0, type)


def _tile(part: DenseSum) -> Tile | None:
    """How to tile a sum; None where it cannot be, or there is nothing to gain."""
    target, value = part.add.target, part.add.value
    assert isinstance(target, Load)
    variables = {one.var for one in part.loops}
    for one in part.loops:
        if variables & {*expressions(one.begin), *expressions(one.end)}:
            return None
    at = {*expressions(target.index)}
    columns = next((one for one in part.loops if _ends_with(target.index, one.var)), None)
    minus = False
    match value:
        case Op("-", (subtracted,)):
            minus, value = True, subtracted
    factors = list(_factors(value))
    if columns is None or any(one.type != target.type for one in factors):
        return None
    if is_complex(target.type) and len(factors) > 2:
        return None  # these are multiplied in their order
    uses = [{*expressions(one)} for one in factors]
    with_columns = [columns.var in found for found in uses]
    left = [one for one, has in zip(factors, with_columns, strict=True) if not has]
    right = [one for one, has in zip(factors, with_columns, strict=True) if has]
    if not left or not right:
        return None
    in_left = {node for one in left for node in expressions(one)}
    in_right = {node for one in right for node in expressions(one)}
    rows = [one for one in part.loops if one.var in at & in_left - in_right]
    depths = [one for one in part.loops if one.var in in_right - at]
    if not rows or not depths:
        return None
    three = rows[-1], columns, depths[-1]
    if _is_short(rows[-1], _FEWEST_ROWS) or _is_short(depths[-1], _FEWEST_ROUNDS):
        return None
    around = [one for one in part.loops if one not in three]
    return Tile(around, *three, reduce(product, left), reduce(product, right), minus)


def _ends_with(index: Expr, var: Var) -> bool:
    """Whether an index is a variable plus an offset that does not depend on it."""
    match index:
        case Op("+", (rest, last)):
            return last == var and var not in {*expressions(rest)}
    return index == var


def _is_short(loop: For, fewest: int) -> bool:
    """Whether a loop is known to have fewer rounds."""
    extent = loop.end - loop.begin
    return isinstance(extent, Const) and extent.value < fewest


def _factors(value: Expr) -> Iterator[Expr]:
    """The factors of a product."""
    match value:
        case Op("*" | "&", sides) if all(side.type == value.type for side in sides):
            for side in sides:
                yield from _factors(side)
        case Call(function, sides, type) if is_complex(type) and function.startswith("multiply_"):
            for side in sides:
                yield from _factors(side)
        case _:
            yield value
