"""Loops around a loop that adds to the same elements in each round: unroll and jam.

    for (int64_t i = 0; i < i_size; i++) {
        for (int64_t j = 0; j < j_size; j++)
            y[j] += x[i] * A[i * j_size + j];
    }

Each round over i loads all of y and stores it again. So four rounds are taken together: an element
of y is loaded and stored once for four products, which are added in the same order. The one to
three rounds by which the number of rounds exceeds a multiple of four come first, in a loop of their
own. Fibers of fewer than four entries, which may be most, have the loop as it was; and so have
loops that end before they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from custard.to_c.complex_parts import subtracted
from custard.to_c.loop_ir import (
    Assign,
    Body,
    Const,
    Declare,
    Expr,
    For,
    If,
    Load,
    Op,
    Stmt,
    Var,
    is_plain,
    op,
)
from custard.to_c.walks import expressions, rewritten, substituted

_TOGETHER = 4


def unrolled_and_jammed(body: Body, fresh: Callable[[str], str]) -> list[Stmt]:
    """The statements, with such loops split in two; ``fresh`` gives new names."""
    return rewritten(body, lambda one: _in_two(one, fresh) if isinstance(one, For) else None)


def _in_two(loop: For, fresh: Callable[[str], str]) -> list[Stmt] | None:
    """A loop for the first rounds, and one with four at a time; None if the loop is no such one."""
    match loop.body:
        case [*before, For(body=[Assign(Load() as target, value, "+" | "|" as sign)]) as inner]:
            rounds = replace(inner, vectors="") if inner.vectors == "simd" else inner
            if not is_plain(loop) or not is_plain(rounds):
                return None
            declared = [one for one in before if isinstance(one, Declare)]
            changing = {loop.var, *(one.var for one in declared)}
            same = {node for one in (target, inner.begin, inner.end) for node in expressions(one)}
            if len(declared) < len(before) or changing & same:
                return None
            limits = loop.begin, loop.end, inner.begin, inner.end
            read = [value, *limits, *(one.value for one in declared)]
            if any(target.array in expressions(one) for one in read):
                return None
            many = _together(loop, declared, replace(inner, body=[]), target, value, sign, fresh)
            begin, end = loop.begin, loop.end
            first = Var(fresh(f"{loop.var.name}_first"))
            split: list[Stmt] = [
                Declare(first, begin + op("&", end - begin, Const(_TOGETHER - 1)), const=True),
                replace(loop, end=first),
                replace(loop, begin=first, step=Const(_TOGETHER), body=many),
            ]
            if isinstance(begin, Const) and isinstance(end, Const):
                return split
            return [If([(begin < end - (_TOGETHER - 1), split)], [loop])]
    return None


def _together(
    loop: For,
    declared: Sequence[Declare],
    inner: For,
    target: Expr,
    value: Expr,
    sign: str,
    fresh: Callable[[str], str],
) -> list[Stmt]:
    """The body of a loop for several rounds: the declarations of each, and the sum of values."""
    before: list[Stmt] = []
    total = target
    for n in range(_TOGETHER):
        new: dict[Expr, Expr] = {loop.var: loop.var + n} if n else {}
        for one in declared:
            var = replace(one.var, name=fresh(one.var.name)) if n else one.var
            before.append(replace(one, var=var, value=_changed(one.value, new)))
            new[one.var] = var
        total = _added(total, _changed(value, new), sign)
    return [*before, replace(inner, body=[Assign(target, total)])]


def _added(total: Expr, value: Expr, sign: str) -> Expr:
    one = subtracted(value)
    if one is not None:
        return Op("-", (total, one), total.type)
    return Op(sign, (total, value), total.type)


def _changed(node: Expr, new: dict[Expr, Expr]) -> Expr:
    for old, other in new.items():
        node = substituted(node, old, other)
    return node
