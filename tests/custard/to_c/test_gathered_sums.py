"""Sums of products with a gathered factor: the loops that become calls, and their values."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

PLAIN = "y(i) = A(i,j) * x(j)"


def calls(expression, formats):
    """The calls in the kernel of a program, each without the spaces in it."""
    source = custard.compile(expression, formats, target="c").source
    kernel = "".join(source[source.index("int compute(") :].split())
    return [part.partition(");")[0] for part in re.split(r"_dot3?_double_int32_t\(", kernel)[1:]]


@pytest.mark.parametrize(
    ("expression", "formats", "arguments"),
    [
        (PLAIN, {"A": "ds", "x": "d"}, "A_segments1[i],A_segments1[i+1],x_values"),
        (PLAIN, {"A": "ss", "x": "d"}, "A_segments1[pA0],A_segments1[pA0+1],x_values"),
        (PLAIN, {"A": "uq", "x": "d"}, "pA0,pA0_next,x_values"),
        (
            "y(i) = 2 * A(i,j) * x(j)",
            {"A": "ds", "x": "d"},
            "A_segments1[i],A_segments1[i+1],x_values",
        ),
        ("y(i) = x(j) * A(i,j)", {"A": "ds", "x": "d"}, "A_segments1[i],A_segments1[i+1],x_values"),
        (
            "y(i) = A(i,j) * x(j) * C(i,j)",
            {"A": "ds", "x": "d", "C": "dd"},
            "A_segments1[i],A_segments1[i+1],x_values,C_values+i*C->size1",
        ),
        (
            "Y(i,l) = A(i,k) * C(l,k)",
            {"A": "ds", "C": "dd"},
            "A_segments1[i],A_segments1[i+1],C_values+l*C->size1",
        ),
    ],
)
def test_a_fiber_times_a_dense_one_is_a_call(expression, formats, arguments):
    [found] = calls(expression, formats)
    assert found == f"A_values,A_coordinates1,{arguments},true,false"


@pytest.mark.parametrize(
    ("expression", "formats"),
    [
        ("y(i) = A(i,j) * x(j) * C(i,j) * D(i,j)", {"A": "ds", "x": "d", "C": "dd", "D": "dd"}),
        ("y(i) = A(i,j) + x(j)", {"y": "d", "A": "ds", "x": "d"}),
        (PLAIN, {"A": "ds", "x": "s"}),
        (PLAIN, {"A": "dd", "x": "d"}),
        (PLAIN, {"A": "ds:1,0", "x": "d"}),
        ("y(i) = A(i,j) * C(j,i)", {"A": "ds", "C": "dd"}),
        ("y(i) = A(i,j) * A(i,j)", {"A": "ds"}),
    ],
)
def test_other_loops_stay_loops(expression, formats):
    assert calls(expression, formats) == []


@pytest.mark.parametrize(
    ("expression", "scale"),
    [
        ("y(i) = a * A(i,j) * x(j)", "a_values[0]"),
        ("y(i) = z(i) * A(i,j) * x(j)", "z_values[i]"),
        ("y(i) = A(i,j) * z(i) * x(j) * 2 * a", "z_values[i]*a_values[0]"),
    ],
)
def test_factors_that_do_not_change_multiply_each_product(expression, scale):
    formats = {name: form for name, form in (("A", "ds"), ("x", "d"), ("z", "d"))
               if f"{name}(" in expression}  # fmt: skip
    [found] = calls(expression, formats)
    assert found.endswith(f"x_values,true,false,{scale}")
    matrix, x = sp.csr_array(ragged(40, 60, np.random.default_rng(3))), np.arange(60.0)
    given = {"A": matrix, "x": x, "a": 3.0, "z": np.arange(40.0)}
    given = {
        name: one for name, one in given.items() if name in formats or "a" == name in expression
    }
    due = matrix @ x
    for factor, value in (("a", 3.0), ("z(i)", np.arange(40.0)), ("2", 2.0)):
        due = due * value if factor in expression.split(" ") else due
    found = custard.compile(expression, formats, target="c").run(given).to_numpy()
    np.testing.assert_allclose(found, due)


def test_an_infinite_factor_multiplies_each_product():
    """Not their sum; and rows without entries stay zero."""
    matrix = np.zeros((4, 20))
    matrix[0, :3] = [1, 2, -1]
    matrix[1, 5:8] = [1, 2, 3]
    matrix[2, ::2] = 1
    x, a = np.ones(20), np.inf
    program = custard.compile("y(i) = a * A(i,j) * x(j)", {"A": "CSR", "x": "d"}, target="c")
    found = program.run({"A": matrix, "x": x, "a": a}).to_numpy()
    np.testing.assert_array_equal(found, [np.nan, np.inf, np.inf, 0])


def test_products_may_be_subtracted():
    formats = {"A": "ss", "x": "d", "b": "d", "y": "d"}
    text = "y(i) = b(i) - A(i,j) * x(j)"
    assert len(calls(text, formats)) == 1
    matrix, x, b = (
        sp.csr_array(ragged(40, 60, np.random.default_rng(3))),
        np.arange(60.0),
        np.ones(40),
    )
    found = custard.compile(text, formats, target="c").run({"A": matrix, "x": x, "b": b}).to_numpy()
    np.testing.assert_array_equal(found, b - matrix @ x)


def test_a_number_multiplies_the_sum():
    matrix, x = sp.csr_array(ragged(40, 60, np.random.default_rng(3))), np.arange(60.0)
    program = custard.compile("y(i) = 0.5 * A(i,j) * 3 * x(j)", {"A": "ds", "x": "d"}, target="c")
    found = program.run({"A": matrix, "x": x}).to_numpy()
    np.testing.assert_allclose(found, 1.5 * (matrix @ x))


def ragged(rows, size, random):
    """A matrix whose row n has n entries: one after the other in even rows, anywhere in others."""
    matrix = np.zeros((rows, size))
    for n, row in enumerate(matrix):
        begin = random.integers(0, size - n + 1)
        places = np.arange(begin, begin + n) if n % 2 == 0 else random.permutation(size)[:n]
        row[places] = random.integers(1, 9, n)
    return matrix


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("machine", ["", "-march=x86-64"])
@pytest.mark.parametrize("form", ["csr", "coo"])
def test_fibers_of_any_length(dtype, index, machine, form, monkeypatch):
    """Whole numbers, whose sums are exact in any order."""
    monkeypatch.setenv("SAM_CFLAGS", f"-O1 {machine}")
    random = np.random.default_rng(1)
    matrix = ragged(50, 60, random).astype(dtype)
    rows = sp.csr_array(matrix)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    stored = rows.asformat(form)
    x = random.integers(-9, 9, 60).astype(dtype)
    program = custard.compile(PLAIN, {"y": "d", "A": form.upper(), "x": "d"}, target="c")
    found = program.run({"A": stored, "x": x}).to_numpy()
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, matrix @ x)
    formats = {"y": "d", "A": form.upper(), "x": "d", "z": "d"}
    scaled = custard.compile("y(i) = z(i) * A(i,j) * x(j)", formats, target="c")
    z = random.integers(-9, 9, 50).astype(dtype)
    found = scaled.run({"A": stored, "x": x, "z": z}).to_numpy()
    np.testing.assert_array_equal(found, z * (matrix @ x))
    formats |= {"C": "dd"}
    del formats["z"]
    sampled = custard.compile("y(i) = A(i,j) * x(j) * C(i,j)", formats, target="c")
    weights = random.integers(-9, 9, (50, 60)).astype(dtype)
    found = sampled.run({"A": stored, "x": x, "C": weights}).to_numpy()
    np.testing.assert_array_equal(found, (matrix * weights) @ x)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_gathered_do_not_count(value):
    random = np.random.default_rng(2)
    matrix = ragged(20, 30, random)
    x = random.random(30)
    x[11] = x[0] = value
    program = custard.compile(PLAIN, {"y": "d", "A": "CSR", "x": "d"}, target="c")
    found = program.run({"A": matrix, "x": x}).to_numpy()
    expected = sp.csr_array(matrix) @ x
    np.testing.assert_allclose(found, expected)
    assert set(np.isfinite(found)) == {False, True}


def test_coordinates_that_repeat_are_not_taken_for_ones_without_a_gap():
    """Twenty rows, of which the first comes twice and the second not at all."""
    matrix = np.zeros((20, 20))
    matrix[[0, *range(2, 20)], range(19)] = range(1, 20)
    matrix[0, 19] = 20
    program = custard.compile("a = A(i,j) * x(i)", {"A": "COO", "x": "d"}, target="c")
    assert calls("a = A(i,j) * x(i)", {"A": "COO", "x": "d"})[0].endswith("x_values,false,false")
    x = np.arange(20.0) ** 2
    assert program.run({"A": matrix, "x": x}).to_numpy() == (x @ matrix).sum()


def with_lengths(lengths, dtype=np.float64):
    """A matrix of 40 columns with so many entries in each row, which are small whole numbers."""
    random = np.random.default_rng(4)
    columns = [np.sort(random.permutation(40)[:n]) for n in lengths]
    segments = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = random.integers(1, 9, segments[-1]).astype(dtype)
    arrays = values, np.concatenate(columns).astype(np.int32), segments
    return sp.csr_array(arrays, shape=(len(lengths), 40))


STEADY = [3] * 1500 + [0, 7, 1, 0, 16] + [4] * 1500


@pytest.mark.parametrize(
    ("lengths", "steady"),
    [
        (STEADY, True),
        ([1] * 2000, True),
        ([2, 5, 1] * 700, True),
        (list(range(12)) * 1000, False),
        (list(range(12)) * 200, True),
        ([3] * 500, False),
        ([20] * 2000, False),
        ([0] * 2000, True),
        (np.random.default_rng(5).choice(3, 40_000, p=(0.5, 0.4, 0.1)), True),
        (np.random.default_rng(5).choice((1, 2, 3), 40_000, p=(0.55, 0.35, 0.1)), False),
        ([], False),
    ],
    ids=[
        "equal",
        "one",
        "in turns",
        "unequal",
        "learnt",
        "few",
        "long",
        "empty",
        "many empty",
        "none empty",
        "none",
    ],
)
def test_fibers_are_steady_where_their_lengths_are_foreseen(lengths, steady):
    matrix = with_lengths(lengths) if len(lengths) else sp.csr_array((0, 40))
    program = custard.compile(PLAIN, {"y": "d", "A": "CSR", "x": "d"}, target="c")
    x = np.arange(40.0)
    np.testing.assert_array_equal(program.run({"A": matrix, "x": x}).to_numpy(), matrix @ x)
    [kernel] = program.kernels.values()
    assert kernel.source.rstrip().count("x_values, true, true)") == steady


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["CSR", "DCSR"])
def test_steady_fibers(dtype, form):
    """Alone, scaled, and with two factors that are gathered."""
    matrix = with_lengths(STEADY, dtype)
    x, z, weights = (np.arange(n, dtype=dtype) % 9 for n in (40, matrix.shape[0], matrix.size))
    weights = np.resize(weights, matrix.shape)
    given = {"A": matrix, "x": x, "z": z, "C": weights}
    for right, due in (
        ("A(i,j) * x(j)", matrix @ x),
        ("z(i) * A(i,j) * x(j)", z * (matrix @ x)),
        ("A(i,j) * x(j) * C(i,j)", matrix.multiply(weights) @ x),
        ("z(i) * A(i,j) * x(j) * C(i,j)", z * (matrix.multiply(weights) @ x)),
    ):
        used = [name for name in given if f"{name}(" in right]
        formats = {"y": "d", "A": form, "x": "d", "z": "d", "C": "dd"}
        formats = {name: formats[name] for name in ("y", *used)}
        program = custard.compile(f"y(i) = {right}", formats, target="c")
        found = program.run({name: given[name] for name in used}).to_numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, due)
        [kernel] = program.kernels.values()
        assert ", true, true" in " ".join(kernel.source.split())
