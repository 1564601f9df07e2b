"""The C types of values, and arithmetic on them as numpy does it."""

from __future__ import annotations

from typing import Any

import numpy as np

from custard.loop_ir import Const, Expr, Op, Type, cast
from sam.blocks.arithmetic import ValueType, result_type

_C_NAMES = {
    "bool": "bool",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float complex",
    "complex128": "double complex",
}


def concrete(dtype: ValueType) -> np.dtype[Any]:
    """The type itself, or that of a number of the program."""
    return dtype if isinstance(dtype, np.dtype) else np.result_type(dtype)


def c_type(dtype: ValueType) -> Type:
    """The C type of a numpy type."""
    return Type(_C_NAMES[concrete(dtype).name])


def number(value: int | float, dtype: ValueType) -> Expr:
    """A constant of a type; whole numbers wrap around."""
    found = concrete(dtype)
    if found.kind == "i":
        half = 1 << (8 * found.itemsize - 1)
        return Const((int(value) + half) % (2 * half) - half, c_type(found))
    if found.kind == "b":
        return Const(bool(value), c_type(found))
    return Const(float(value), c_type(found))


_SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_LOGIC = {"add": "|", "multiply": "&"}


def arithmetic(
    name: str, left: tuple[Expr, ValueType], right: tuple[Expr, ValueType]
) -> tuple[Expr, ValueType]:
    """An operation on two values, and its type."""
    dtype = result_type(name, left[1], right[1])
    type = c_type(dtype)
    symbols = _LOGIC if concrete(dtype).kind == "b" else _SYMBOLS
    return Op(symbols[name], (cast(left[0], type), cast(right[0], type)), type), dtype


def adding(dtype: ValueType) -> str:
    """The operator that adds to a value in place."""
    return "|" if concrete(dtype).kind == "b" else "+"
