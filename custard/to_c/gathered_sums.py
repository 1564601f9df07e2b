"""Sums of products of which a factor is gathered, as in a sparse vector times a dense one.

    for (int64_t p = begin; p < end; p++) {
        int64_t j = coordinates[p];
        sum += values[p] * others[j];
    }

Such a loop becomes a call of ``sparse_dot``, which takes many products at once, or of
``sparse_dot3`` where two factors are gathered by the same coordinate. Its length is hard to
predict, and compilers leave the last few products to a loop of their own, which takes most of the
time when fibers are short: ``sparse_dot`` takes them together. Short fibers of which most are as
long as the one before, whose length is predicted well, are gone through one by one (``steady``).

Factors that do not change in the loop, as in a vector times each row, multiply each product in
``scaled_dot``: infinity times a sum is not the sum of infinity times its terms. Numbers of the
program, which are known to be finite, multiply the sum.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from functools import reduce

from custard.to_c.loop_ir import (
    FALSE,
    INT,
    ONE,
    TRUE,
    Assign,
    Body,
    Call,
    Comment,
    Const,
    Declare,
    Expr,
    For,
    If,
    Load,
    Op,
    Stmt,
    Var,
    array,
    cast,
    op,
)
from custard.to_c.runtime import GATHERED
from custard.to_c.walks import expressions, reads, rewritten


def with_gathered_sums(body: Body, steady: Container[Expr]) -> list[Stmt]:
    """The statements with calls in the place of such loops; ``steady`` are the arrays of
    coordinates of which most fibers are as long as the one before."""
    return rewritten(body, lambda loop: _called(loop, steady))


def _called(loop: Stmt, steady: Container[Expr]) -> Body | None:
    """The statements in place of such a loop; None for any other statement.

    The loop may also set flags; they are set if it has a round.
    """
    if not isinstance(loop, For) or loop.next is not None or loop.step != ONE:
        return None
    p, flags, rest = loop.var, [], []
    for statement in loop.body:
        match statement:
            case Assign(Var(), value) if value == TRUE:
                flags.append(statement)
            case Comment():
                pass
            case Declare(unused) if not reads(loop.body, unused):
                pass
            case _:
                rest.append(statement)
    match rest:
        case [Declare(j, coordinate), Assign(Var() as total, Op("-", (Op("*") as product,)), "+")]:
            minus = True
        case [Declare(j, coordinate), Assign(Var() as total, Op("*") as product, "+")]:
            minus = False
        case _:
            return None
    parts = list(factors_of(product))
    changing = [one for one in parts if {p, j} & {*expressions(one)}]
    if any(total in expressions(one) for one in parts):
        return None
    coordinates = _at(coordinate.operands[0] if isinstance(coordinate, Op) else coordinate, p)
    factors = [found for one in changing if (found := _at(one, p)) is not None]
    picked = [found for one in changing if (found := _behind(one, j)) is not None]
    if coordinates is None or len(factors) != 1 or len(picked) != len(changing) - 1:
        return None
    inside = {node for one in picked for node in expressions(one)}
    if coordinate != cast(coordinates[p], INT) or inside & {p, j}:
        return None
    dot = {1: "dot", 2: "dot3"}.get(len(picked))
    name = f"{dot}_{total.type}_{coordinates.type.name}"
    if f"sparse_{name}" not in GATHERED or {a.type for a in (*factors, *picked)} != {
        array(total.type)
    }:
        return None
    facts = [TRUE if fact else FALSE for fact in (loop.increasing, coordinates in steady)]
    arguments = [*factors, coordinates, loop.begin, loop.end, *picked, *facts]
    kept = [one for one in parts if one not in changing]
    scale = [one for one in kept if not is_finite(one)]
    arguments += [_product(scale)] if scale else []
    called: Expr = Call(f"{'scaled' if scale else 'sparse'}_{name}", tuple(arguments), total.type)
    called = _product([*(one for one in kept if is_finite(one)), called])
    added = Assign(total, Op("-", (called,), called.type) if minus else called, "+")
    return [added, If([(op("<", loop.begin, loop.end), flags)])] if flags else [added]


def _product(factors: Sequence[Expr]) -> Expr:
    """The product of factors of one type."""
    return reduce(lambda one, other: Op("*", (one, other), other.type), factors)


def factors_of(product: Expr) -> Iterator[Expr]:
    """The factors of a product of one type."""
    match product:
        case Op("*", sides) if all(side.type == product.type for side in sides):
            for side in sides:
                yield from factors_of(side)
        case _:
            yield product


def is_finite(node: Expr) -> bool:
    """Whether the node is a known, finite number."""
    if isinstance(node, Op) and node.name == "cast":
        (node,) = node.operands
    return (
        isinstance(node, Const)
        and isinstance(node.value, int | float)
        and math.isfinite(node.value)
    )


def _at(element: Expr, index: Var) -> Expr | None:
    """The array of an element, if the element is the one at this index."""
    return element.array if isinstance(element, Load) and element.index == index else None


def _behind(element: Expr, index: Var) -> Expr | None:
    """The pointer from which an element lies at this index."""
    match element:
        case Load(pointer, Op("+", (begin, last))) if last == index:
            return Op("+", (pointer, begin), pointer.type)
    return _at(element, index)
