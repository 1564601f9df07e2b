"""Arithmetic on values of one type, as numpy does it.

Blocks compute with Python numbers. Both operands are brought into the type of the result first.
Integers wrap around at the width of their type, floats and complex numbers are rounded to it after
each operation, and for bool ``add`` is or, ``multiply`` is and. Division is numpy's
``true_divide``, so it gives infinities and NaN. A complex product is (ac - bd) + (ad + bc)i, in
which ac and ad are fused with what they are added to if the machine can; a complex quotient is
Smith's, and by zero it has the parts divided by +0.

The engines compiled and c have the same operations in ``sim/compiled/runtime.h`` and
``custard/to_c/runtime``; ``tests/test_arithmetic.py`` holds all of them against numpy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_float
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sam.support.errors import UserError

# A number of the program has no type of its own: it takes on the type of the other operand.
ValueType = np.dtype[Any] | int | float


class Summed(int):
    """The value type of whole numbers of the program that are summed over variables.

    They have the type that they meet before the sum, which wraps around. So each must fit it, and
    the type is the one that needs most bits.
    """


def summed(type: ValueType) -> ValueType:
    """The type of a sum over variables."""
    return Summed(type) if isinstance(type, int) else type


def _divide(a: Any, b: Any) -> float:
    a, b = float(a), float(b)
    if b != 0:
        return a / b
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.true_divide(a, b))


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "negate": operator.neg,
}
_COMPLEX: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "negate": np.negative,
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
        plain = table[self.name]
        if self.dtype.kind == "c":
            plain = _of_complex(_COMPLEX[self.name], self.dtype)
        object.__setattr__(self, "plain", plain)
        object.__setattr__(self, "fit", _fit(self.dtype))

    def __call__(self, *operands: Any) -> Any:
        if self.fit is None:
            return self.plain(*operands)
        if self.rounds:
            operands = tuple(map(self.fit, operands))
        return self.fit(self.plain(*operands))

    @property
    def rounds(self) -> bool:
        """Whether Python's numbers are wider than the type, so that operands are rounded first."""
        return self.dtype in (np.float32, np.complex64)


def result_type(name: str, *types: ValueType) -> ValueType:
    """The type that numpy gives the operation on operands of such types.

    Raises UserError for bools that are subtracted or negated, which numpy refuses too.
    """
    if not any(isinstance(one, np.dtype) for one in types):
        return _number_type(name, types)
    found: np.dtype[Any] = np.result_type(*(1 if isinstance(one, Summed) else one for one in types))
    if name == "divide" and found.kind in "bi":
        return np.dtype(np.float64)
    for number in types:
        if isinstance(number, int) and found.kind == "i":
            require_fit(number, found)
    if found.kind == "b" and name not in _LOGIC:
        raise UserError(
            f"{name} has no meaning for bool values", hint="convert the inputs to int64 first"
        )
    return found


def _number_type(name: str, numbers: Sequence[Any]) -> ValueType:
    """The type of an operation on numbers of the program: its value, where it is a whole number."""
    if name == "divide" or any(isinstance(one, float) for one in numbers):
        return 1.0
    if any(isinstance(one, Summed) for one in numbers):
        return Summed(max(numbers, key=lambda one: max(one, -one - 1)))
    found = _OPERATIONS[name](*numbers)
    return found if -(2**63) <= found < 2**63 else 1.0


def require_fit(number: int, dtype: np.dtype[Any]) -> None:
    """Raises UserError for a number of the program that a whole type cannot hold, as numpy does."""
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise UserError(
            f"the number {number} does not fit {dtype}, the type that it meets",
            hint="write it as a float, as in 3e9, or convert the inputs to a wider type first",
        )


def _of_complex(function: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """A function of numpy on complex numbers: Python's own arithmetic differs between versions."""

    def operation(*operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*map(dtype.type, operands)).item()

    return operation


def _fit(dtype: np.dtype[Any]) -> Callable[[Any], Any] | None:
    """The function that brings a Python number into the type; None if results are in it already."""
    if dtype.kind == "i":
        half = 1 << (8 * dtype.itemsize - 1)
        return lambda value: (value + half) % (2 * half) - half
    if dtype == np.float32:
        return lambda value: c_float(value).value  # infinity where it overflows, without a warning
    return None
