"""Schedules of programs whose subscripts are computed."""

import numpy as np
import pytest

import custard
from sam.support import c_compiler as cc
from sam.support.errors import UserError

X = np.array([0, 5, 0, 0, 7, 0, 2, 0.0])
F = np.array([1, 0, 10.0])


@pytest.mark.skipif(not cc.available(), reason="needs a C compiler")
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


def test_what_precompute_refuses():
    with pytest.raises(UserError) as error:
        custard.compile("y(i) = A(i,i+1) * x(i)", {}, "precompute(A(i,i+1),i,i,w)", "c")
    assert str(error.value) == (
        "precompute takes no access whose subscripts have a variable twice, of which one is "
        "computed\nhint: as A(i,i+1) needs a loop of its own for the second one"
    )


@pytest.mark.parametrize("target", ["c", "sam"])
def test_positions_of_a_computed_subscript(target):
    with pytest.raises(UserError) as error:
        custard.compile("Y(i,j) = X(i+k,j+l) * F(k,l)", {}, "pos(j,p,X)", target)
    assert error.value.what == "X has no positions at j: its subscript j+l is computed"
