"""What ``bound`` says of loops, checked against inputs."""

import numpy as np
import pytest

import custard
from custard import UserError


def run(command, n, values=None):
    program = custard.compile("y(i) = x(i)", {"y": "d", "x": "d"}, [command], "c")
    x = np.arange(1.0, n + 1) if values is None else np.array(values, float)
    return program.bind({"x": x})


@pytest.mark.parametrize(
    ("command", "n"),
    [
        ("bound(i,b,4,MaxExact)", 4),
        ("bound(i,b,4,MaxConstraint)", 3),
        ("bound(i,b,0,MinExact)", 3),
        ("bound(i,b,0,MinConstraint)", 3),
    ],
)
def test_inputs_within_the_bounds(command, n):
    run(command, n)


@pytest.mark.parametrize(
    ("command", "values", "what"),
    [
        (
            "bound(i,b,4,MaxExact)",
            [1] * 3,
            "i has 3 values, and bound says that there are 4",
        ),
        (
            "bound(i,b,4,MaxConstraint)",
            [1] * 5,
            "i has 5 values, and bound says that there are 4 at most",
        ),
        (
            "bound(i,b,2,MinExact)",
            [0, 1, 1],
            "i has its first value at 1, and bound says at 2",
        ),
        (
            "bound(i,b,2,MinConstraint)",
            [0, 1, 1],
            "i has its first value at 1, and bound says not before at 2",
        ),
    ],
)
def test_inputs_that_break_them(command, values, what):
    with pytest.raises(UserError) as caught:
        run(command, len(values), values)
    assert caught.value.what == what


def test_without_a_value_there_is_no_first():
    run("bound(i,b,2,MinExact)", 3, [0, 0, 0])


def test_too_many_pairs_cannot_be_fused():
    from scipy.sparse import coo_array

    program = custard.compile(
        "y(i) = A(i,j)", {"y": "s", "A": "uq"}, ["fuse(i,j,f)", "split(f,f0,f1,4)"], "c"
    )
    huge = coo_array(([1.0], ([0], [0])), shape=(2**31, 2**32))
    with pytest.raises(UserError, match="pairs of values, too many to be fused"):
        program.bind({"A": huge})
