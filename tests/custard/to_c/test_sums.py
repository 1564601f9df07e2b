"""Where sums of their own are computed."""

import re

import numpy as np
import pytest

import custard
from custard.to_c.loop_ir import (
    Comment,
    Declare,
)
from custard.to_c.walks import statements
from tests.support.compiler import needs_compiler


def program(expression, formats, schedule=()):
    return custard.compile(expression, formats, schedule, "c")


def workspaces(found):
    body = found.lowered.kernel.body
    return [one.text for one in statements(body) if isinstance(one, Comment)]


def numbers(found):
    body = found.lowered.kernel.body
    names = [one.var.name for one in statements(body) if isinstance(one, Declare)]
    return [name for name in names if name.startswith("sum")]


def test_a_sum_goes_into_a_number_where_no_outer_loop_binds_its_variables():
    found = program("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"})
    assert (numbers(found)[0], workspaces(found)) == ("sum", [])


def test_a_sum_goes_into_the_result_where_its_levels_are_full():
    found = program("y(i) = A(j,i)", {"y": "d", "A": "CSR"})
    assert (numbers(found), workspaces(found)) == ([], [])


def test_a_number_that_is_added_to_an_element_begins_with_it():
    formats = {"y": "dd", "A": "dsdd", "x": "dd"}
    text = custard.compile("y(i,k) = A(i,j,k,l) * x(j,l)", formats, target="c").source
    assert "double sum = y_values[i * y->size1 + k];" in text
    assert "y_values[i * y->size1 + k] = sum;" in text


def test_a_sum_goes_into_a_workspace_where_the_levels_are_not_full():
    formats = {"X": "CSR", "B": "CSR", "C": "CSR"}
    found = program("X(i,j) = B(i,k) * C(k,j)", formats, ["reorder(i,k,j)"])
    assert workspaces(found) == ["w(j)"]


def test_a_schedule_may_ask_for_a_workspace():
    formats = {"y": "d", "A": "CSR", "x": "d"}
    found = program("y(i) = A(i,j) * x(j)", formats, ["precompute(x(j),j,j,w)"])
    assert workspaces(found) == ["w(j)"]


CASES = [
    ("y(i) = A(i,j) * x(j) + b(i)", lambda a, x, b: a @ x + b),
    ("y(i) = b(i) * (A(i,j) + A(j,i))", lambda a, x, b: b * (a.sum(1) + a.sum(0))),
    ("y(i) = (A(i,j) * x(j)) * (A(i,k) * b(k))", lambda a, x, b: (a @ x) * (a @ b)),
    ("y(i) = A(j,i) * x(j) - A(i,j) * b(j)", lambda a, x, b: a.T @ x - a @ b),
]


@needs_compiler
@pytest.mark.parametrize(("text", "due"), CASES)
@pytest.mark.parametrize("levels", ["d", "s"])
@pytest.mark.parametrize("stored", ["ds", "ds:1,0", "uq"])
def test_values(text, due, levels, stored):
    random = np.random.default_rng(7)
    a = random.integers(0, 2, (5, 5)) * random.integers(1, 9, (5, 5)).astype(float)
    x, b = random.integers(0, 4, (2, 5)).astype(float)
    formats = {"y": levels, "A": stored, "x": "s", "b": "d"}
    found = program(text, {name: form for name, form in formats.items() if f"{name}(" in text})
    inputs = {name: one for name, one in (("A", a), ("x", x), ("b", b)) if f"{name}(" in text[4:]}
    np.testing.assert_allclose(found.run(inputs).to_numpy(), due(a, x, b))


@needs_compiler
@pytest.mark.parametrize("result", ["ds", "ss", "dss", "dds", "dsd"])
@pytest.mark.parametrize("policy", ["dense", "coord", "hash"])
def test_a_workspace_is_left_alone_where_a_row_is_empty(result, policy):
    """Rows of A that are empty, rows whose terms are, and columns."""
    random = np.random.default_rng(3)
    a, b = (random.integers(1, 9, (6, 6)) * (random.random((6, 6)) < 0.4) for _ in range(2))
    a[[0, 2, 5]] = b[[1, 3]] = 0
    if len(result) == 2:
        text, formats, due = "X(i,j) = A(i,k) * B(k,j)", {"B": "CSR"}, a @ b
        schedule = [f"precompute(A(i,k) * B(k,j),j,j,W:{policy})"]
    else:
        b = b.reshape(6, 2, 3)
        text, formats = "X(i,j,l) = A(i,k) * B(k,j,l)", {"B": "dss"}
        due = np.einsum("ik,kjl->ijl", a, b)
        schedule = [f"precompute(A(i,k) * B(k,j,l),{{j,l}},{{j,l}},W:{policy})"]
    schedule = ["reorder(i,k,j)" if len(result) == 2 else "reorder(i,k,j,l)", *schedule]
    found = program(text, {"X": result, "A": "CSR", **formats}, schedule)
    assert "if (A_segments1[i] < A_segments1[i + 1])" in found.source
    np.testing.assert_array_equal(found.run({"A": a, "B": b}).to_numpy(), due)


@needs_compiler
@pytest.mark.parametrize("levels", ["ds:1,0", "sd:1,0", "dd"])
def test_a_factor_that_is_empty_leaves_each_row_empty(levels):
    """No row is gone through where the sum of A has no entry; the result still has all rows."""
    found = custard.compile(
        "Y(i,j) = A(k) * B(j,i)", {"A": "s", "B": "ds", "Y": levels}, "reorder(k,j,i)", "c"
    ).run({"A": np.zeros(4), "B": np.arange(1.0, 10).reshape(3, 3)})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), np.zeros((3, 3)))


@needs_compiler
@pytest.mark.parametrize("width", [3, 12])
def test_lists_that_repeat_coordinates_are_gone_through_in_one_loop(width):
    """32 entries are added up first if both coordinates of the result are those of the first."""
    values = np.arange(1.0, 1 + 30 * 20 * width).reshape(30, 20, width)
    x = np.arange(1.0, 1 + width)
    found = program("X(i,j) = B(i,j,k) * x(k)", {"X": "dd", "B": "ucq", "x": "d"})
    np.testing.assert_array_equal(found.run({"B": values, "x": x}).to_numpy(), values @ x)
    (kernel,) = found.kernels.values()
    assert "X_values[i * X->size1 + j] += B_values[" in kernel.source
    first, last = "B_coordinates{}[pB0_32]", "B_coordinates{}[pB0_32 + 31]"
    same = " && ".join(f"{first} == {last}".replace("{}", str(level)) for level in (0, 1))
    assert f"if ({same})" in re.sub(r"\s+", " ", kernel.source)
