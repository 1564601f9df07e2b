"""Range levels."""

import numpy as np

from sam.levels import Entries, Range

# Figure 2e, stored as in Figure 2j: diagonals -3, -1, 0 and 1 of a matrix of 4 rows, 6 columns.
DIAGONALS = Range(4, np.array([3, 1, 0, 0]), np.array([4, 4, 4, 4]))


def test_the_range_of_the_paper():
    """Section 3.1: parent 1, of the offset -1, has max(0, 1) to min(4, 6 + 1)."""
    assert DIAGONALS.fiber(1) == (4 + 1, 4 + 4)
    assert [DIAGONALS.coordinate(1, step) for step in range(5, 8)] == [1, 2, 3]
    assert DIAGONALS.positions(4) == 16
    assert DIAGONALS.holds(np.arange(16)).tolist() == [*[False] * 3, True, False, *[True] * 11]
    DIAGONALS.validate(4, 4)


def test_range_goes_from_the_first_entry_to_the_last():
    level, positions = Range.build(Entries(np.array([0, 2, 2]), np.array([3, 1, 3]), 3, 5))
    assert level.as_lists().begins == [3, 0, 1]
    assert level.as_lists().ends == [4, 0, 4]
    assert positions.tolist() == [3, 11, 13]
