"""Offsets in C: the coordinate above, shifted."""

from dataclasses import replace

import numpy as np

from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import Const
from sam.levels import Offset
from tests.support.interpreted import StoredLevel, evaluated, place_of


def below(diagonal, row, rows=4):
    """The place of a row of a diagonal, in a matrix of four rows."""
    positions = (Const(0), Const(diagonal), Const(diagonal * rows + row))
    return Place(positions, (Const(diagonal), Const(row)))


def test_a_coordinate_is_the_one_above_and_the_offset_of_its_diagonal():
    level = StoredLevel(Offset(6, 4, np.array([-3, 1])), 6, number=2)
    assert level.scanned(below(0, 3)) == [(0, 3)]
    assert level.scanned(below(1, 2)) == [(3, 6)]


def test_there_is_no_coordinate_outside_of_the_matrix():
    level = StoredLevel(Offset(6, 4, np.array([-3, 3])), 6, number=2)
    assert level.scanned(below(0, 1)) == []
    assert level.scanned(below(1, 3)) == []


def test_no_test_is_needed_where_the_level_above_keeps_inside():
    level = StoredLevel(Offset(6, 4, np.array([-3, 1])), 6, number=2)
    first, end = level.functions.limits(place_of(0))
    assert [evaluated(one, level.names) for one in (first, end)] == [3, 9]
    clipped = replace(below(0, 3), clipped=True)
    assert level.functions.iterate(clipped, 0, True, True).valid is None
