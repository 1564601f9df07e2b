"""The loops of a sum of products of dense arrays, in tiles whose sums stay in registers.

    the rows i        TILE_ROWS at a time
    the columns j     as many as TILE_BYTES hold; the elements of the result that j goes along
    the depth k       innermost, TILE_DEPTH rounds at a time; k is not in the result's subscript

The factors with j, which all rows have in common, are copied to a block that is contiguous, tile by
tile. They are read in place where few rows have them in common, or they are few. The factors of
the rows are read in place if they are elements of one array; else their products are copied too.
The tiles themselves are a function for each type of values (``runtime/tiles.h``): the last ones in
each direction have as many rows and columns as are left, in powers of two. Loops that are left stay
around these, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from custard.to_c.builder import exists, resized
from custard.to_c.complex_parts import apart, is_complex, part_type
from custard.to_c.dense_sums import DenseSum, ends_with, nested, signed
from custard.to_c.loop_ir import (
    BOOL,
    FALSE,
    INT,
    ONE,
    ZERO,
    Assign,
    Call,
    CallStatement,
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
    either,
    op,
    select,
)
from custard.to_c.walks import expressions, substituted

ROWS, BYTES, BLOCK, DEPTH = (Limit(f"TILE_{name}") for name in ("ROWS", "BYTES", "BLOCK", "DEPTH"))
NEAR_ROWS, NEAR_BYTES = Limit("TILE_NEAR_ROWS"), Limit("TILE_NEAR_BYTES")


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
    """The tiled loops of one sum; ``heap`` has the arrays that they need.

    ``stores``  whether the first tile of the depth is stored, not added
    """

    def __init__(
        self, part: DenseSum, tile: Tile, fresh: Callable[[str], str], stores: bool = False
    ) -> None:
        assert isinstance(part.add.target, Load)
        self.target, self.tile, self.stores = part.add.target, tile, stores
        self.type = self.target.type
        self.part = part_type(self.type)
        self.parts = 2 if is_complex(self.type) else 1
        self.block = Var(fresh("block"), array(self.part))
        self.factors = Var(fresh("factors"), array(self.type))
        self.columns, self.width, self.height, self.at, self.r, self.c = (
            Var(fresh(name)) for name in ("columns", "width", "height", "at", "r", "c")
        )
        i, j, k = (one.var.name for one in (tile.rows, tile.columns, tile.depth))
        self.i_0, self.j_0, self.j_1, self.k_0 = (
            Var(fresh(name)) for name in (f"{i}_0", f"{j}_0", f"{j}_1", f"{k}_0")
        )
        self.j_end, self.k_end = Var(fresh(f"{j}_end")), Var(fresh(f"{k}_end"))
        self.near = Var(fresh("near"), BOOL)
        self.left_strides = self._strides(signed(tile.left, tile.minus), tile.rows, tile.depth)
        self.right_strides = self._strides(tile.right, tile.depth, tile.columns)
        if self.parts > 1 or (self.right_strides is not None and self.right_strides[1] != ONE):
            self.right_strides = None  # they have to lie next to each other, part by part

    @property
    def heap(self) -> list[Var]:
        """The arrays."""
        return [self.block, *([self.factors] if self.left_strides is None else [])]

    def statements(self) -> list[Stmt]:
        """The loops."""
        i, j, k = self.tile.rows, self.tile.columns, self.tile.depth
        size = Op("sizeof", (self.target.array,), INT)
        side_by_side = self.columns * BLOCK
        most = least(side_by_side, j.end - j.begin + (self.columns - 1))
        rounds = least(DEPTH, k.end - k.begin)
        arrays: list[Stmt] = [
            resized(self.block, ZERO, most * rounds * self.parts),
            Require(exists(self.block)),
        ]
        filled, near = self.filled(), list[Stmt]()
        if self.right_strides is not None:
            few = op("<=", i.end - i.begin, NEAR_ROWS)
            shared = (j.end - j.begin) * (k.end - k.begin)
            small = op("<=", shared, Op("/", (NEAR_BYTES, size), INT))
            near.append(Declare(self.near, either(few, small), const=True))
            arrays, filled = ([self.unless_near(one)] for one in (arrays, filled))
        if self.left_strides is None:
            arrays += [resized(self.factors, ZERO, ROWS * rounds), Require(exists(self.factors))]
        blocks = [
            Declare(self.j_end, least(self.j_0 + side_by_side, j.end), const=True),
            *filled,
            *self.tiles(),
        ]
        depths = [
            Declare(self.k_end, least(self.k_0 + DEPTH, k.end), const=True),
            For(self.j_0, j.begin, j.end, blocks, step=side_by_side),
        ]
        return [
            Declare(self.columns, Op("/", (BYTES, size), INT), const=True),
            *near,
            *arrays,
            nested(self.tile.around, [For(self.k_0, k.begin, k.end, depths, step=DEPTH)]),
        ]

    def unless_near(self, body: Sequence[Stmt]) -> Stmt:
        """Statements for shared factors that are copied."""
        return If([(Op("!", (self.near,), BOOL), body)])

    def _strides(self, value: Expr, *loops: For) -> list[Expr] | None:
        """How far apart the elements of an array are that a value is, by loop; None if it is no
        element, or they are not equally far apart."""
        if not isinstance(value, Load):
            return None
        found = [stride(value.index, one.var) for one in loops]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    @property
    def j(self) -> Var:
        """The variable of the columns."""
        return self.tile.columns.var

    def filled(self) -> list[Stmt]:
        """The loops that copy the shared factors to the block."""
        k, c, columns, width = self.tile.depth, self.c, self.columns, self.width
        tile = (self.j_1 - self.j_0) * (self.k_end - self.k_0) * self.parts
        at = tile + (k.var - self.k_0) * columns * self.parts
        places = [self.block[place] for place in (self.at + c, self.at + (columns + c))]
        values = apart(substituted(self.tile.right, self.j, self.j_1 + c))
        copied = list(map(Assign, places, values))
        widths = [Declare(width, least(columns, self.j_end - self.j_1), const=True)]
        row = [
            Declare(self.at, at, const=True),
            If(
                [(width.eq(columns), [For(c, ZERO, columns, copied)])],
                [For(c, ZERO, width, copied)],
            ),
        ]
        about = Comment("The factors that the rows share, tile by tile")
        if self.goes_along_rows:
            tiles = For(self.j_1, self.j_0, self.j_end, [*widths, *row], step=columns)
            return [about, For(k.var, self.k_0, self.k_end, [tiles])]
        rows = For(k.var, self.k_0, self.k_end, row)
        return [about, For(self.j_1, self.j_0, self.j_end, [*widths, rows], step=columns)]

    @property
    def goes_along_rows(self) -> bool:
        """Whether shared factors that lie next to each other are those of a row."""
        loads = (node for node in expressions(self.tile.right) if isinstance(node, Load))
        return any(ends_with(one.index, self.j) for one in loads)

    def tiles(self) -> list[Stmt]:
        """The statements that compute the tiles next to each other."""
        i, k = self.tile.rows, self.tile.depth
        about = Comment("Tiles of the result, whose sums stay in vector registers")
        rounds = self.k_end - self.k_0
        if self.left_strides is not None:
            assert isinstance(self.tile.left, Load)
            index = placed(placed(self.tile.left.index, i.var, i.begin), k.var, self.k_0)
            left = moved(self.tile.left.array, index)
            return [about, self.sums(i.begin, i.end - i.begin, (left, *self.left_strides))]
        value = signed(substituted(self.tile.left, i.var, self.i_0 + self.r), self.tile.minus)
        place = self.factors[self.r * rounds + (k.var - self.k_0)]
        copied = For(k.var, self.k_0, self.k_end, [Assign(place, value)])
        body = [
            Declare(self.height, least(ROWS, i.end - self.i_0), const=True),
            For(self.r, ZERO, self.height, [copied]),
            self.sums(self.i_0, self.height, (self.factors, rounds, ONE)),
        ]
        return [about, For(self.i_0, i.begin, i.end, body, step=ROWS)]

    def sums(self, first: Expr, rows: Expr, left: Sequence[Expr]) -> Stmt:
        """The call that adds to rows of the result; ``left`` are their factors, with strides."""
        i, k = self.tile.rows, self.tile.depth
        rounds, columns = self.k_end - self.k_0, self.columns
        right = [self.block, columns * self.parts, columns * rounds * self.parts]
        if self.right_strides is not None:
            assert isinstance(self.tile.right, Load)
            index = placed(placed(self.tile.right.index, self.j, self.j_0), k.var, self.k_0)
            there = moved(self.tile.right.array, index), self.right_strides[0], columns
            right = [select(self.near, *both) for both in zip(there, right, strict=True)]
        index = placed(placed(self.target.index, i.var, first), self.j, self.j_0)
        row = stride(self.target.index, i.var)
        assert row is not None
        stores = self.k_0.eq(k.begin) if self.stores else FALSE
        result = moved(self.target.array, index), row, stores
        name = f"tiles_{self.type.name.replace(' ', '_')}"
        arguments = (rows, self.j_end - self.j_0, rounds, *left, *right, *result)
        return CallStatement(Call(name, arguments))


def stride(index: Expr, var: Var) -> Expr | None:
    """By how much an index grows with a variable; None if that is not the same everywhere."""
    if var not in {*expressions(index)}:
        return ZERO
    match index:
        case Var():
            return ONE
        case Op("+" | "-" as name, (left, right)):
            one, other = stride(left, var), stride(right, var)
            return None if one is None or other is None else op(name, one, other)
        case Op("*", (left, right)):
            with_var, factor = (right, left) if var in {*expressions(right)} else (left, right)
            found = stride(with_var, var)
            if found is not None and var not in {*expressions(factor)}:
                return op("*", found, factor)
    return None


def placed(index: Expr, var: Var, value: Expr) -> Expr:
    """The index at a value of a variable, with constants folded."""
    match index:
        case Op("+" | "-" | "*" as name, (left, right)):
            return op(name, placed(left, var, value), placed(right, var, value))
    return substituted(index, var, value)


def moved(pointer: Expr, offset: Expr) -> Expr:
    """A pointer to an element."""
    return pointer if offset == ZERO else pointer + offset


def least(one: Expr, other: Expr) -> Expr:
    """The smaller of two numbers."""
    return Call("least", (one, other), INT)
