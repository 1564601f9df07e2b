"""Dense levels."""

import numpy as np

from sam.levels import Dense, Entries

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
ROWS = np.array([0, 1, 1, 3, 3])
COLUMNS = np.array([1, 0, 2, 1, 3])


def test_dense_stores_its_size_only():
    level, positions = Dense.build(Entries(np.array([0, 1, 1, 2, 2]), COLUMNS, 3, 4))
    assert level.size == 4
    assert positions.tolist() == [1, 4, 6, 9, 11]
    assert level.positions(3) == 12
    assert level.fiber(2) == (8, 12)
    assert level.coordinate(2, 9) == 1
    assert level.as_lists().size == 4
