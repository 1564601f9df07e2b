"""Arithmetic of steps in C: the text, and what is refused."""

import numpy as np
import pytest

from sam.arithmetic import Operation
from sam.support.errors import UserError
from tests.support.steps import general

STATE = {"n": 0, "m": 0, "x": 0.0, "z": 0j, "on": False}


def c(expression, **known):
    """The C of an expression."""
    text = general(f"s.z = {expression}", STATE, **known)
    return text.removeprefix("s_z = ").removesuffix(";\nLEAVE untouched; last: 0")


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("s.n + 1", "(s_n + 1)"),
        ("s.n - s.m", "(s_n - s_m)"),
        ("s.x * 2", "(s_x * 2)"),
        ("-s.n", "(-s_n)"),
        ("s.n // 4", "(s_n / 4 - (s_n % 4 != 0 && (s_n ^ 4) < 0))"),
        ("s.n % 4", "((s_n % 4 + 4) % 4)"),
        ("s.n << 2", "(int64_t)((uint64_t)s_n << 2)"),
        ("s.n >> 1", "((int64_t)s_n >> 1)"),
        ("s.n & 6", "(s_n & 6)"),
        ("s.n | s.m", "(s_n | s_m)"),
        ("7 // 2 + 5 % 3 - 2 * 2", "1"),
        ("1.5 * 2", "(3.0)"),
        ("len((1, 2) + (3,))", "3"),
        ("s.n < 3", "(s_n < 3)"),
        ("s.n >= 3", "(s_n >= 3)"),
        ("s.x != 3.0", "(s_x != (3.0))"),
        ("None is None", "1"),
        ("s.z < 1", "(creal(s_z) < 1)"),
        ("s.z == 1", "(s_z == 1)"),
        ("(s.n, 2) == (1, s.m)", "((s_n == 1) && (2 == s_m))"),
        ("(s.n, 2) != (1, s.m)", "!((s_n == 1) && (2 == s_m))"),
        ("min(s.n, 3)", "(3 < s_n ? 3 : s_n)"),
        ("max(s.n, s.x)", "(s_x > s_n ? s_x : s_n)"),
    ],
)
def test_operators(expression, due):
    assert c(expression) == due


def test_a_division_asks_for_zero_first():
    assert general("s.n = s.n // s.m", STATE).startswith("FAIL 0 if !s_m\n")
    assert general("s.n = s.n % 0", STATE).startswith("FAIL 0 if !0\n")
    assert "FAIL" not in general("s.n = s.n % 3", STATE)


@pytest.mark.parametrize(
    ("name", "dtype", "due"),
    [
        ("add", "int32", "((int64_t)(int32_t)((uint64_t)s_n + (uint64_t)s_m))"),
        ("multiply", "int64", "((int64_t)(int64_t)((uint64_t)s_n * (uint64_t)s_m))"),
        ("subtract", "float32", "((double)(float)((float)(double)s_n - (float)(double)s_m))"),
        ("divide", "float64", "(((double)s_n / (double)s_m))"),
        ("add", "bool", "((s_n | s_m))"),
        ("multiply", "bool", "((s_n & s_m))"),
        ("multiply", "complex128", "complex128_multiply((double complex)s_n, (double complex)s_m)"),
        (
            "add",
            "complex64",
            "((double complex)(float complex)((float complex)(double complex)s_n"
            " + (float complex)(double complex)s_m))",
        ),
    ],
)
def test_operations_on_values(name, dtype, due):
    assert c("plus(s.n, s.m)", plus=Operation(name, np.dtype(dtype))) == due


@pytest.mark.parametrize(
    ("dtype", "due"),
    [("int32", "((int64_t)(int32_t)(0 - (uint64_t)s_n))"), ("float64", "((-s_n))")],
)
def test_the_sign_of_a_value(dtype, due):
    assert c("minus(s.n)", minus=Operation("negate", np.dtype(dtype))) == due


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("2 ** s.n", "the operator Pow"),
        ("s.n / 2", "the operator Div"),
        ("~s.n", "the operator Invert"),
        ("s.x // 2", "the operator FloorDiv on real numbers"),
        ("s.n in (1, 2)", "the comparison In"),
        ("(s.n, 1) < (2, 3)", "an order of tuples"),
        ("s.n is None", "a comparison with None"),
        ("min(s.n)", "min or max of fewer than two values"),
    ],
)
def test_refusals(expression, what):
    with pytest.raises(UserError) as caught:
        c(expression)
    assert str(caught.value) == (
        f"step, in `s.z = {expression}`: {what} has no translation to C\nhint: use engine simpy"
    )
