"""Operands whose lengths are far apart: values, and which loops there are for them."""

from itertools import permutations

import numpy as np
import pytest

import custard
from experiments.dense import evaluate
from tests.support.compiler import needs_compiler


def source(expression, formats):
    text = custard.compile(expression, formats, target="c").source
    return text[text.index("int compute(") :]


def vector(random, size, count):
    """A vector with so many entries, at places drawn without repetition."""
    found = np.zeros(size)
    found[random.choice(size, count, replace=False)] = random.integers(1, 9, count)
    return found


@needs_compiler
@pytest.mark.parametrize("levels", ["sss", "usu"])
@pytest.mark.parametrize(
    "expression",
    [
        "a(i) * b(i)",
        "a(i) + b(i)",
        "a(i) - b(i)",
        "a(i) * b(i) * c(i)",
        "a(i) + b(i) - c(i)",
        "a(i) * (b(i) + c(i))",
        "a(i) * b(i) + c(i)",
        "a(i) * b(i) + a(i) * c(i)",
        "(a(i) * b(i) + b(i)) * c(i)",
        "(a(i) + b(i)) * (a(i) + c(i))",
        "a(i) * (b(i) + 2)",
        "(a(i) + 2) * b(i) * c(i)",
    ],
)
def test_values(expression, levels):
    """In each order of the lengths, also where the shortest begins or ends behind the others."""
    random = np.random.default_rng(3)
    names = [name for name in "abc" if f"{name}(" in expression]
    formats = {"y": "s", **dict(zip(names, levels, strict=False))}
    program = custard.compile(f"y(i) = {expression}", formats, target="c")
    for counts in permutations((3, 60, 900)):
        tensors = {n: vector(random, 2000, k) for n, k in zip("abc", counts, strict=True)}
        for first, last in ((0, 2000), (0, 400), (1600, 2000)):
            cut = {n: np.where(np.arange(2000) < first, 0, tensors[n]) for n in names}
            cut[names[0]][last:] = 0
            due = evaluate(f"y(i) = {expression}", cut)
            np.testing.assert_array_equal(program.run(cut).to_numpy(), due)


@needs_compiler
@pytest.mark.parametrize("expression", ["A(i,j) + B(i,j)", "A(i,j) * B(i,j) * C(i,j)"])
def test_rows_of_different_lengths(expression):
    random = np.random.default_rng(4)
    shape, names = (40, 300), [name for name in "ABC" if f"{name}(" in expression]
    tensors = {}
    for name in names:
        dense = random.choice([0.01, 0.1, 0.9], (40, 1))
        tensors[name] = random.integers(1, 9, shape) * (random.random(shape) < dense) * 1.0
    for format in ("CSR", "DCSR"):
        formats = {"X": format, **dict.fromkeys(names, format)}
        found = custard.compile(f"X(i,j) = {expression}", formats, target="c").run(tensors)
        np.testing.assert_array_equal(found.to_numpy(), evaluate(f"X(i,j) = {expression}", tensors))


def test_a_factor_that_is_behind_gallops_to_where_the_product_can_be():
    """The bound of a sum is the least coordinate of its terms."""
    text = source("y(i) = a(i) * (b(i) + c(i))", dict.fromkeys("yabc", "s"))
    far = text[text.index("while (far") :]
    assert "const int64_t i_bound = ib < ic ? ib : ic;" in far
    assert "const int64_t i_bound_2 = i_bound < ia ? ia : i_bound;" in far
    assert "pb0 = sought_int32_t(b_coordinates0, pb0, pb0_end, i_bound_2);" in far


def test_what_a_term_has_alone_is_copied_by_a_loop_of_its_own():
    text = source("y(i) = a(i) + b(i)", dict.fromkeys("yab", "s"))
    assert "while (pa0 < pa0_end && a_coordinates0[pa0] < ib)" in text
    assert "while (pb0 < pb0_end && b_coordinates0[pb0] < ia)" in text


@pytest.mark.parametrize(
    ("expression", "level"),
    [
        # Inner loops would be there twice.
        ("X(i,j) = A(i,j) + B(i,j)", "sb"),
        # Bits cannot be sought in.
        ("X(i,j) = A(i,j) * B(i,j)", "bb"),
        # Rows of three matrices: the loops would take longer where all are as long.
        ("X(i,j) = A(i,j) + B(i,j) + C(i,j)", "ds"),
    ],
)
def test_where_lengths_do_not_matter(expression, level):
    formats = {name: level for name in "XABC" if f"{name}(" in expression}
    assert "far" not in source(expression, formats)
