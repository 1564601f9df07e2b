"""Copies of an array into one of another order, tile by tile.

    for (int64_t i = 0; i < i_size; i++) {
        for (int64_t j = 0; j < j_size; j++)
            X[i * j_size + j] = A[j * i_size + i];
    }

Each element of A is in another cache line than the one before, and each line comes again in the
next rounds over i. It has left the cache then if j goes far, or if the lines compete for the same
places in it, as they do where the rows of A are a power of two apart. For such extents, the loops
go through tiles as wide as a line of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from custard.to_c.dense_sums import ends_with, is_dense
from custard.to_c.loop_ir import (
    Assign,
    Body,
    Const,
    Declare,
    Expr,
    For,
    Load,
    Op,
    Stmt,
    Var,
    both,
    either,
    is_plain,
    op,
    select,
)
from custard.to_c.walks import expressions, rewritten

# The extents of a tile: for the loop along the rows that are read, and along those written.
_READ, _WRITTEN = 64, 8
# Rows compete for places in the cache if their distance is a multiple of this, in elements; if it
# is not, so many lines stay there. As measured on arrays of float64.
_COMPETING, _KEPT = 64, 4096


def with_tiled_copies(body: Body, fresh: Callable[[str], str]) -> list[Stmt]:
    """The statements, with such loops in tiles; ``fresh`` gives new names."""

    def change(statement: Stmt) -> list[Stmt] | None:
        match statement:
            case For(body=[For() as inner]):
                distance = _distance(statement, inner)
                return None if distance is None else _in_tiles(statement, inner, distance, fresh)
        return None

    return rewritten(body, change)


def _distance(outer: For, inner: For) -> Expr | None:
    """The distance of the rows that two loops go across, if they copy an array in this way."""
    if not all(is_plain(one) and is_dense(one) for one in (outer, inner)):
        return None
    if outer.var in (*expressions(inner.begin), *expressions(inner.end)):
        return None
    match inner.body:
        case [Assign(Load(to, place), Load(read, index), "")] if to != read:
            *rows, column = _coordinates(place) or [place]
            if outer.var in rows and column == inner.var:
                return _row_length(index, outer.var, inner.var)
    return None


def _coordinates(position: Expr) -> list[Expr]:
    """The variables of a position in full levels, the outermost first; none if it is anything else,
    so that two rounds may write to one place."""
    match position:
        case Var():
            return [position]
        case Op("+", (Op("*", (outer, _)), Var() as last)):
            found = _coordinates(outer)
            return [*found, last] if found and last not in found else []
    return []


def _row_length(index: Expr, row: Var, column: Var) -> Expr | None:
    """The length of the rows of an array whose row is ``column``, at an element ``row``."""
    match index:
        case Op("+", (Op("*", (outer, length)), last)) if last == row and ends_with(outer, column):
            return length
    return None


def _in_tiles(outer: For, inner: For, distance: Expr, fresh: Callable[[str], str]) -> list[Stmt]:
    """The loops over tiles of some width, or over some whole rows, and within them."""

    def parts(loop: For, size: Expr, within: Callable[[Expr, Expr], Stmt]) -> For:
        first, end = (Var(fresh(f"{loop.var.name}_{name}")) for name in ("tile", "end"))
        limit = select(first + size < loop.end, first + size, loop.end)
        body = [Declare(end, limit, const=True), within(first, end)]
        return For(first, loop.begin, loop.end, body, step=size)

    def tiles(row: Expr, row_end: Expr) -> Stmt:
        def tile(column: Expr, column_end: Expr) -> Stmt:
            line = replace(inner, begin=column, end=column_end)
            return replace(outer, begin=row, end=row_end, body=[line])

        return parts(inner, width, tile)

    width = Var(fresh(f"{inner.var.name}_width"))
    far = both(op(">", inner.end, _KEPT), distance >= _WRITTEN)
    lost = either(op("==", distance % _COMPETING, 0), far)
    chosen = Declare(width, select(lost, Const(_WRITTEN), inner.end), const=True)
    return [chosen, parts(outer, Const(_READ), tiles)]
