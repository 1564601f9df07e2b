"""Pulling: a kernel that finds a short queue empty calls its writer."""

from tests.support.kernels import kernel, long, short, uses
from tests.support.steps import FORWARD, MERGE


def test_an_empty_short_queue_is_pulled():
    found = kernel(FORWARD, [short(0)], [long(0)], ports=("a", "crd"))
    assert "pull" in uses(found)
    text = found.source()
    assert "if (!b->pull(b, q0)) { b->port = 0; q0->starves = 1; goto starved; }" in text
    assert "most = FEW_FIRINGS;" in text


def test_other_inputs_are_looked_at_again():
    """While one is pulled, others may be given to."""
    text = kernel(MERGE, [short(0), long(1)], [long(0)], ports=("a", "b", "crd")).source()
    assert "if (RARE(h1 == e1) && h1 == (e1 = end_of(q1)))" in text
    assert "    int64_t e1 = end_of(q1);" in text


def test_the_path_applies_to_short_inputs_only():
    assert "pull" not in uses(kernel(FORWARD, [long(0)], [short(0)], ports=("a", "crd")))
    off = kernel(FORWARD, [short(0)], [long(0)], ["pull"], ports=("a", "crd")).source()
    assert "b->pull" not in off
    assert "    const int64_t e0 = q0->tail;" in off
    assert "most = MOST_FIRINGS;" in off
