"""Activity over time, in stretches that get longer as a run goes on."""

import numpy as np

from sim.attribution.over_time import BINS, OverTime, add, bins


def test_stretches_are_a_cycle_until_there_are_too_many():
    counted = bins()
    add(counted, 0, 3)
    add(counted, BINS - 1)
    assert counted[0] == 0
    assert (counted[1], counted[BINS]) == (3, 1)
    add(counted, BINS, 5)
    assert counted[0] == 1
    assert (counted[1], counted[BINS // 2], counted[1 + BINS // 2]) == (3, 1, 5)
    add(counted, 100 * BINS)
    assert counted[0] == 7
    assert counted[1:].sum() == 10


def test_numbers_of_a_run_are_for_equal_stretches():
    """Of 1,000 cycles each stretch has 4; one queue was counted in stretches of 1 cycle."""
    given, taken = bins(), bins()
    for cycle in (0, 1, 5, 999):
        add(given, cycle)
    for cycle in (2, 6):
        add(taken, cycle)
    found = OverTime.of(1000, {"a -> b": (given, taken)}, [])
    assert found.stretch == 4
    assert len(found.given["a -> b"]) == 250
    assert found.given["a -> b"][[0, 1, 249]].tolist() == [2, 1, 1]
    assert found.taken["a -> b"][[0, 1]].tolist() == [1, 1]
    assert found.occupancy("a -> b")[[0, 1, 248, 249]].tolist() == [1, 1, 1, 2]


def test_ports_that_write_back_after_the_last_cycle_count_in_the_last_stretch():
    moved = bins()
    add(moved, 1, 10)
    add(moved, 900, 7)
    [found] = OverTime.of(10, {}, [moved]).bytes
    assert len(found) == 10
    assert found.sum() == 17
    assert found[-1] == 7


def test_a_run_of_no_cycles():
    found = OverTime.of(0, {"e": (bins(), bins())}, [bins()])
    assert len(found.given["e"]) == 0
    assert found.occupancy("e").tolist() == []
    assert np.sum(found.bytes[0]) == 0
