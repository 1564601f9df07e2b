"""Entries in the order of their coordinates, against numpy's own sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.tensor.sorting import increase, sorted_entries


def entries(coordinates, values):
    return np.array(coordinates, np.int64), np.array(values)


@given(st.integers(1, 3), st.lists(st.integers(0, 4), max_size=24), st.integers(0, 70))
def test_entries_are_sorted_and_equal_ones_summed(modes, numbers, bits):
    """Large coordinates need a sort by each mode, small ones sort by one number."""
    count = len(numbers) // modes
    rows = np.array(numbers[: count * modes], np.int64).reshape(modes, count)
    rows = rows * (1 << min(bits, 60) // 2)
    found, values = sorted_entries(rows, np.arange(1, count + 1))
    due = {}
    for n in range(count):
        place = tuple(rows[:, n].tolist())
        due[place] = due.get(place, 0) + n + 1
    assert [tuple(column) for column in found.T.tolist()] == sorted(due)
    assert values.tolist() == [due[place] for place in sorted(due)]


def test_entries_in_order_are_not_copied():
    coordinates, values = entries([[0, 0, 1], [0, 2, 1]], [1, 2, 3])
    found, kept = sorted_entries(coordinates, values)
    assert found is coordinates
    assert kept is values


def test_scalars_are_summed_into_one():
    coordinates, values = sorted_entries(np.zeros((0, 3), np.int64), np.array([1, 2, 3]))
    assert coordinates.shape == (0, 1)
    assert values.tolist() == [6]


def test_sums_keep_their_type():
    _, values = sorted_entries(*entries([[0, 0]], np.array([1, 1], np.int32)))
    assert values.dtype == np.int32
    _, values = sorted_entries(*entries([[0, 0]], [True, True]))
    assert values.tolist() == [True]


@pytest.mark.parametrize(
    ("coordinates", "due"),
    [
        ([[]], True),
        ([[5]], True),
        ([[0, 1, 2]], True),
        ([[0, 0]], False),
        ([[0, 0], [1, 2]], True),
        ([[0, 1], [5, 0]], True),
        ([[1, 0], [0, 5]], False),
    ],
)
def test_increasing_coordinates_are_recognised(coordinates, due):
    assert increase(np.array(coordinates, np.int64)) == due
    assert increase([np.array(row, np.int32) for row in coordinates]) == due
    late = np.arange(3000).reshape(1, -1)
    assert increase(late)
    late[0, 2000] = 5
    assert not increase(late)
