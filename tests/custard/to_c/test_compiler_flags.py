"""The flags of the C compiler: which sums and products may be taken apart, and the values."""

import numpy as np
import pytest

import custard
from custard.to_c.compiler_flags import EXACT, FAST_MATH, FLAGS, ORDERED
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

MATVEC = "y(i) = A(i,j) * x(j)"
FORMATS = {"y": "d", "A": "CSR", "x": "d"}


@pytest.mark.parametrize(
    "text",
    ["a(i) - b(i) - a(i)", "a(i) + b(i) - a(i)", "a(i) - (a(i) - b(i))", "b(i) - a(i) + a(i)"],
)
@pytest.mark.parametrize("form", ["d", "s"])
def test_terms_are_added_up_in_their_order(text, form, monkeypatch):
    """Those that cancel leave what numpy leaves of them; with all optimisations."""
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    a, b = np.array([np.inf, 1e30, 1e16, -0.1]), np.array([1.0, 1, 3, 1])
    program = custard.compile(f"y(i) = {text}", dict.fromkeys("yab", form), target="c")
    with np.errstate(invalid="ignore"):
        due = eval(text.replace("(i)", ""), {"a": a, "b": b})
    np.testing.assert_array_equal(program.run({"a": a, "b": b}).to_numpy(), due)


@pytest.mark.parametrize(
    "text",
    [
        "a(i) * b(i) * c(i) * d(i)",
        "a(i) * (b(i) * c(i))",
        "a(i) * (b(i) * (c(i) * d(i)))",
        "-(a(i) * (b(i) * -c(i))) - d(i)",
        "a(i) / (b(i) * c(i)) * d(i)",
    ],
)
@pytest.mark.parametrize("form", ["d", "s"])
def test_factors_are_multiplied_in_their_order(text, form, monkeypatch):
    """Those that would overflow in another order; with all optimisations."""
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    a, b, c, d = np.array(
        [
            [1e300, 1e-300, 1e300, 0.1],
            [1e300, 1e-300, 1e-300, 0.3],
            [1e-300, 1e300, 1e300, 0.7],
            [1e-300, 1e300, 1e-300, 1 / 3],
        ]
    ).repeat(5, axis=1)
    given = {"a": a, "b": b, "c": c, "d": d}
    given = {name: one for name, one in given.items() if f"{name}(" in text}
    program = custard.compile(f"y(i) = {text}", dict.fromkeys(("y", *given), form), target="c")
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        due = eval(text.replace("(i)", ""), {}, given)
    np.testing.assert_array_equal(program.run(given).to_numpy(), due)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
def test_sums_go_along_vectors_where_products_keep_their_order(order, dtype, monkeypatch):
    """The order of their terms is open."""
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    formats = {"X": "CSR", "A": "CSR", "P": "dd", "Q": f"dd:{order[0]},{order[1]}"}
    program = custard.compile("X(i,j) = A(i,j) * (P(i,k) * Q(j,k))", formats, target="c")
    assert "-fassociative-math" not in program.flags
    if order == (0, 1):
        assert "#pragma omp simd reduction(+: sum)" in program.source
        assert "-fopenmp-simd" in program.source
    random = np.random.default_rng(0)
    A = random.integers(0, 2, (30, 20)).astype(dtype)
    P, Q = (random.integers(-9, 9, (n, 37)).astype(dtype) for n in A.shape)
    found = program.run({"A": A, "P": P, "Q": Q}).to_numpy()
    np.testing.assert_array_equal(found, A * (P @ Q.T))


def test_the_head_of_a_file_for_threads_has_their_flag():
    schedule = "parallelize(i,CPUThread,NoRaces)"
    assert "-fopenmp kernel.c" in custard.compile(MATVEC, FORMATS, schedule, "c").source


@pytest.mark.parametrize(
    ("expression", "open_order"),
    [
        ("y(i) = 2 * A(i,j) * x(j)", True),
        ("y(i) = 2 * (A(i,j) * x(j))", False),
        ("y(i) = sum(j, A(i,j) * x(j)) * z(i) * w(i)", True),
        ("y(i) = b(i) * c(i) - A(i,j) * x(j)", True),
        ("y(i) = b(i) * c(i) - A(i,j) * x(j) / c(i)", False),
        ("y(i) = b(i) / 2 - A(i,j) / 3", False),
        ("y(i) = b(i) - b(i) / sum(j, A(i,j))", False),
        ("y(i) = 2 * (3 / sum(j, A(i,j)))", False),
        ("y(i) = A(i,j) * x(j)", True),
        ("y(i) = b(i) - A(i,j) * x(j)", True),
        ("y(i) = sum(j, A(i,j) - B(i,j))", False),
    ],
)
def test_the_order_of_a_sum_over_a_variable_is_open(expression, open_order):
    program = custard.compile(expression, target="c")
    assert program.flags == (FLAGS if open_order else ORDERED)
    assert custard.compile(expression, target="c", fast_math=True).flags == FAST_MATH


@pytest.mark.parametrize("expression", ["X(i,j) = A(i,j) + B(i,j)", "y(i) = a(i) * b(i) / c(i)"])
def test_values_without_sums_over_variables_are_exact(expression):
    """``tests/test_arithmetic.py`` has their values."""
    assert custard.compile(expression, target="c").flags == EXACT
    assert "-ffp-contract=off" in EXACT
    assert custard.compile(expression, target="c", fast_math=True).flags == FAST_MATH
