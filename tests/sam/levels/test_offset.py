"""Offset levels."""

import numpy as np
import pytest

from sam.levels import Compressed, Dense, Entries, Offset, Range
from sam.support.errors import UserError

# Figure 2e, stored as in Figure 2j: diagonals -3, -1, 0 and 1 of a matrix of 4 rows, 6 columns.
DIAGONALS = Range(4, np.array([3, 1, 0, 0]), np.array([4, 4, 4, 4]))
COLUMNS_OF_DIAGONALS = Offset(6, 4, np.array([-3, -1, 0, 1]))


def test_the_offset_of_the_paper():
    """Section 3.1: parent coordinate 3 and offset index 1 encode 3 + -1 = 2."""
    assert COLUMNS_OF_DIAGONALS.fiber(4 + 3) == (7, 8)
    assert COLUMNS_OF_DIAGONALS.coordinate(7, 7) == 2
    assert COLUMNS_OF_DIAGONALS.coordinate(4, 4) == -1
    assert COLUMNS_OF_DIAGONALS.positions(16) == 16
    COLUMNS_OF_DIAGONALS.validate(16, 6, [Dense(4), DIAGONALS])


def test_offset_is_the_difference_from_the_coordinate_above():
    level, positions = Offset.build(
        Entries(np.array([3, 5, 7]), np.array([0, 0, 2]), 8, 6, [Dense(2), Dense(4)])
    )
    assert level.as_lists().offsets == [-3, -1]
    assert positions.tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("above", "coordinates", "text"),
    [
        (
            [Compressed(np.array([0, 4]), np.arange(4))],
            [0, 1],
            "the level above it does not have a position for every coordinate of its mode",
        ),
        (
            [],
            [0, 1],
            "the level above it does not have a position for every coordinate of its mode",
        ),
        (
            [Dense(4)],
            [1, 3],
            "its coordinates differ from those above by 0 and by 1 in the same fiber 0",
        ),
    ],
)
def test_offset_refuses(above, coordinates, text):
    with pytest.raises(UserError) as error:
        Offset.build(Entries(np.array([1, 2]), np.array(coordinates), 4, 6, above))
    assert str(error.value) == f"the level cannot be stored as offset: {text}"
