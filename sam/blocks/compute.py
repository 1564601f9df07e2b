"""Arithmetic-logic units (Definition 3.6)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.arithmetic import OPERANDS, operation
from sam.blocks.base import Block, Kind, StreamError, into, out
from sam.graph import Parameters
from sam.token import DATA, DONE, EMPTY, STOP, Token


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
    name = parameters["operation"]
    return Block(
        ports=(
            *(into(f"in_val{n}", "val", group="in_vals") for n in range(OPERANDS[name])),
            out("val", "val"),
        ),
        step=calculate,
        memory=lambda around: SimpleNamespace(
            apply=operation(name, around.dtype), zero=around.zero
        ),
    )


ALU = Kind("alu", "alu", _alu)
