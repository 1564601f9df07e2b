"""Following: after a firing that took from one input alone, the next checks that input only."""

from tests.support.kernels import kernel, long, uses
from tests.support.steps import FORWARD, MERGE

ENDS = ([long(0), long(1)], [long(0)])


def test_a_firing_that_took_from_one_input_leads_to_one_that_looks_at_it():
    found = kernel(MERGE, *ENDS, ["at_once"], ports=("a", "b", "crd"))
    assert "following" in uses(found)
    text = found.source()
    assert "if (1) goto again0;" in text
    again0 = text.partition("again0:;")[2].partition("again1:;")[0]
    assert "PEEK_DATA0" in again0
    assert "PEEK_DATA1" not in again0
    assert "at0 = h0 & (1024 - 1);" in again0
    assert "at1 = " not in again0


def test_a_firing_that_may_have_taken_from_either_is_told_apart():
    body = """
kind_a, a = p.a.peek()
kind_b, b = p.b.peek()
if a <= b:
    p.a.take()
if b <= a:
    p.b.take()
s.last = a
"""
    text = kernel(body, ENDS[0], [], state={"last": 0}, ports=("a", "b")).source()
    assert "if (!take1) goto again0;" in text
    assert "if (!take0) goto again1;" in text


def test_the_path_needs_two_groups_of_inputs_and_the_path_data():
    assert "following" not in uses(kernel(FORWARD, [long(0)], [long(0)], ports=("a", "crd")))
    assert "following" not in uses(kernel(MERGE, *ENDS, ["data"], ports=("a", "b", "crd")))
