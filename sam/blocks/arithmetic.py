"""Arithmetic on values of one type, as numpy does it.

Blocks compute with Python numbers. Integers wrap around at the width of their type, floats and
complex numbers are rounded to it after each operation, and for bool ``add`` is or, ``multiply``
is and. Division is numpy's ``true_divide``, so it gives infinities and NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sam.errors import UserError

Operation = Callable[..., Any]
# A number of the program has no type of its own: it takes on that of what it meets.
ValueType = np.dtype[Any] | int | float


def _divide(a: Any, b: Any) -> Any:
    if b != 0:
        return a / b
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(a, b).item()


_OPERATIONS: Mapping[str, Operation] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "negate": operator.neg,
}
_LOGIC: Mapping[str, Operation] = {"add": operator.or_, "multiply": operator.and_}

OPERANDS: Mapping[str, int] = {name: 1 if name == "negate" else 2 for name in _OPERATIONS}


def operation(name: str, dtype: np.dtype[Any]) -> Operation:
    """The operation on values of a type."""
    if dtype.kind == "b":
        return _LOGIC[name]
    apply, fit = _OPERATIONS[name], _fit(dtype)
    return apply if fit is None else lambda *operands: fit(apply(*operands))


def result_type(name: str, *types: ValueType) -> ValueType:
    """The type that numpy gives the operation on operands of such types.

    Raises UserError for bools that are subtracted or negated, which numpy refuses too.
    """
    if not any(isinstance(one, np.dtype) for one in types):
        return 1.0 if name == "divide" or any(isinstance(one, float) for one in types) else 1
    found: np.dtype[Any] = np.result_type(*types)
    if name == "divide" and found.kind in "bi":
        return np.dtype(np.float64)
    if found.kind == "b" and name not in _LOGIC:
        raise UserError(
            f"{name} has no meaning for bool values", hint="convert the inputs to int64 first"
        )
    return found


def _fit(dtype: np.dtype[Any]) -> Callable[[Any], Any] | None:
    """What brings a Python number into the type; None where every result is of it already."""
    if dtype.kind == "i":
        half = 1 << (8 * dtype.itemsize - 1)
        return lambda value: (value + half) % (2 * half) - half
    if dtype in (np.float32, np.complex64):
        return lambda value: dtype.type(value).item()
    return None
