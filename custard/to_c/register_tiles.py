"""Sums of products of dense arrays, of which a tile of the result stays in registers.

    for (int64_t i = 0; i < i_size; i++) {
        for (int64_t k = 0; k < k_size; k++) {
            for (int64_t j = 0; j < j_size; j++)
                C[i * j_size + j] += A[i * k_size + k] * B[k * j_size + j];
        }
    }

Each round over k loads a row of C and stores it again, for one product per element. Where such
loops may be interchanged, they are tiled (``custard.to_c.tiled_sums``). Few rows, columns or rounds
are not worth it, and have the loops as they were.

Where the result is set to zero just before, and no other loop adds to it, the first tile of the
depth is stored instead, and nothing is set to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from custard.to_c.complex_parts import is_complex, product, subtracted
from custard.to_c.dense_sums import DenseSum, ZeroedArray, dense_sums, ends_with, is_dense
from custard.to_c.loop_ir import (
    Body,
    Call,
    Const,
    Expr,
    For,
    If,
    Limit,
    Load,
    Op,
    Parallel,
    Stmt,
    Var,
    While,
    both,
)
from custard.to_c.tiled_sums import Tile, TiledSum, stride
from custard.to_c.walks import expressions

LEAST_ROWS, LEAST_DEPTH = Limit("TILE_LEAST_ROWS"), Limit("TILE_LEAST_DEPTH")

# The fewest rows, and rounds over the depth, from which tiles pay: those of
# runtime/register_tile.h.
_FEWEST_ROWS, _FEWEST_ROUNDS = 4, 2


class RegisterTiles:
    """Rewrites the loops of a kernel; ``heap`` has the new arrays of the kernel.

    ``zeroed``  the arrays that loops set to zero
    """

    def __init__(self, fresh: Callable[[str], str], zeroed: Sequence[ZeroedArray] = ()) -> None:
        self.fresh, self.zeroed = fresh, zeroed
        self.heap: list[Var] = []

    def tiled(self, body: Body) -> list[Stmt]:
        """The statements, with such sums tiled."""
        made: list[Stmt] = []
        for n, statement in enumerate(body):
            match statement:
                case Parallel(body=inner, heap=heap):
                    outer, self.heap = self.heap, []
                    inner = [
                        replace(one, body=self.tiled(one.body)) if isinstance(one, While) else one
                        for one in self.tiled(inner)
                    ]
                    statement = replace(statement, body=inner, heap=(*heap, *self.heap))
                    self.heap = outer
                case For() if is_dense(statement):
                    zeroed = next((z for z in self.zeroed if [z.loop] == [*body[:n]][-1:]), None)
                    found = self.sums(statement, zeroed)
                    if found is not None:
                        made[len(made) - (zeroed is not None) :] = found
                        continue
                    statement = replace(statement, body=self.tiled(statement.body))
            made.append(statement)
        return made

    def sums(self, loop: For, zeroed: ZeroedArray | None = None) -> list[Stmt] | None:
        """The sums in a loop one after the other, some of them tiled; None if none is.

        ``zeroed``  the array, if it is set to zero just before
        """
        parts = dense_sums([], [loop])
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
        zero: list[Stmt] = [] if zeroed is None else [zeroed.loop]
        if zeroed is not None and not zeroed.is_covered(parts[0]):
            made, zero = zero, []
        for part, tile in zip(parts, tiles, strict=True):
            if not part.add.operator:
                zero = [part.statement()]
                continue
            made += [*zero, part.statement()] if tile is None else self.chosen(part, tile, zero)
            zero = []
        return [*made, *zero]

    def chosen(self, part: DenseSum, tile: Tile, zero: list[Stmt]) -> list[Stmt]:
        """The tiled sum where it is large, and the plain one elsewhere.

        ``zero``  the loops just before it, which set all to zero that it adds to, if there are any
        """
        rows, rounds = (one.end - one.begin for one in (tile.rows, tile.depth))
        large = both(rows >= LEAST_ROWS, rounds >= LEAST_DEPTH)
        stores = bool(zero) and {one.var for one in tile.around} <= {*expressions(part.add.target)}
        tiles = TiledSum(part, tile, self.fresh, stores)
        self.heap += tiles.heap
        before, plain = ([], zero) if stores else (zero, [])
        return [*before, If([(large, tiles.statements())], [*plain, part.statement()])]


def _tile(part: DenseSum) -> Tile | None:
    """How to tile a sum; None where it cannot be, or there is nothing to gain."""
    target, value = part.add.target, part.add.value
    assert isinstance(target, Load)
    variables = {one.var for one in part.loops}
    for one in part.loops:
        if variables & {*expressions(one.begin), *expressions(one.end)}:
            return None
    at = {*expressions(target.index)}
    columns = next((one for one in part.loops if ends_with(target.index, one.var)), None)
    minus = subtracted(value)
    factors = list(_factors(value if minus is None else minus))
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
    rows = [
        one
        for one in part.loops
        if one.var in at & in_left - in_right and stride(target.index, one.var) is not None
    ]
    depths = [one for one in part.loops if one.var in in_right - at]
    if not rows or not depths:
        return None
    three = rows[-1], columns, depths[-1]
    if _is_short(rows[-1], _FEWEST_ROWS) or _is_short(depths[-1], _FEWEST_ROUNDS):
        return None
    around = [one for one in part.loops if one not in three]
    return Tile(around, *three, reduce(product, left), reduce(product, right), minus is not None)


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
