"""Steady state: the next firing for data knows the state that all of them leave."""

from tests.support.kernels import kernel, long, uses
from tests.support.steps import FORWARD

BEGIN = """
kind, value = p.a.peek()
p.a.take()
if not s.begun:
    s.begun = True
    p.crd.give(kind, 0)
    return None
p.crd.give(kind, value)
return kind == 3
"""


def test_a_firing_for_data_leads_to_one_that_knows_the_state():
    ends = ([long(0)], [long(0)])
    found = kernel(BEGIN, *ends, state={"begun": False}, ports=("a", "crd"))
    assert "steady" in uses(found)
    firings = found.source().partition("for (;;) {")[2]
    first, steady = firings.partition("any_tokens:")[0].split("steady:;")
    assert "if (!s_begun) {" in first
    assert first.count("goto steady;") == 2
    assert "s_begun" not in steady
    assert steady.count("goto steady;") == 1


def test_the_path_does_not_apply_without_a_known_state_or_without_the_path_data():
    assert "steady" not in uses(kernel(FORWARD, [long(0)], [long(0)], ports=("a", "crd")))
    off = kernel(BEGIN, [long(0)], [long(0)], ["data"], state={"begun": False}, ports=("a", "crd"))
    assert "steady" not in off.source()
