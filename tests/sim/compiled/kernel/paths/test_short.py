"""Short queues: the ends of a queue stay where they are in memory."""

from tests.support.kernels import kernel, long, short, uses
from tests.support.steps import FORWARD


def test_the_end_of_a_short_output_is_in_memory():
    found = kernel(FORWARD, [long(0)], [short(0), long(0)], ports=("a", "crd"))
    assert "short" in uses(found)
    text = found.source()
    assert "#define T0 r0->tail\n" in text
    assert "int64_t T0" not in text
    assert "T0++; if (r0->starves) { r0->starves = 0; wake(r0->reader); }" in text
    assert "int64_t T1 = r1->tail;" in text


def test_the_path_applies_to_short_outputs_only():
    assert "short" not in uses(kernel(FORWARD, [short(0)], [long(0)], ports=("a", "crd")))
    off = kernel(FORWARD, [long(0)], [short(0)], ["short"], ports=("a", "crd"))
    assert "int64_t T0 = r0->tail;" in off.source()
