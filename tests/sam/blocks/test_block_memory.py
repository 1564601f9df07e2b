"""The memories that blocks fill."""

import numpy as np
import pytest

from sam.arithmetic import Operation
from sam.blocks.block_memory import Accumulator, Growing, Stored
from sam.support.errors import StreamError, UserError


def test_numbers_that_come_one_by_one():
    numbers = Growing([0])
    numbers.append(3)
    assert numbers.to_list() == [0, 3]
    assert numbers.to_numpy("int32").dtype == np.int32
    numbers.whole = np.array([5, 6])
    assert numbers.to_list() == [5, 6]


def test_places_that_hold_zero():
    stored = Stored(0.0)
    stored[2] = 1.5
    assert stored[1] == 0.0
    assert stored.to_numpy(4, float).tolist() == [0, 0, 1.5, 0]
    with pytest.raises(StreamError, match="place 2 of 2 has been written to"):
        stored.to_numpy(2, float)
    stored.whole = np.array([7.0])
    assert stored.to_numpy(2, float).tolist() == [7, 0]


def accumulator(capacity=None):
    return Accumulator(2, capacity, Operation("add", np.dtype(float)))


def test_points_are_given_out_in_order_with_their_sums():
    memory = accumulator()
    for point, value in [((1, 0), 2.0), ((0, 5), 1.0), ((1, 0), 3.0), ((0, 7), 4.0)]:
        memory.add(point, value)
    memory.complete()
    memory.add((9, 9), 1.0)
    assert memory.count() == 3
    points = [tuple(memory.coordinate(n, level) for level in (0, 1)) for n in range(3)]
    assert points == [(0, 5), (0, 7), (1, 0)]
    assert [memory.value(n) for n in range(3)] == [1.0, 4.0, 5.0]
    assert [memory.shared(n) for n in (1, 2)] == [1, 0]
    memory.release()
    memory.complete()
    assert (memory.count(), memory.coordinate(0, 1)) == (1, 9)


def test_a_memory_that_is_full():
    memory = accumulator(capacity=1)
    memory.add((0, 0), 1.0)
    memory.add((0, 0), 1.0)
    with pytest.raises(UserError) as caught:
        memory.add((0, 1), 1.0)
    assert str(caught.value) == (
        "a reducer of 2 dimensions has room for 1 entries, and the sum needs more\n"
        "hint: raise blocks.capacity, or reorder the loops so that the sum is further in"
    )
