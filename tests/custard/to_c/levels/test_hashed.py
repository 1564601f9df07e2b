"""Hash tables in C."""

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Hashed
from tests.support.interpreted import StoredLevel, evaluated, place_of

# Two tables of four buckets: 9 stands behind 5, whose bucket it wants; the second has 3 alone.
TABLES = Hashed(4, np.array([8, 5, 9, -1, -1, -1, -1, 3]))


def test_buckets_are_sorted_where_the_order_matters():
    level = StoredLevel(TABLES, 12)
    assert level.scanned(place_of(0)) == [(5, 1), (8, 0), (9, 2)]
    assert level.merged(place_of(1)) == [(3, 7)]


def test_buckets_come_in_their_own_order_where_order_does_not_matter():
    level = StoredLevel(TABLES, 12)
    assert level.scanned(place_of(0), ordered=False) == [(8, 0), (5, 1), (9, 2)]


def test_coordinates_are_located():
    level = StoredLevel(TABLES, 12)

    def position(parent, coordinate):
        there = level.functions.locate(place_of(parent), Const(coordinate))
        return evaluated(there.position, level.names)

    assert [position(0, crd) for crd in (5, 8, 9, 3)] == [1, 0, 2, -1]
    assert position(1, 3) == 7
    assert evaluated(level.functions.positions(Const(2)), level.names) == 8
