"""Checks a kernel: names are declared once and before use, and types agree."""

from __future__ import annotations

from custard.to_c.loop_ir import (
    WHOLE,
    ZERO,
    Assign,
    Body,
    Declare,
    Expr,
    Field,
    For,
    Kernel,
    Load,
    Parallel,
    Type,
    Var,
    array,
)
from custard.to_c.walks import expressions, parts, statements


def verify(kernel: Kernel) -> None:
    """Raises AssertionError unless every name is declared once and before its use, and types fit.

    A variable may be declared again in another block that does not lie in its own.
    """
    fields = {(s.name, name): type for s in kernel.structs for name, type in s.fields}
    own = (*kernel.heap, *kernel.numbers, *(kernel.parts[:1] if kernel.parts else ()))
    known = {v.name: v.type for v in own}
    _verify_body(kernel.body, known, fields)
    for function in kernel.functions:
        _verify_body(function.body, {v.name: v.type for v in function.numbers}, fields)


def _verify_body(body: Body, known: dict[str, Type], fields: dict[tuple[str, str], Type]) -> None:
    known = dict(known)
    for statement in body:
        inner = known
        found, bodies = parts(statement)
        if isinstance(statement, For):
            inner = {**known, statement.var.name: statement.var.type}
            assert statement.var.name not in known, f"{statement.var.name} is declared twice"
            *outside, found_after = found if statement.next is not None else (*found, ZERO)
            for expression in outside:
                _verify_expression(expression, known, fields)
            found = []
            declared = {s.var.name: s.var.type for s in statement.body if isinstance(s, Declare)}
            _verify_expression(found_after, {**inner, **declared}, fields)
        for expression in found:
            _verify_expression(expression, known, fields)
        if isinstance(statement, Parallel):
            own = {s.var.name for s in statements(statement.body) if isinstance(s, Declare)}
            outs = [out for out, _ in statement.outs]
            inner = {name: type for name, type in known.items() if name not in own}
            inner |= {v.name: v.type for v in (statement.thread, *statement.heap, *outs)}
        for one in bodies:
            _verify_body(one, inner, fields)
        if isinstance(statement, Declare):
            name = statement.var.name
            assert name not in known, f"{name} is declared twice"
            held = array(statement.value.type) if statement.shape else statement.value.type
            assert held == statement.var.type, f"{statement} mixes types"
            known[name] = statement.var.type
        if isinstance(statement, Assign):
            assert statement.target.type == statement.value.type, f"{statement} mixes types"


def _verify_expression(
    root: Expr, known: dict[str, Type], fields: dict[tuple[str, str], Type]
) -> None:
    for node in expressions(root):
        match node:
            case Var(name, type):
                assert known.get(name) == type, f"{name} is not declared as {type}"
            case Field(struct, name, type):
                declared = struct in known or fields.get((struct, name)) == type
                assert declared, f"{struct} has no {type} {name}"
            case Load(array_, index):
                row = isinstance(array_, Load) and array_.array.type.pointer
                assert array_.type.pointer or row, f"{array_} is not an array"
                assert index.type in WHOLE, f"{index} is no index"
