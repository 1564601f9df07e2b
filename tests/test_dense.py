"""The dense evaluator against hand-worked values and `numpy.einsum`."""

import re

import numpy as np
import pytest
from hypothesis import given, settings

from experiments.dense import evaluate
from tests.support.programs import Program, programs

A = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
B = np.arange(12.0).reshape(3, 4) - 5
S = np.array([[1.0, 2.0], [3.0, 4.0]])
T = np.arange(24.0).reshape(2, 3, 4) % 7 - 2
x = np.array([1.0, 10.0, 100.0])
y = np.array([5.0, 7.0])
w = np.array([2.0, 0.0, 1.0, 3.0])
U = np.arange(15.0).reshape(3, 5) % 4
V = np.arange(20.0).reshape(4, 5) % 3
INPUTS = {"A": A, "B": B, "S": S, "T": T, "x": x, "y": y, "w": w, "U": U, "V": V}
INPUTS |= {"alpha": np.array(2.0), "beta": np.array(-3.0)}


@pytest.mark.parametrize(
    ("expression", "subscripts", "operands"),
    [
        ("Y(i) = A(i,j) * x(j)", "ij,j->i", [A, x]),
        ("Y(j) = A(i,j) * y(i)", "ij,i->j", [A, y]),
        ("Y(i,j) = A(i,k) * B(k,j)", "ik,kj->ij", [A, B]),
        ("Y(j,i) = A(i,k) * B(k,j)", "ik,kj->ji", [A, B]),
        ("Y(i,j) = A(i,j) * S(i,k) * A(k,j)", "ij,ik,kj->ij", [A, S, A]),
        ("Y(i,j) = A(i,j) * (S(i,k) * A(k,j))", "ij,ik,kj->ij", [A, S, A]),
        ("Y(i,r) = T(i,j,k) * U(j,r) * V(k,r)", "ijk,jr,kr->ir", [T, U, V]),
        ("Y = T(i,j,k) * T(i,j,k)", "ijk,ijk->", [T, T]),
        ("Y(i,j) = T(i,j,k) * w(k)", "ijk,k->ij", [T, w]),
        ("Y(i,j,r) = T(i,j,k) * V(k,r)", "ijk,kr->ijr", [T, V]),
        ("Y(i,j) = x(i) * y(j)", "i,j->ij", [x, y]),
        ("Y(k,i,j) = T(i,j,k)", "ijk->kij", [T]),
        ("Y(i,j) = T(i,j,k)", "ijk->ij", [T]),
        ("Y = T(i,j,k)", "ijk->", [T]),
        ("Y(i) = S(i,i)", "ii->i", [S]),
        ("Y = S(i,i)", "ii->", [S]),
        ("Y(i,k) = S(i,j) * S(j,k)", "ij,jk->ik", [S, S]),
        ("Y(i) = x(i) * y(j)", "i,j->i", [x, y]),
        ("Y = x(i) * y(j)", "i,j->", [x, y]),
        ("Y(i) = sum(j, A(i,j) * x(j))", "ij,j->i", [A, x]),
        ("Y(i) = sum(j, A(i,j) * sum(k, B(j,k) * w(k)))", "ij,jk,k->i", [A, B, w]),
        ("Y(i) = A(i,j) * sum(k, B(j,k) * w(k))", "ij,jk,k->i", [A, B, w]),
    ],
)
def test_products_agree_with_einsum(expression, subscripts, operands):
    np.testing.assert_array_equal(
        evaluate(expression, INPUTS), np.einsum(subscripts, *operands), strict=True
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Y(i) = y(i) - A(i,j) * x(j)", [5 - 21, 7 - 430]),
        ("Y(j) = alpha * A(i,j) * y(i) + beta * x(j)", [7, 32, -244]),
        ("Y(i) = A(i,j) * x(j) + y(i)", [26, 437]),
        ("Y(i) = (A(i,j) + y(i)) * x(j)", [21 + 5 * 111, 430 + 7 * 111]),
        ("Y(i) = A(i,j) + y(i)", [8, 14]),
        ("Y(i) = A(i,j) - A(i,k) + y(i)", [5, 7]),
        ("Y(i) = sum(j, A(i,j) + y(i))", [3 + 15, 7 + 21]),
        ("Y(i) = sum(j, y(i))", [15, 21]),
        ("Y(j) = sum(j, x(j)) * x(j)", [111, 1110, 11100]),
        ("Y = sum(i, sum(j, A(i,j)))", 10),
        ("Y = x(j) * x(j) + y(i)", 10101 + 12),
        ("Y = x(j) * y(i) + 1", 111 * 12 + 1),
        ("Y = (x(j) + 1) * y(i)", 112 * 12),
        ("Y = (x(j) + 1) * x(j)", 2 + 110 + 10100),
        ("Y(i) = 2 * y(i) + 1.5", [11.5, 15.5]),
        ("Y(i) = alpha * y(i) - beta()", [13, 17]),
        ("Y() = alpha", 2),
        ("Y(i) = -y(i) + -y(i) * -alpha", [5, 7]),
        ("Y(i) = -A(i,j) * x(j)", [-21, -430]),
        ("Y(i) = y(i) - (y(i) - (1 - y(i)))", [-4, -6]),
        ("Y(i,j) = y(i)", [[5, 5, 5], [7, 7, 7]]),
        ("Y(j,i) = y(i) + x(j)", [[6, 8], [15, 17], [105, 107]]),
        ("Y(i,j) = 3", [[3, 3, 3], [3, 3, 3]]),
        ("Y(i,j) = S(i,i) + x(j)", [[2, 11, 101], [5, 14, 104]]),
        ("Y(i,i) = y(i)", [[5, 0], [0, 7]]),
        ("Y(i) = y(i) / alpha", [2.5, 3.5]),
        ("Y(i) = A(i,j) / x(j)", [1 + 0.2, 0.3 + 0.04]),
        ("Y(i) = A(i,j) / y(i)", [3 / 5, 1]),
        ("Y(i) = y(i) / A(i,j)", [5 / 3, 1]),
        ("Y(i) = A(i,j) / S(i,k)", [1, 1]),
        ("Y(i) = A(i,j) * x(j) / y(i)", [21 / 5, 430 / 7]),
        ("Y(i) = y(i) / x(j) * x(j)", [15, 21]),
        ("Y(i) = y(i) / (x(j) * x(j))", [5 / 10101, 7 / 10101]),
        ("Y = 1 / 0", np.inf),
        ("Y(k) = (w(k) - w(k)) / w(k)", [0, np.nan, 0, 0]),
        ("Y(k) = -1 / w(k)", [-0.5, -np.inf, -1, -1 / 3]),
    ],
)
def test_hand_worked_values(expression, expected):
    value = evaluate(expression, INPUTS, dims={"i": 2, "j": 3})
    np.testing.assert_allclose(value, np.array(expected, float), rtol=1e-15)
    assert value.shape == np.shape(expected)


