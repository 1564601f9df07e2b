"""Arithmetic-logic units (Definition 3.6)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.blocks.base import Block, Kind, StreamError, into, out
from sam.graph import Parameters
from sam.token import DATA, DONE, EMPTY, STOP, Token


def _divide(a: Any, b: Any) -> Any:
    if b != 0:
        return a / b
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(a, b).item()


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "negate": operator.neg,
}
OPERANDS = {operation: 1 if operation == "negate" else 2 for operation in OPERATIONS}


def calculate(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the operation's result; ``N`` counts as 0."""
    kind, value = p.in_vals[0].peek()
    for stream in p.in_vals:
        other, level = stream.peek()
        if other != kind and (kind > EMPTY or other > EMPTY) or (kind == STOP and level != value):
            raise StreamError("the operands of an ALU have different shapes")
    if kind == DATA or kind == EMPTY:
        p.val.give(DATA, m.apply(*(_operand(stream.peek(), m.zero) for stream in p.in_vals)))
    else:
        p.val.give(kind, value)
    for stream in p.in_vals:
        stream.take()
    return True if kind == DONE else None


def _operand(token: Token, zero: Any) -> Any:
    kind, value = token
    return value if kind == DATA else zero


def _alu(parameters: Parameters) -> Block:
    operation = parameters["operation"]
    return Block(
        ports=(
            *(into(f"in_val{n}", "val", group="in_vals") for n in range(OPERANDS[operation])),
            out("val", "val"),
        ),
        step=calculate,
        memory=lambda around: SimpleNamespace(apply=OPERATIONS[operation], zero=around.zero),
    )


ALU = Kind("alu", "alu", _alu)
