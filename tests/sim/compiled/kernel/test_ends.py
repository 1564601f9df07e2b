"""The ends of the queues that a kernel is written for."""

from sim.compiled.kernel.ends import slots


def test_a_port_has_a_slot_at_each_of_its_queues():
    assert slots([(0, 2), (1,), (0,)]) == [(0, 0), (2, 0), (1, 1), (0, 2)]
