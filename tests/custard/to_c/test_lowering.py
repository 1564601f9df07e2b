"""Whole kernels: their loops, for the programs of the papers."""

import numpy as np
import pytest

import custard
from custard.to_c.loop_ir import (
    For,
    While,
)
from custard.to_c.walks import statements
from tests.support.compiler import needs_compiler


def loops(expression, formats, schedule=()):
    """The loops of a kernel, outermost first, ``while`` for merges."""
    kernel = custard.compile(expression, formats, schedule, "c").lowered.kernel
    found = [one for one in statements(kernel.body) if isinstance(one, For | While)]
    return [one.var.name if isinstance(one, For) else "while" for one in found]


MATVEC = "y(i) = A(i,j) * x(j)"


def test_a_matrix_is_gone_through_by_rows_and_entries():
    formats = {"y": "d", "A": "CSR"}
    assert loops("y(i) = A(i,j)", formats) == ["i", "pA1"]


def test_values_whose_coordinates_do_not_matter_are_one_fiber():
    assert loops("a = A(i,j)", {"A": "CSR"}) == ["pA1"]
    assert loops("a = A(i,j) * A(i,j)", {"A": "CSR"}) == ["pA1"]
    assert loops("a = B(i,j,k)", {"B": "sss"}) == ["pB2"]
    assert loops("y(i) = B(i,j,k)", {"y": "d", "B": "sss"}) == ["p", "pB0", "pB2"]
    assert loops("a = A(i,j) * x(i)", {"A": "CSR", "x": "d"}) == ["i", "pA1"]


def test_a_sparse_row_times_a_dense_vector_is_one_call():
    assert loops(MATVEC, {"y": "d", "A": "CSR", "x": "d"}) == ["i"]


def test_two_sparse_operands_are_merged():
    assert loops("y = a(i) * b(i)", {"a": "s", "b": "s"}) == ["while"]
    assert loops("y = a(i) + b(i)", {"a": "s", "b": "s"}) == ["pa0", "pb0"]
    # A merge, one by stretches where lengths are far apart, and what is left of each.
    sums = ["while", *("while", "while", "while"), "while", "while"]
    assert loops("y(i) = a(i) + b(i)", {"y": "s", "a": "s", "b": "s"}) == sums


def test_terms_that_are_everywhere_come_first():
    """Sparse terms are added afterwards: no loop tests them at each coordinate."""
    assert loops("X(i,j) = A(i,j) + D(i,j)", {"X": "dd", "A": "CSR", "D": "dd"}) == [
        "i", "j", "pA1"
    ]  # fmt: skip
    assert loops("X(i,j) = A(i,j) - D(i,j) + B(i,j)", {
        "X": "dd", "A": "ss", "D": "dd", "B": "ds"
    }) == [
        "i", "j", "pB1", "pA0", "pA1"
    ]  # fmt: skip
    assert "while" in loops("y(i) = a(i) + b(i)", {"y": "s", "a": "s", "b": "d"})


@needs_compiler
@pytest.mark.parametrize(
    ("form", "dtype"),
    [("ds", "float64"), ("ss", "int32"), ("uq", "complex128"), ("bb", "bool"), ("hh", "float64"),
     ("ds:1,0", "int32")],
)  # fmt: skip
@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("A(i,j) + D(i,j)", lambda A, D, x: A + D),
        ("A(i,j) - D(i,j)", lambda A, D, x: A - D),
        ("A(i,j) + D(i,j) * x(j) - A(j,i)", lambda A, D, x: A + D * x - A.T),
        ("x(i) + A(i,j) * x(j)", lambda A, D, x: x[:, None] + A * x),
    ],
)
def test_sparse_terms_beside_dense_ones(expression, due, form, dtype):
    if dtype == "bool" and "-" in expression:
        return  # numpy has no difference of truth values
    random = np.random.default_rng(3)
    A = (random.integers(-9, 9, (7, 7)) * (random.random((7, 7)) < 0.3)).astype(dtype)
    D, x = random.integers(-9, 9, (7, 7)).astype(dtype), random.integers(0, 9, 7).astype(dtype)
    given = {name: one for name, one in (("A", A), ("D", D), ("x", x)) if f"{name}(" in expression}
    formats = {"X": "dd", "A": form, "D": "dd", "x": "d"}
    formats = {name: one for name, one in formats.items() if name in {"X", *given}}
    program = custard.compile(f"X(i,j) = {expression}", formats, target="c")
    found = program.run(given).to_numpy()
    np.testing.assert_array_equal(found, due(A, D, x))
    assert found.dtype == dtype


def test_a_result_that_is_added_to_needs_no_workspace():
    """All is set to 0, then columns come first: each entry is added to its row."""
    formats = {"y": "d", "A": "CSC", "x": "d"}
    assert loops(MATVEC, formats) == ["p", "j", "pA1"]


@pytest.mark.parametrize(
    ("schedule", "note"),
    [
        ("reorder(i,k,j)", "X(i,j) goes through a dense workspace over j: dense scattering"),
        ("reorder(k,i,j)", "X(i,j) goes through a bucket workspace over i, j: sparse scattering"),
    ],
)
def test_a_result_that_is_appended_to_goes_through_a_workspace(schedule, note):
    formats = {"X": "CSR", "B": "CSR", "C": "CSR"}
    if schedule.startswith("reorder(k"):
        formats["B"] = "CSC"
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", formats, [schedule], "c")
    assert note in program.notes


def test_choices_for_the_result_change_nothing():
    program = custard.compile("y(i) = x(i)", {"y": "d", "x": "s"}, ["locate(y,i)"], "c")
    assert "locate(y,i) changes nothing in C: y is the result" in program.notes