def test_add_assign_adds_to_the_old_value_or_to_zeros():
    np.testing.assert_array_equal(evaluate("y(i) += A(i,j) * x(j)", INPUTS), [26, 437])
    np.testing.assert_array_equal(evaluate("Y(i) += A(i,j) * x(j)", INPUTS), [21, 430])
    np.testing.assert_array_equal(evaluate("S(i,i) += y(i)", INPUTS), [[6, 2], [3, 11]])


def test_the_left_tensor_on_the_right_is_its_old_value():
    np.testing.assert_array_equal(evaluate("y(i) = y(i) * y(j)", INPUTS), [60, 84])
    np.testing.assert_array_equal(evaluate("S(i,j) = S(j,i)", INPUTS), S.T)


def test_inputs_stay_as_they_are():
    old = S.copy()
    result = evaluate("S(i,j) += S(j,i)", INPUTS)
    result[...] = 0
    np.testing.assert_array_equal(S, old)


def test_modes_of_extent_zero():
    wide, long = np.zeros((2, 0)), np.zeros((0, 3))
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(evaluate("Y(i) = P(i,j)", {"P": wide}), [0, 0])
    assert evaluate("Y(j) = P(i,j)", {"P": wide}).shape == (0,)
    product = evaluate("Y(i,j) = P(i,k) * Q(k,j)", {"P": wide, "Q": long})
    np.testing.assert_array_equal(product, zeros, strict=True)
    np.testing.assert_array_equal(evaluate("Y(i) = sum(j, 1) + P(i,j)", {"P": wide}), [0, 0])


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("Y(i) = f(i) * 2", np.float32),
        ("Y(i) = -2 * f(i)", np.float32),
        ("Y(i) = f(i) * n(i)", np.result_type(np.float32, np.int32)),
        ("Y = n(i)", np.int32),
        ("Y(i) = n(i) / n(i)", np.float64),
        ("Y(i) = n(i) + 0.5", np.float64),
        ("Y(i) = c(i) * f(i)", np.complex128),
    ],
)
def test_types_promote_as_in_numpy(expression, dtype):
    tensors = {
        "f": np.ones(2, np.float32),
        "n": np.ones(2, np.int32),
        "c": np.ones(2, np.complex128),
    }
    assert evaluate(expression, tensors).dtype == dtype


def test_words_of_python_are_names():
    tensors = {"in": x, "lambda": np.array(2.0)}
    np.testing.assert_array_equal(evaluate("is(or) = in(or) * lambda", tensors), 2 * x)
    np.testing.assert_array_equal(evaluate("Y(i) = sum(i,j)", {"sum": S}), [3, 7])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("Y(i) = A(i,j) * x(i)", "i is 2 in mode 0 of A and 3 in mode 0 of x"),
        ("Y(i) = A(i,i)", "i is 2 in mode 0 of A and 3 in mode 1 of A"),
        ("Y(k) = x(k)", "k is 4 in dims and 3 in mode 0 of x"),
        ("Y(i,n) = y(i)", "no input fixes the extent of n: give it in dims"),
        ("Y(i) = x(i,j)", "x has order 1, not 2"),
        ("Y(i) = nothing(i)", "no tensor nothing"),
        ("Y(i)", "not one assignment: 'Y(i)'"),
        ("Y(i) = y(i) = y(i)", "not one assignment: 'Y(i) = y(i) = y(i)'"),
        ("Y(i) = y(i) +", "not index notation: ' y(i) +'"),
        ("Y(i) = y(i) ** 2", "not index notation: _y(_i) ** 2"),
        ("2 * Y(i) = y(i)", "not an access: '2 * Y(i) '"),
    ],
)
def test_mistakes(expression, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(expression, INPUTS, dims={"k": 4})


@settings(max_examples=150, deadline=None)
@given(programs(operators="+-*/", explicit_sums=True, accumulate=True))
def test_random_programs_evaluate(program: Program):
    value = evaluate(program.expression, program.tensors, program.dims)
    left = re.match(r"X(?:\((.*?)\))?", program.expression)[1]
    subscripts = left.split(",") if left else []
    assert value.ndim == len(subscripts)
    assert set(subscripts) <= set(program.order)
    for name, text in program.formats.items():
        levels, modes = text.split(":")
        order = value.ndim if name == "X" else program.tensors[name].ndim
        assert len(levels) == order
        assert sorted(map(int, modes.split(","))) == list(range(order))
