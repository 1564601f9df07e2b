"""Target c as the compiler calls it: loop orders, flags, and schedules of computed subscripts."""

import numpy as np
import pytest

import custard
from custard.to_c.compiler_flags import FAST_MATH, FLAGS
from sam.support.errors import UserError
from tests.support.compiler import needs_compiler

X = np.array([0, 5, 0, 0, 7, 0, 2, 0.0])
F = np.array([1, 0, 10.0])


@needs_compiler
@pytest.mark.parametrize(
    ("formats", "schedule"),
    [
        ({}, ["precompute(X(i+k)*F(k),i,i,w)"]),
        ({}, ["reorder(k,i)", "precompute(X(i+k)*F(k),i,i,w)"]),
        ({"X": "d", "F": "d", "Y": "d"}, ["precompute(X(i+k),i,i,w)"]),
        ({"X": "b", "F": "s", "Y": "s"}, ["precompute(X(i+k),k,k,w)"]),
        ({"X": "h", "F": "s", "Y": "s"}, ["reorder(k,i)", "precompute(X(i+k),i,i,w)"]),
        ({}, ["split(i,i0,i1,3)", "precompute(X(i+k)*F(k),i1,i1,w)"]),
        ({}, ["precompute(F(k),k,k,w)"]),
    ],
)
def test_precompute(formats, schedule):
    program = custard.compile("Y(i) = X(i+k) * F(k)", formats, schedule, "c")
    found = program.run({"X": X, "F": F}).to_numpy()
    np.testing.assert_array_equal(found, np.correlate(X, F, "valid"))


def test_mistakes_in_precompute():
    with pytest.raises(UserError) as error:
        custard.compile("y(i) = A(i,i+1) * x(i)", {}, "precompute(A(i,i+1),i,i,w)", "c")
    assert str(error.value) == (
        "precompute does not take an access with one variable in two subscripts, if one of them "
        "is computed\nhint: the second subscript of A(i,i+1), for example, needs a loop of its own"
    )


@pytest.mark.parametrize("target", ["c", "sam"])
def test_positions_of_a_computed_subscript(target):
    with pytest.raises(UserError) as error:
        custard.compile("Y(i,j) = X(i+k,j+l) * F(k,l)", {}, "pos(j,p,X)", target)
    assert error.value.what == "X has no positions at j: its subscript j+l is computed"


MATMUL = "X(i,j) = B(i,k) * C(k,j)"
CSR = {"X": "CSR", "B": "CSR", "C": "CSR"}


def test_loops_are_in_the_order_of_the_storage():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "CSC"}, target="c")
    assert program.cin.loops == ("j", "i")
    assert "the loop order is j, i: the tensors are stored so" in program.notes


def test_loops_are_in_a_cheaper_order_than_that_of_storage():
    program = custard.compile(MATMUL, {**CSR, "C": "CSC"}, target="c")
    assert any("it costs far less than" in note for note in program.notes)
    strict = custard.compile(MATMUL, {**CSR, "C": "CSC"}, target="c", strict=True)
    assert not any("it costs far less than" in note for note in strict.notes)


def test_a_reorder_keeps_the_order_of_the_text():
    program = custard.compile(MATMUL, CSR, ["reorder(i,j,k)"], "c")
    assert program.cin.loops == ("i", "j", "k")


def test_a_transposition_is_refused_under_strict():
    with pytest.raises(UserError) as caught:
        custard.compile("y(i) = A(j,i)", {"A": "CSR"}, ["reorder(i,j)"], "c", strict=True)
    assert str(caught.value) == (
        "A(j,i), stored as ds:0,1, is transposed to 1,0 before the run\n"
        "hint: write the format A:ds:1,0, or drop strict to let the compiler do it"
    )


def test_flags_and_header():
    program = custard.compile(MATMUL, CSR, target="c", fast_math=True)
    assert program.flags == FAST_MATH
    assert custard.compile(MATMUL, CSR, target="c").flags == FLAGS
    assert program.header == (MATMUL,)


def test_commands_about_streams_are_refused():
    with pytest.raises(UserError, match="target c does not take skip"):
        custard.compile(MATMUL, CSR, ["skip(B,k)"], "c")
