"""Singleton levels: one coordinate for each parent."""

import numpy as np
import pytest

from sam.levels import Entries, Singleton
from sam.support.errors import UserError

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
ROWS = np.array([0, 1, 1, 3, 3])
COLUMNS = np.array([1, 0, 2, 1, 3])


def test_singleton_stores_one_coordinate_for_each_parent():
    level, positions = Singleton.build(Entries(np.arange(5), COLUMNS, 5, 4))
    assert level.as_lists().coordinates == [1, 0, 2, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert level.positions(5) == 5
    assert level.fiber(2) == (2, 3)
    assert level.coordinate(2, 2) == 2


@pytest.mark.parametrize(
    ("parents", "coordinates", "number", "text"),
    [
        ([0, 1, 1], [1, 0, 2], 2, "position 1 above it has 2 coordinates, not 1"),
        ([0, 2], [1, 0], 3, "position 1 above it has 0 coordinates, not 1"),
    ],
)
def test_singleton_refuses_other_counts(parents, coordinates, number, text):
    with pytest.raises(UserError) as error:
        Singleton.build(Entries(np.array(parents), np.array(coordinates), number, 4))
    assert str(error.value) == f"the level cannot be stored as singleton: {text}"
