"""Compressed levels in C, unique and not."""

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Compressed, CompressedNonUnique
from tests.support.interpreted import StoredLevel, evaluated, place_of

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
COLUMNS = Compressed(np.array([0, 1, 3, 3, 5]), np.array([1, 0, 2, 1, 3]))


def test_fibers():
    level = StoredLevel(COLUMNS, 4)
    found = [level.scanned(place_of(row)) for row in range(4)]
    assert found == [[(1, 0)], [(0, 1), (2, 2)], [], [(1, 3), (3, 4)]]
    assert [level.merged(place_of(row)) for row in range(4)] == found


def test_a_merge_may_begin_further_on():
    level = StoredLevel(COLUMNS, 4)
    assert level.merged(place_of(3), low=2) == [(3, 4)]
    assert level.merged(place_of(3), low=4) == []


def test_equal_coordinates_are_taken_as_one_where_that_is_asked():
    rows = CompressedNonUnique(np.array([0, 5]), np.array([0, 1, 1, 3, 3]))
    level = StoredLevel(rows, 4)
    assert level.scanned() == [(0, 0), (1, 1), (3, 3)]
    assert [crd for crd, _ in level.scanned(unique=False)] == [0, 1, 1, 3, 3]


def test_positions_tell_parents_and_coordinates():
    level = StoredLevel(COLUMNS, 4)
    functions, names = level.functions, level.names
    assert evaluated(functions.positions(Const(4)), names) == 5
    coordinates = [evaluated(functions.coordinate(Const(n)), names) for n in range(5)]
    assert coordinates == [1, 0, 2, 1, 3]
    parents = [evaluated(functions.parent(Const(n), Const(0), Const(4)), names) for n in range(5)]
    assert parents == [0, 1, 1, 3, 3]
