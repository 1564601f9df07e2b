"""Singleton levels in C."""

from dataclasses import replace

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Singleton, SingletonNonUnique
from tests.support.interpreted import StoredLevel, evaluated, place_of


def test_a_coordinate_for_each_parent():
    level = StoredLevel(Singleton(np.array([4, 0, 2])), 5)
    assert [level.scanned(place_of(n)) for n in range(3)] == [[(4, 0)], [(0, 1)], [(2, 2)]]
    assert [level.merged(place_of(n)) for n in range(3)] == [[(4, 0)], [(0, 1)], [(2, 2)]]


def test_the_parents_of_a_group_are_one_fiber():
    """Positions 1 and 2 agree above: their coordinates are gone through in turn."""
    above = replace(place_of(1), group_end=Const(3))
    level = StoredLevel(Singleton(np.array([4, 0, 2])), 5)
    assert level.scanned(above) == [(0, 1), (2, 2)]
    repeated = StoredLevel(SingletonNonUnique(np.array([4, 2, 2])), 5)
    assert repeated.scanned(above) == [(2, 1)]


def test_positions_are_those_of_the_parents():
    level = StoredLevel(Singleton(np.array([4, 0, 2])), 5)
    functions, names = level.functions, level.names
    assert evaluated(functions.positions(Const(3)), names) == 3
    assert evaluated(functions.coordinate(Const(2)), names) == 2
    assert functions.parent(Const(2), Const(0), Const(3)) == Const(2)
