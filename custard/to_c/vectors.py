"""Loops whose iterations are shared out to the lanes of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custard.to_c.loop_ir import (
    Assign,
    Call,
    Declare,
    Expr,
    For,
    Load,
    Op,
    Stmt,
    Var,
)
from custard.to_c.walks import expressions, parts


def with_vectors(loop: Stmt) -> Stmt | None:
    """The loop with a pragma that its iterations are independent; None if they are not.

    They are if the loop adds to numbers, or writes each element of an array once."""
    if not isinstance(loop, For) or loop.next is not None:
        return None
    sums: dict[str, None] = {}
    local = {one.var for one in loop.body if isinstance(one, Declare)}
    for statement in loop.body:
        match statement:
            case Declare():
                pass
            case Assign(Var() as total, value, "+") if total not in local:
                if any(node == total for node in expressions(value)):
                    return None
                sums[total.name] = None
            case Assign(Load(_, index), _) if _moves_on(index, loop.var):
                pass
            case _:
                return None
        if any(isinstance(node, Call) for one in parts(statement)[0] for node in expressions(one)):
            return None
    if any(_reads(loop.body, name) for name in sums):
        return None
    return replace(loop, vectors=f"reduction(+: {', '.join(sums)})" if sums else "simd")


def _moves_on(index: Expr, var: Var) -> bool:
    """Whether an index is the loop's variable plus an offset that is the same in all rounds."""
    match index:
        case Op("+", (rest, last)):
            return last == var and all(node != var for node in expressions(rest))
    return index == var


def _reads(body: Sequence[Stmt], name: str) -> bool:
    """Whether a number that the loop adds to is read too."""
    return any(
        isinstance(node, Var) and node.name == name
        for statement in body
        for expression in ([statement.value] if isinstance(statement, Assign | Declare) else [])
        for node in expressions(expression)
    )
