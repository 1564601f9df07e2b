"""Walks through the loops of a kernel: what is in them, and the same with parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from custard.to_c.loop_ir import (
    Assign,
    Body,
    Call,
    CallStatement,
    Declare,
    Expr,
    For,
    If,
    Load,
    Op,
    Ordered,
    Parallel,
    Require,
    Stmt,
    Var,
    While,
)


def operands(node: Expr) -> Iterator[Expr]:
    """The operands of an expression."""
    match node:
        case Load(array, index):
            yield from (array, index)
        case Op(_, parts) | Call(_, parts):
            yield from parts


def expressions(node: Expr) -> Iterator[Expr]:
    """The expression and all below it."""
    yield node
    for operand in operands(node):
        yield from expressions(operand)


def substituted(node: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with one of its parts replaced."""
    if node == old:
        return new
    match node:
        case Load(array_, index):
            return Load(substituted(array_, old, new), substituted(index, old, new))
        case Op(name, given, type):
            return Op(name, tuple(substituted(n, old, new) for n in given), type)
        case Call(function, arguments, type):
            return Call(function, tuple(substituted(n, old, new) for n in arguments), type)
    return node


def parts(statement: Stmt) -> tuple[list[Expr], list[Body]]:
    """The expressions of a statement, and its bodies."""
    match statement:
        case Declare(_, value, shape=shape):
            return [value, *shape], []
        case Assign(target, value):
            return [target, value], []
        case For(_, begin, end, body, after, step=step):
            return [begin, end, step, *([] if after is None else [after])], [body]
        case While(condition, body):
            return [condition], [body]
        case If(cases, otherwise):
            return [condition for condition, _ in cases], [*(b for _, b in cases), otherwise]
        case Require(call) | CallStatement(call):
            return [call], []
        case Parallel(threads=threads, body=body):
            return [threads], [body]
        case Ordered(body):
            return [], [body]
    return [], []


def statements(body: Body) -> Iterator[Stmt]:
    """The statements and all inside them."""
    for statement in body:
        yield statement
        for inner in parts(statement)[1]:
            yield from statements(inner)


def all_expressions(body: Body) -> Iterator[Expr]:
    """The expressions of the statements and of all inside them."""
    for statement in statements(body):
        for expression in parts(statement)[0]:
            yield from expressions(expression)


def reads(body: Body, var: Var) -> bool:
    """Whether the statements use a variable."""
    return any(node == var for node in all_expressions(body))


def rewritten(body: Body, change: Callable[[Stmt], Body | None]) -> list[Stmt]:
    """The statements, each replaced by the statements that ``change`` gives for it.

    Where ``change`` gives None the statement stays, and the statements in it are rewritten.
    """
    made: list[Stmt] = []
    for statement in body:
        new = change(statement)
        if new is not None:
            made += new
            continue
        match statement:
            case For(body=inner) | While(body=inner) | Parallel(body=inner) | Ordered(body=inner):
                statement = replace(statement, body=rewritten(inner, change))
            case If(cases, otherwise):
                changed = [(condition, rewritten(inner, change)) for condition, inner in cases]
                statement = If(changed, rewritten(otherwise, change))
        made.append(statement)
    return made


def without_variable(body: Body, var: Var) -> list[Stmt]:
    """The statements without those that declare a variable, or assign to it."""

    def change(statement: Stmt) -> Body | None:
        match statement:
            case Declare(known) | Assign(known) if known == var:
                return []
        return None

    return rewritten(body, change)
