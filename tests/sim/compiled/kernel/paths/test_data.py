"""Data first: a kernel begins with a firing for data."""

from tests.support.kernels import kernel, long, uses
from tests.support.steps import FORWARD


def test_a_kernel_begins_with_data_and_has_other_tokens_behind():
    found = kernel(FORWARD, [long(0)], [long(0)], ports=("a", "crd"))
    assert "data" in uses(found)
    firings = found.source().partition("for (;;) {")[2]
    data, other = firings.split("any_tokens: now = ready; cause = row = 0;")
    assert "PEEK_DATA0" in data
    assert "GIVE0(0, step0_value)" in data
    assert "PEEK0" in other
    assert "GIVE0(step0_kind, step0_value)" in other


def test_the_path_does_not_apply_to_a_step_that_peeks_at_no_token():
    assert not uses(kernel("p.crd.give(0, 1)\nreturn True", [], [long(0)], ports=("crd",)))
    off = kernel(FORWARD, [long(0)], [long(0)], ["data"], ports=("a", "crd")).source()
    assert "any_tokens:" not in off
