"""Leaves out variables that nothing reads."""

from __future__ import annotations

from dataclasses import replace

from custard.to_c.loop_ir import (
    Body,
    Declare,
    Expr,
    Field,
    For,
    If,
    Ordered,
    Parallel,
    Param,
    Stmt,
    Var,
    While,
)
from custard.to_c.walks import expressions, parts


def pruned(body: Body) -> list[Stmt]:
    """The statements without the declarations of variables that nothing reads, and empty loops."""
    return _pruned(body, set())[0]


def names_used(body: Body) -> set[str]:
    """The names from outside in the statements, without variables that nothing reads."""
    return _pruned(body, set())[1]


def _pruned(body: Body, used: set[str]) -> tuple[list[Stmt], set[str]]:
    """The statements of a block, and the outer names that they read.

    ``used`` are names that are read behind the block, but still in it.
    """
    kept: list[Stmt] = []
    for statement in reversed(body):
        if isinstance(statement, Declare):
            if statement.var.name not in used:
                continue
            used.discard(statement.var.name)
        statement, inside = _pruned_inside(statement)
        if isinstance(statement, If | For) and not any(parts(statement)[1]):
            continue
        outside = parts(statement)[0]
        if isinstance(statement, For):
            # The body of the loop assigns the next value.
            outside = [statement.begin, statement.end, statement.step]
        for expression in outside:
            used |= _names(expression)
        used |= inside
        kept.append(statement)
    return kept[::-1], used


def _pruned_inside(statement: Stmt) -> tuple[Stmt, set[str]]:
    """The statement with its blocks pruned, and the outer names that they read."""
    match statement:
        case For(var, _, _, body, after):
            new, used = _pruned(body, set() if after is None else _names(after))
            return replace(statement, body=new), used - {var.name}
        case While(_, body):
            new, used = _pruned(body, set())
            return replace(statement, body=new), used
        case If(cases, otherwise):
            found = [_pruned(body, set()) for _, body in cases]
            last, used = _pruned(otherwise, set())
            bodies = zip(cases, found, strict=True)
            new_cases = [(condition, new) for (condition, _), (new, _) in bodies]
            changed = replace(statement, cases=new_cases, otherwise=last)
            return changed, used.union(*(names for _, names in found))
        case Ordered(body):
            new, used = _pruned(body, set())
            return replace(statement, body=new), used
        case Parallel(body=body, thread=thread, heap=heap, outs=outs):
            new, used = _pruned(body, set())
            own = {thread.name, *(var.name for var in heap), *(out.name for out, _ in outs)}
            return replace(statement, body=new), (used - own) | {var.name for _, var in outs}
    return statement, set()


def _names(expression: Expr) -> set[str]:
    found = {node.name for node in expressions(expression) if isinstance(node, Var | Param)}
    return found | {node.struct for node in expressions(expression) if isinstance(node, Field)}
