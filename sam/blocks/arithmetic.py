"""Arithmetic on values of one type, as numpy does it.

Blocks compute with Python numbers. Integers wrap around at the width of their type, floats and
complex numbers are rounded to it after each operation, and for bool ``add`` is or, ``multiply``
is and. Division is numpy's ``true_divide``, so it gives infinities and NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sam.support.errors import UserError

# A number of the program has no type of its own: it takes on that of what it meets.
ValueType = np.dtype[Any] | int | float


def _divide(a: Any, b: Any) -> Any:
    if b != 0:
        return a / b
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(a, b).item()


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "negate": operator.neg,
}
_LOGIC: Mapping[str, Callable[..., Any]] = {"add": operator.or_, "multiply": operator.and_}

OPERANDS: Mapping[str, int] = {name: 1 if name == "negate" else 2 for name in _OPERATIONS}


@dataclass(frozen=True)
class Operation:
    """An operation on values of a type; ``operation(a, b)`` does it on Python numbers."""

    name: str
    dtype: np.dtype[Any]
    plain: Callable[..., Any] = field(init=False, compare=False, repr=False)
    fit: Callable[[Any], Any] | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        table = _LOGIC if self.dtype.kind == "b" else _OPERATIONS
        object.__setattr__(self, "plain", table[self.name])
        object.__setattr__(self, "fit", _fit(self.dtype))

    def __call__(self, *operands: Any) -> Any:
        result = self.plain(*operands)
        return result if self.fit is None else self.fit(result)


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
