"""The loops of a sum of products of dense arrays, in tiles whose sums stay in registers.

    the rows i        TILE_ROWS at a time
    the columns j     as many as TILE_BYTES hold; the elements of the result that j goes along
    the depth k       innermost, TILE_DEPTH rounds at a time; k is not in the result's subscript

The sums of a tile are local variables, which the C compiler keeps in vector registers. The factors
with j, which all rows have in common, are copied to a block that is contiguous, and padded with
zeros: so the last tile in each direction is computed whole, and only its part that exists is added
to the result. They are read in place where few rows have them in common, or they are few. Loops
that are left stay around these, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from custard.to_c.builder import exists, resized
from custard.to_c.complex_parts import apart, is_complex, part_type, product, together
from custard.to_c.dense_sums import DenseSum, ends_with, nested, signed, zero_of
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    ZERO,
    Assign,
    Call,
    Comment,
    Declare,
    Expr,
    For,
    If,
    Limit,
    Load,
    Op,
    Require,
    Stmt,
    Var,
    array,
    both,
    either,
    op,
    select,
)
from custard.to_c.walks import expressions, substituted

ROWS, BYTES, BLOCK, DEPTH = (Limit(f"TILE_{name}") for name in ("ROWS", "BYTES", "BLOCK", "DEPTH"))
NEAR_ROWS, NEAR_DEPTH = Limit("TILE_NEAR_ROWS"), Limit("TILE_NEAR_DEPTH")

_MOST_ROWS = 8  # of a tile; the C compiler is told to take all of them at once


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


class TiledSum:
    """The tiled loops of one sum; ``block`` is an array that they need.

    ``stores``  whether the first tile of the depth is stored, not added
    """

    def __init__(
        self, part: DenseSum, tile: Tile, fresh: Callable[[str], str], stores: bool = False
    ) -> None:
        assert isinstance(part.add.target, Load)
        self.add, self.target, self.tile, self.stores = part.add, part.add.target, tile, stores
        self.type = self.target.type
        self.part = part_type(self.type)
        self.parts = 2 if is_complex(self.type) else 1
        names = ("reals", "imags") if self.parts > 1 else ("sums",)
        self.sums = [Var(fresh(name), array(self.part)) for name in names]
        self.rest = [Var(fresh("rest"), array(self.part)) for _ in names]
        self.factor, self.product = (Var(fresh(name), self.type) for name in ("factor", "product"))
        self.block, self.panel = (Var(fresh(n), array(self.part)) for n in ("block", "panel"))
        self.columns, self.width, self.at, self.stride, self.r, self.c = (
            Var(fresh(name)) for name in ("columns", "width", "at", "stride", "r", "c")
        )
        i, j, k = (one.var.name for one in (tile.rows, tile.columns, tile.depth))
        self.i_0, self.j_0, self.j_1, self.k_0 = (
            Var(fresh(name)) for name in (f"{i}_0", f"{j}_0", f"{j}_1", f"{k}_0")
        )
        self.j_end, self.k_end = Var(fresh(f"{j}_end")), Var(fresh(f"{k}_end"))
        self.near, self.packed = Var(fresh("near"), BOOL), Var(fresh(f"{j}_packed"))

    def statements(self) -> list[Stmt]:
        """The loops."""
        i, j, k = self.tile.rows, self.tile.columns, self.tile.depth
        size = Op("/", (BYTES, Op("sizeof", (self.target.array,), INT)), INT)
        side_by_side = self.columns * BLOCK
        most = least(side_by_side, j.end - j.begin + (self.columns - 1))
        near: list[Stmt] = []
        if self.is_affine:
            few = op("<=", i.end - i.begin, NEAR_ROWS)
            small = op("<=", (j.end - j.begin) * (k.end - k.begin), self.columns * NEAR_DEPTH)
            near.append(Declare(self.near, either(few, small), const=True))
        across = For(self.j_1, self.j_0, self.j_end, self.tile_of(size), step=self.columns)
        blocks = [
            Declare(self.j_end, least(self.j_0 + side_by_side, j.end), const=True),
            *self.filled(),
            Comment("Tiles of the result, whose sums stay in vector registers"),
            For(self.i_0, i.begin, i.end, [across], step=ROWS),
        ]
        depths = [
            Declare(self.k_end, least(self.k_0 + DEPTH, k.end), const=True),
            For(self.j_0, j.begin, j.end, blocks, step=side_by_side),
        ]
        return [
            Declare(self.columns, size, const=True),
            *near,
            resized(self.block, ZERO, most * least(DEPTH, k.end - k.begin) * self.parts),
            Require(exists(self.block)),
            nested(self.tile.around, [For(self.k_0, k.begin, k.end, depths, step=DEPTH)]),
        ]

    @property
    def is_affine(self) -> bool:
        """Whether the shared factors are rows of an array at equal strides."""
        right, k = self.tile.right, self.tile.depth.var
        if self.parts > 1 or not isinstance(right, Load):
            return False
        nodes = list(expressions(right.index))
        plain = all(one.name in "+-*" for one in nodes if isinstance(one, Op))
        calls = any(isinstance(one, Call | Load) for one in nodes)
        return plain and not calls and nodes.count(k) == 1 and ends_with(right.index, self.j)

    @property
    def j(self) -> Var:
        """The variable of the columns."""
        return self.tile.columns.var

    @property
    def offset(self) -> Expr:
        """The place of a tile's shared factors in the block."""
        return (self.j_1 - self.j_0) * (self.k_end - self.k_0) * self.parts

    def filled(self) -> list[Stmt]:
        """The loops that copy the shared factors to the block."""
        k, c, columns, width = self.tile.depth, self.c, self.columns, self.width
        at = self.offset + (k.var - self.k_0) * columns * self.parts
        places = self.shared(self.block)
        values = apart(substituted(self.tile.right, self.j, self.j_1 + c))
        copied = list(map(Assign, places, values))
        padded = [Assign(one, zero_of(self.part)) for one in places]
        widths = [Declare(width, self.width_of_tile, const=True)]
        row = [
            Declare(self.at, at, const=True),
            If(
                [(width.eq(columns), [For(c, ZERO, columns, copied)])],
                [For(c, ZERO, width, copied), For(c, width, columns, padded)],
            ),
        ]
        begin: Expr = self.j_0
        before: list[Stmt] = []
        if self.is_affine:
            begin = self.packed
            whole = self.j_end - (self.j_end - self.j_0) % columns
            before.append(Declare(self.packed, select(self.near, whole, self.j_0), const=True))
        about = Comment("The factors that the rows share, tile by tile, padded with zeros")
        if self.goes_along_rows:
            tiles = For(self.j_1, begin, self.j_end, [*widths, *row], step=columns)
            return [*before, about, For(k.var, self.k_0, self.k_end, [tiles])]
        rows = For(k.var, self.k_0, self.k_end, row)
        return [*before, about, For(self.j_1, begin, self.j_end, [*widths, rows], step=columns)]

    @property
    def goes_along_rows(self) -> bool:
        """Whether shared factors that lie next to each other are those of a row."""
        loads = (node for node in expressions(self.tile.right) if isinstance(node, Load))
        return any(ends_with(one.index, self.j) for one in loads)

    @property
    def width_of_tile(self) -> Expr:
        """How many columns of the tile exist."""
        return least(self.columns, self.j_end - self.j_1)

    def shared(self, pointer: Expr) -> list[Expr]:
        """The parts of a shared factor."""
        places = self.at + self.c, self.at + (self.columns + self.c)
        return [pointer[place] for place in places[: self.parts]]

    def tile_of(self, size: Expr) -> list[Stmt]:
        """The statements that compute a tile of the result; ``size`` is its width."""
        k, c, r, i = self.tile.depth, self.c, self.r, self.tile.rows
        # The sums stay in registers only if all loops over them have known numbers of rounds.
        zeroed = [Assign(one[r][c], zero_of(self.part)) for one in self.sums]
        both_arrays = zip(self.rest, self.sums, strict=True)
        copied = [Assign(one[r][c], other[r][c]) for one, other in both_arrays]
        added = For(r, ZERO, ROWS, self.products(), unroll=_MOST_ROWS)
        at = Declare(self.at, (k.var - self.k_0) * self.stride, const=True)
        whole = both(self.width.eq(self.columns), op("<=", self.i_0 + ROWS, i.end))
        return [
            Declare(self.width, self.width_of_tile, const=True),
            *self.panels(),
            *self.local(self.sums, size),
            For(r, ZERO, ROWS, [For(c, ZERO, self.columns, zeroed)]),
            For(k.var, self.k_0, self.k_end, [at, For(c, ZERO, self.columns, [added])]),
            If(
                [(whole, self.stored(self.sums, ROWS, self.columns))],
                [
                    *self.local(self.rest, size),
                    For(r, ZERO, ROWS, [For(c, ZERO, self.columns, copied)]),
                    *self.stored(self.rest, least(ROWS, i.end - self.i_0), self.width),
                ],
            ),
        ]

    def local(self, arrays: Sequence[Var], size: Expr) -> list[Stmt]:
        """Declares the local arrays of a tile."""
        return [Declare(one, zero_of(self.part), shape=(ROWS, size)) for one in arrays]

    def panels(self) -> list[Stmt]:
        """Declares where a tile finds its shared factors, and the stride between their rows."""
        pointer: Expr = self.block + self.offset
        stride: Expr = self.columns * self.parts
        if self.is_affine:
            right, k = self.tile.right, self.tile.depth.var
            assert isinstance(right, Load)
            index = substituted(right.index, self.j, self.j_1)
            first = substituted(index, k, self.k_0)
            in_place = both(self.near, self.width.eq(self.columns))
            pointer = select(in_place, right.array + first, pointer)
            stride = select(in_place, substituted(index, k, self.k_0 + 1) - first, stride)
        return [
            Declare(self.panel, pointer, const=True),
            Declare(self.stride, stride, const=True),
        ]

    def products(self) -> list[Stmt]:
        """Adds a product to each sum of a column."""
        last = self.tile.rows.end - 1
        left = substituted(self.tile.left, self.tile.rows.var, least(self.i_0 + self.r, last))
        shared = self.shared(self.panel)
        made: list[Stmt] = []
        if self.parts == 1:
            values = [product(left, shared[0])]
        else:
            both_parts = product(self.factor, together(shared, self.type))
            made += [
                Declare(self.factor, left, const=True),
                Declare(self.product, both_parts, const=True),
            ]
            values = apart(self.product)
        for one, value in zip(self.sums, values, strict=True):
            element = one[self.r][self.c]
            made.append(replace(self.add, target=element, value=signed(value, self.tile.minus)))
        return made

    def stored(self, sums: Sequence[Var], rows: Expr, width: Expr) -> list[Stmt]:
        """Adds the sums to the result, or stores them."""
        r, c = self.r, self.c
        index = substituted(self.target.index, self.tile.rows.var, self.i_0 + r)
        place = self.target.array[substituted(index, self.j, self.j_1 + c)]
        value = together([one[r][c] for one in sums], self.type)

        def loops(operator: str) -> Stmt:
            return For(r, ZERO, rows, [For(c, ZERO, width, [Assign(place, value, operator)])])

        added = loops(self.add.operator)
        if not self.stores:
            return [added]
        return [If([(self.k_0.eq(self.tile.depth.begin), [loops("")])], [added])]


def least(one: Expr, other: Expr) -> Expr:
    """The smaller of two numbers."""
    return Call("least", (one, other), INT)
