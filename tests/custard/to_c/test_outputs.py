"""Results that kernels assemble, in every format, of every size, and when memory is not enough."""

import numpy as np
import pytest

from tests.support.compiler import needs_compiler
from tests.support.quick_c import run

pytestmark = needs_compiler


FORMS = ("ddd", "sss", "sdd", "dsd", "dds", "sds", "uqd", "ucq", "dus", "duq", "hhh", "bbb", "dcq")
EMPTY_ROWS = np.zeros((4, 3, 5), int)
EMPTY_ROWS[1, 0, 3], EMPTY_ROWS[1, 2, 0], EMPTY_ROWS[3, 2, 4] = 5, 6, 7
TENSORS = {
    "empty rows": EMPTY_ROWS,
    "no entries": np.zeros((3, 2, 4)),
    "all entries": np.arange(1, 25).reshape(2, 3, 4),
    "one entry": np.full((1, 1, 1), 3),
    "no rows": np.zeros((0, 3, 2)),
    "no columns": np.zeros((3, 0, 2)),
    "no tubes": np.zeros((3, 2, 0)),
    "nothing at all": np.zeros((0, 0, 0)),
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("form", FORMS)
def test_copies(form, name):
    due = TENSORS[name]
    for given in ("sss", "ddd"):
        found = run("X(i,j,k) = B(i,j,k)", {"X": form, "B": given}, {"B": due})
        assert found.shape == due.shape
        np.testing.assert_array_equal(found.to_numpy(), due)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("form", FORMS)
def test_sums_of_two_of_which_either_may_be_missing(form, name):
    due = TENSORS[name]
    for other in (due[::-1], np.zeros_like(due)):
        formats = {"X": form, "B": "sss", "C": "dss"}
        found = run("X(i,j,k) = B(i,j,k) + C(i,j,k)", formats, {"B": due, "C": other})
        np.testing.assert_array_equal(found.to_numpy(), due + other)


@pytest.mark.parametrize("form", ["ds", "ss", "sd", "uq", "dd", "hb"])
def test_rows_that_have_no_product(form):
    """A coordinate without entries below it is not stored."""
    b, c = np.diag([1, 0, 2, 0]), np.ones((4, 3))
    found = run("X(i,j) = B(i,k) * C(k,j)", {"X": form, "B": "ss", "C": "ss"}, {"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), b @ c)
    assert found.nnz == (12 if form == "dd" else 6) or form == "hb"
    if form in ("ss", "uq"):
        rows = np.unique(found.to_coo()[0][0])
        assert rows.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("expression", "inputs", "due"),
    [
        ("y = a", {"a": 3}, 3),
        ("y = a * b", {"a": 3, "b": 2.5}, 7.5),
        ("y = x(i)", {"x": np.zeros(0)}, 0),
        ("y = x(i)", {"x": np.arange(4)}, 6),
        ("y = x(i) * z(i)", {"x": np.arange(4), "z": np.ones(4)}, 6),
        ("y = A(i,j)", {"A": np.zeros((0, 3))}, 0),
        ("y = 2 * 3", {}, 6),
        ("y = -x(i) + a", {"x": np.arange(3), "a": 10}, 7),
    ],
)
def test_numbers(expression, inputs, due):
    for form in ("s", "d"):
        names = {n: form * np.ndim(x) for n, x in inputs.items() if np.ndim(x)}
        found = run(expression, names, inputs)
        assert found.shape == ()
        assert found.to_numpy() == due


@pytest.mark.parametrize("form", ["s", "d", "u", "h", "b"])
def test_results_without_operands_that_have_their_variables(form):
    found = run("X(i) = a", {"X": form}, {"a": 2}, dims={"i": 3})
    assert found.to_numpy().tolist() == [2, 2, 2]
    found = run("X(i) = a", {"X": form}, {"a": 2}, dims={"i": 0})
    assert found.shape == (0,)


# Growth
