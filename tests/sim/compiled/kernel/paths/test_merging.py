"""Merging: firings that drop a token of either input do not branch on which."""

import pytest

from tests.support.kernels import kernel, long, short, uses
from tests.support.steps import MERGE

PORTS = ("a", "b", "crd")
DROP = """
_, a = p.a.peek()
_, b = p.b.peek()
if a <= b:
    p.a.take()
if b <= a:
    p.b.take()
if a == b:
    p.crd.give(0, a)
"""
"""Takes the smaller of two coordinates, or both if they are equal, which it gives."""


def loop_of(text):
    """The C of the loop."""
    return text.partition("merging:")[2].partition("several0:")[0]


def test_firings_that_drop_a_token_are_done_in_a_loop():
    found = kernel(DROP, [long(0), long(1)], [long(0)], ports=PORTS)
    assert "merging" in uses(found)
    loop = loop_of(found.source())
    assert "PEEK" not in loop
    assert "goto again" not in loop
    assert "drops = 1; goto judged;" in loop
    assert "drops = 0; goto judged;" in loop
    taken = "in{0}->taken[at{0}] = (uint32_t)now;\n                at{0} += take{0};"
    assert all(taken.format(n) in loop for n in (0, 1))
    assert "if (e1 - h1 < many) many = e1 - h1;" in loop


def test_a_firing_that_may_have_dropped_a_token_of_another_input_leads_there():
    text = kernel(DROP, [long(0), long(1)], [long(0)], ports=PORTS).source()
    again0 = text.partition("again0:;")[2].partition("again1:;")[0]
    first = text.partition("merging:")[0]
    assert "goto merging;" in first
    assert "goto again" not in first
    assert "if (take1) goto merging;\n" in again0


def test_a_firing_that_has_surely_dropped_a_token_leads_there_from_another_input_only():
    text = kernel(MERGE, [long(0), long(1)], [long(0)], ports=PORTS).source()
    again0, again1 = text.partition("again0:;")[2].split("again1:;")
    assert again0.count("goto merging;") == 1
    assert again1.count("goto merging;") == 1
    assert "drops = 1; goto judged;" in loop_of(text)


def test_long_runs_of_one_input_are_judged_at_once():
    loop = loop_of(kernel(DROP, [long(0), long(1)], [long(0)], ports=PORTS).source())
    assert "if (at0 - first0 == AT_ONCE && at1 == first1) goto several0;" in loop
    assert "if (at1 - first1 == AT_ONCE && at0 == first0) goto several1;" in loop


@pytest.mark.parametrize("inputs", [[short(0), long(1)], [long(0), short(1)]])
def test_it_does_not_apply_where_a_queue_is_short(inputs):
    found = kernel(DROP, inputs, [long(0)], ports=PORTS)
    assert "at_once" in uses(found)
    assert "merging" not in uses(found)


def test_waits_are_looked_at_in_the_order_of_the_step():
    swapped = DROP.replace(
        "_, a = p.a.peek()\n_, b = p.b.peek()", "_, b = p.b.peek()\n_, a = p.a.peek()"
    )
    loop = loop_of(kernel(swapped, [long(0), long(1)], [long(0)], ports=PORTS).source())
    assert loop.index("in1->control[at1] >> 2 > now") < loop.index("in0->control[at0] >> 2 > now")


def test_a_firing_that_does_not_look_at_all_inputs_stays_single():
    early = DROP.replace("_, b =", "if a < 5:\n    p.a.take()\n    return None\n_, b =")
    loop = loop_of(kernel(early, [long(0), long(1)], [long(0)], ports=PORTS).source())
    assert "drops = 0; goto judged;" in loop.partition("TAKE0")[2].partition("}")[0]
    assert "drops = 1; goto judged;" in loop
