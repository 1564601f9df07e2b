"""Whole kernels: their loops, for the programs of the papers."""

import pytest

import custard
from custard.to_c.loop_ir import For, While, statements


def loops(expression, formats, schedule=()):
    """The loops of a kernel, outermost first, ``while`` for those of merges."""
    kernel = custard.compile(expression, formats, schedule, "c").lowered.kernel
    found = [one for one in statements(kernel.body) if isinstance(one, For | While)]
    return [one.var.name if isinstance(one, For) else "while" for one in found]


MATVEC = "y(i) = A(i,j) * x(j)"


def test_a_matrix_is_gone_through_by_rows_and_entries():
    formats = {"y": "d", "A": "CSR"}
    assert loops("y(i) = A(i,j)", formats) == ["i", "pA1"]


def test_a_sparse_row_times_a_dense_vector_is_one_call():
    assert loops(MATVEC, {"y": "d", "A": "CSR", "x": "d"}) == ["i"]


def test_two_sparse_operands_are_merged():
    assert loops("y = a(i) * b(i)", {"a": "s", "b": "s"}) == ["while"]
    assert loops("y = a(i) + b(i)", {"a": "s", "b": "s"}) == ["pa0", "pb0"]
    assert loops("y(i) = a(i) + b(i)", {"y": "s", "a": "s", "b": "s"}) == ["while"] * 3


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
