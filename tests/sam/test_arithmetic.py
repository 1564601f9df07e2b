"""Arithmetic on Python numbers in a type; ``tests/test_arithmetic.py`` has all of it on engines."""

import math

import numpy as np
import pytest

from sam.arithmetic import OPERANDS, Operation, require_fit, result_type, summed
from sam.support.errors import UserError


def compute(name, dtype, *operands):
    return Operation(name, np.dtype(dtype))(*operands)


def test_integers_wrap_around():
    assert compute("add", "int32", 2**31 - 1, 1) == -(2**31)
    assert compute("multiply", "int64", 2**62, 4) == 0
    assert compute("negate", "int32", -(2**31)) == -(2**31)


def test_floats_are_rounded_to_their_type():
    assert compute("add", "float32", 1.0, 1e-9) == 1.0
    assert compute("multiply", "float32", 0.1, 3.0) == np.float32(0.1) * np.float32(3)


@pytest.mark.filterwarnings("error")
def test_floats_that_are_too_large_are_infinite():
    assert compute("multiply", "float32", 1e38, 1e10) == math.inf
    assert compute("add", "float32", -1e300, 1.0) == -math.inf


def test_division_by_zero_is_numpys():
    assert compute("divide", "float64", 1, 0) == math.inf
    assert math.isnan(compute("divide", "float64", 0, 0))
    assert compute("divide", "float64", 1, -0.0) == -math.inf


def test_truths_are_joined():
    assert compute("add", "bool", True, True) is True
    assert compute("multiply", "bool", True, False) is False


def test_complex_numbers_are_numpys():
    due = (np.complex64(1 + 2j) * np.complex64(3 - 1j)).item()
    assert compute("multiply", "complex64", 1 + 2j, 3 - 1j) == due


@pytest.mark.parametrize(
    ("name", "types", "due"),
    [
        ("add", ("int32", "float32"), "float64"),
        ("divide", ("int32", "int32"), "float64"),
        ("multiply", ("bool", "bool"), "bool"),
        ("add", ("float32", "complex64"), "complex64"),
    ],
)
def test_types_of_results(name, types, due):
    assert result_type(name, *map(np.dtype, types)) == np.dtype(due)


def test_numbers_of_the_program_take_on_the_type_that_they_meet():
    assert result_type("multiply", np.dtype("float32"), 2.5) == np.dtype("float32")
    assert result_type("add", np.dtype("int32"), 7) == np.dtype("int32")
    assert (result_type("divide", 1, 2), result_type("add", 1, 2)) == (1.0, 3)
    assert result_type("multiply", 2**40, 2**40) == 1.0


def test_each_number_of_a_sum_must_fit_the_type_that_it_meets():
    total = summed(3)
    assert summed(np.dtype("int32")) == np.dtype("int32")
    assert result_type("add", np.dtype("int32"), total) == np.dtype("int32")
    assert result_type("multiply", total, 2**31 - 1) == 2**31 - 1
    for part in (2**31, -(2**31) - 1):
        part_of_sum = result_type("negate", result_type("add", summed(part), 7))
        with pytest.raises(UserError, match=f"the number {part} does not fit int32"):
            result_type("subtract", np.dtype("int32"), part_of_sum)


def test_operations_that_numpy_refuses_are_refused():
    with pytest.raises(UserError, match="subtract has no meaning for bool values"):
        result_type("subtract", np.dtype(bool), np.dtype(bool))
    with pytest.raises(UserError) as caught:
        require_fit(2**31, np.dtype("int32"))
    assert caught.value.what == "the number 2147483648 does not fit int32, the type that it meets"
    assert OPERANDS == {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "negate": 1}
