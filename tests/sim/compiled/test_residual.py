"""The residual code of a step."""

import numpy as np
import pytest

from sim.compiled.residual import COMPLEX, INT, REAL, Fail, Leave, c_type, firsts, gives_alone
from tests.support.steps import translated


@pytest.mark.parametrize(
    ("dtype", "due"),
    [
        ("bool", INT),
        ("int8", INT),
        ("int64", INT),
        ("float32", REAL),
        ("float64", REAL),
        ("complex64", COMPLEX),
        (None, INT),
    ],
)
def test_types_in_c(dtype, due):
    assert c_type(None if dtype is None else np.dtype(dtype)) == due


def test_where_a_firing_fails():
    assert Fail("  ", 0).then("goto failed;") == "  { goto failed; }"
    assert Fail("", 0, "!x").then("goto failed;") == "if (!x) { goto failed; }"


def test_a_firing_that_has_only_given():
    assert gives_alone(Leave("", {}, {0: True}, "0"))
    for other in (
        Leave("", {}, {0: False}, "0"),
        Leave("", {}, {}, "0"),
        Leave("", {0: True}, {0: True}, "0"),
        Leave("", {}, {0: True}, "1"),
    ):
        assert not gives_alone(other)


def test_leaders():
    assert firsts([0, 0, 2, 0]) == [0, 2]


def test_firings_that_depend_on_time():
    assert translated("p.told.latest()", ports=("a", "b", "told")).body.timed
    assert not translated("p.a.peek()").body.timed
