"""Loops of a kernel that only add to elements of dense arrays."""

import pytest

from custard.to_c.dense_sums import DenseSum, ZeroedArray, dense_sums, ends_with
from custard.to_c.loop_ir import ZERO, Assign, Comment, Const, For, Type, Var, array

DOUBLE = Type("double")
A, C = (Var(name, array(DOUBLE)) for name in "AC")
i, j, k, m, n = (Var(name) for name in "ijkmn")


def loops(*ends, body=(), begin=ZERO):
    """Loops over some variables up to their ends, around statements."""
    made = list(body)
    for var, end in reversed(ends):
        made = [For(var, begin, end, made)]
    return made


def added(index):
    return Assign(C[index], A[k], "+")


ROWS = (i, m), (k, m), (j, n)


@pytest.mark.parametrize(
    ("ends", "index", "is_covered"),
    [
        (ROWS, i * n + j, True),
        (((j, n), (i, m)), i * n + j, True),
        (ROWS, j * n + i, False),  # of other extents
        (((i, m - 1), (j, n)), i * n + j, False),
        (((i, m),), i * n + i, False),  # the diagonal alone
        (ROWS, (i + 1) * n + j, False),
        (ROWS, i * m + j, False),
        (((j, n),), j, False),
        (((j, n),), m * n + j, False),  # a row
    ],
)
def test_all_of_a_matrix_is_added_to(ends, index, is_covered):
    zeroed = ZeroedArray(loops((k, m * n))[0], (m, n), lambda: (m, n))
    (one,) = dense_sums([], loops(*ends, body=[added(index)]))
    assert zeroed.is_covered(one) == is_covered


def test_loops_that_begin_later_leave_elements_out():
    zeroed = ZeroedArray(loops((k, m * n))[0], (m, n), lambda: (m, n))
    (one,) = dense_sums([], loops((i, m), (j, n), body=[added(i * n + j)], begin=Const(1)))
    assert not zeroed.is_covered(one)


def test_sums_have_their_loops():
    inner = loops((j, n), body=[added(j)])
    (outer,) = loops((i, m), body=[added(i), *inner])
    first, second = dense_sums([], [outer])
    assert first == DenseSum([outer], added(i))
    assert second == DenseSum([outer, *inner], added(j))
    assert second.statement() == loops((i, m), body=inner)[0]


@pytest.mark.parametrize("other", [Comment(""), Assign(C[i], A[i]), Assign(m, i, "+")])
def test_loops_with_other_statements_are_no_sums(other):
    assert dense_sums([], loops((i, m), body=[added(i), other])) is None


def test_variables_that_go_along_elements():
    assert ends_with(i * n + j, j)
    assert ends_with(j, j)
    assert not ends_with(i * n + j, i)
    assert not ends_with(j * n + j, j)
