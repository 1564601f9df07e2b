"""Arithmetic-logic units (Definition 3.6)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.arithmetic import OPERANDS, Operation
from sam.blocks.base import COMPUTER, Block, Drawing, Kind, StreamError, Values
from sam.blocks.parameters import choice
from sam.blocks.ports import into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, DONE, EMPTY


def calculate(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the operation's result; ``N`` counts as 0."""
    left_kind, left = p.in_vals[0].peek()
    right_kind, right = p.in_vals[-1].peek()
    for stream in p.in_vals:
        stream.take()
    if left_kind > EMPTY or right_kind > EMPTY:
        if left_kind != right_kind or left != right:
            raise StreamError("the operands of an ALU have different shapes")
        p.val.give(left_kind, left)
    else:
        left = left if left_kind == DATA else m.zero
        right = right if right_kind == DATA else m.zero
        p.val.give(DATA, m.apply(left) if len(p.in_vals) == 1 else m.apply(left, right))
    return True if left_kind == DONE else None


def _alu(parameters: Parameters) -> Block:
    name = parameters["operation"]
    return Block(
        ports=(
            *(into(f"in_val{n}", "val", group="in_vals") for n in range(OPERANDS[name])),
            out("val", "val"),
        ),
        step=calculate,
        memory=lambda around: SimpleNamespace(
            apply=Operation(name, around.dtype), zero=around.zero
        ),
        values=Values(operation=name),
    )


ALU = Kind(
    "alu",
    "alu",
    _alu,
    {"operation": choice(OPERANDS)},
    drawing=Drawing("ellipse", COMPUTER),
    work="computes",
)


def compute(graph: GraphBuilder, operation: str, *operands: End) -> End:
    """Adds an ALU; gives its values."""
    inputs = {f"val{n}": operand for n, operand in enumerate(operands)}
    return graph.add("alu", operation, {"operation": operation}, **inputs)["val"]
