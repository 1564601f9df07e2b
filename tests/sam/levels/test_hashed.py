"""Hashed levels."""

import numpy as np

from sam.levels import Entries, Hashed


def test_the_hash_map_of_the_paper():
    """Section 3.1: a table of 6 buckets with the coordinates 0, 1, 6 and 4."""
    level = Hashed(6, np.array([0, 1, 6, -1, 4, -1]))
    level.validate(1, 12)
    assert level.fiber(0) == (0, 6)
    assert [level.coordinate(0, step) for step in range(6)] == [0, 1, 6, -1, 4, -1]
    assert [level.locate(0, coordinate) for coordinate in (0, 1, 6, 4, 2, 12)] == [
        0,
        1,
        2,
        4,
        -1,
        -1,
    ]


def test_hashed_probes_linearly_and_round_the_end():
    # Tables of 8: 3 and 11 want bucket 3, and 4 the next one; 7 and 15 want the last.
    level, positions = Hashed.build(
        Entries(np.array([0, 0, 0, 2, 2, 2]), np.array([3, 4, 11, 0, 7, 15]), 3, 16)
    )
    assert level.width == 8
    tables = level.coordinates.reshape(3, 8).tolist()
    assert tables[0] == [-1, -1, -1, 3, 11, 4, -1, -1]
    assert tables[1] == [-1] * 8
    assert tables[2] == [15, 0, -1, -1, -1, -1, -1, 7]
    assert positions.tolist() == [3, 5, 4, 17, 23, 16]
    assert level.locate(2, 15) == 16
    assert level.locate(2, 8) == -1
    level.validate(3, 16)


def test_hashed_without_entries_has_a_bucket_for_each_parent():
    level, _ = Hashed.build(Entries(np.zeros(0, int), np.zeros(0, int), 3, 4))
    assert (level.width, level.positions(3)) == (1, 3)
