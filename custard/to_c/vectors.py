"""Loops whose iterations are shared out to the lanes of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from custard.to_c.loop_ir import (
    Assign,
    Body,
    Call,
    Declare,
    Expr,
    For,
    Load,
    Op,
    Stmt,
    Var,
    is_plain,
)
from custard.to_c.walks import all_expressions, expressions, parts, rewritten, substituted


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


def with_sums_on_vectors(body: Body, fresh: Callable[[str], str]) -> list[Stmt]:
    """The statements, with pragmas that innermost loops may add up their terms in any order.

    ``fresh`` gives new names: where rows of arrays begin is computed before the loop, as gcc does
    not see behind the pragma that elements lie side by side otherwise.
    """

    def change(loop: Stmt) -> Body | None:
        found = with_vectors(loop) if isinstance(loop, For) and is_plain(loop) else None
        if not isinstance(found, For) or found.vectors == "simd":
            return None
        own = {found.var, *(one.var for one in found.body if isinstance(one, Declare))}
        before, inside = [], found.body
        for offset in dict.fromkeys(_offsets(found)):
            if isinstance(offset, Op) and not own & {*expressions(offset)}:
                begin = Var(fresh(f"{found.var.name}_begin"))
                before.append(Declare(begin, offset, const=True))
                inside = [_substituted(one, offset, begin) for one in inside]
        return [*before, replace(found, body=inside)]

    return rewritten(body, change)


def _offsets(loop: For) -> Iterator[Expr]:
    """What the variable of a loop is added to, where it tells the place in an array."""
    for node in all_expressions(loop.body):
        match node:
            case Load(_, Op("+", (offset, last))) if last == loop.var:
                yield offset


def _substituted(statement: Stmt, old: Expr, new: Expr) -> Stmt:
    """A declaration or an assignment, with a part of its expressions replaced."""
    match statement:
        case Assign(target, value):
            target, value = (substituted(one, old, new) for one in (target, value))
            return replace(statement, target=target, value=value)
        case Declare(value=value):
            return replace(statement, value=substituted(value, old, new))
    return statement


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
