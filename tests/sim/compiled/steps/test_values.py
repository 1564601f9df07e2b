"""What the expressions of a step evaluate to."""

import pytest

from sim.compiled.residual import INT
from sim.compiled.steps.values import Open, lasts, stands


@pytest.mark.parametrize(
    ("text", "stays", "stays_in_calls"),
    [
        ("3", True, True),
        ("(-3)", True, True),
        ("1099511627776LL", True, True),
        ("k0", True, True),
        ("v12", True, True),
        ("step0_kind", False, True),
        ("s_n", False, False),
        ("(s_n + 1)", False, False),
        ("m_seg[0]", False, False),
    ],
)
def test_which_values_later_statements_may_change(text, stays, stays_in_calls):
    assert stands(Open(text, INT)) == stays
    assert lasts(Open(text, INT)) == stays_in_calls
