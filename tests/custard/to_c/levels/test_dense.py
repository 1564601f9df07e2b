"""Dense levels in C."""

from custard.to_c.levels.place import START
from custard.to_c.loop_ir import Const
from sam.levels import Dense
from tests.support.interpreted import StoredLevel, evaluated, place_of


def test_every_coordinate_has_a_position():
    level = StoredLevel(Dense(3), 3)
    assert level.scanned() == [(0, 0), (1, 1), (2, 2)]
    assert level.scanned(place_of(2)) == [(0, 6), (1, 7), (2, 8)]
    assert level.merged(place_of(1)) == [(0, 3), (1, 4), (2, 5)]
    assert StoredLevel(Dense(0), 0).scanned() == []


def test_coordinates_are_located():
    level = StoredLevel(Dense(4), 4)
    there = level.functions.locate(place_of(2), Const(3))
    assert evaluated(there.position, level.names) == 11
    assert level.functions.locate(START, Const(3)).coordinates == (Const(3),)


def test_positions_tell_parents_and_coordinates():
    level = StoredLevel(Dense(4), 4)
    functions, names = level.functions, level.names
    assert evaluated(functions.positions(Const(3)), names) == 12
    assert evaluated(functions.coordinate(Const(11)), names) == 3
    assert evaluated(functions.parent(Const(11), Const(0), Const(3)), names) == 2
