"""Sums of a few terms that are added to an element of the result, as for each row of a block:

    double sum = y_values[i * 4 + k];
    for (int64_t l = 0; l < 4; l++)
        sum += A_values[(pA1 * 4 + k) * 4 + l] * x_values[j * 4 + l];
    y_values[i * 4 + k] = sum;

A compiler that may add in any order makes one sum of the terms and the element, and finds no
vectors for that. So the terms are summed up first, from zero on. A compiler does so by itself where
it takes a number out of the terms.
"""

from __future__ import annotations

from dataclasses import replace

from custard.to_c.dense_sums import zero_of
from custard.to_c.gathered_sums import factors_of, is_finite
from custard.to_c.loop_ir import (
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Declare,
    For,
    Load,
    Stmt,
    Var,
    is_plain,
)
from custard.to_c.walks import expressions, rewritten

_TYPES = ("float", "double")


def with_short_sums(body: Body) -> list[Stmt]:
    """The statements, with such sums added up first."""
    return rewritten(body, _changed)


def _changed(loop: Stmt) -> Body | None:
    """A loop that ends with such a sum, with that summed up first; None for any other statement."""
    match loop:
        case For(body=[*before, Declare(total, Load() as element), For() as rounds, last]):
            if last != Assign(element, total) or not _is_short(rounds, total):
                return None
            zero = Declare(total, zero_of(total.type))
            first = Call("apart", (total,), total.type)
            return [replace(loop, body=[*before, zero, rounds, Assign(element, first, "+")])]
    return None


def _is_short(loop: For, total: Var) -> bool:
    """Whether a loop has a few rounds, as is known, and does nothing but add to a number."""
    match loop.body:
        case [Assign(target, value, "+")] if target == total and total not in expressions(value):
            known = is_plain(loop) and loop.begin == ZERO and isinstance(loop.end, Const)
            numbers = any(map(is_finite, factors_of(value)))
            return known and total.type.name in _TYPES and not numbers
    return False
