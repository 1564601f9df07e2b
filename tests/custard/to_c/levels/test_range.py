"""Ranges in C."""

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Range
from tests.support.interpreted import StoredLevel, evaluated, place_of


def test_positions_are_those_of_a_dense_level():
    level = StoredLevel(Range(5, np.array([3, 0, 1]), np.array([5, 0, 2])), 5)
    assert [level.scanned(place_of(n)) for n in range(3)] == [[(3, 3), (4, 4)], [], [(1, 11)]]
    assert level.merged(place_of(0)) == [(3, 3), (4, 4)]
    assert evaluated(level.functions.positions(Const(3)), level.names) == 15
