"""Bitvectors in C."""

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Bitvector, Entries
from tests.support.interpreted import StoredLevel, evaluated, place_of

# Two parents of 130 coordinates, three words each; the second word of parent 1 is empty.
BITS, _ = Bitvector.build(Entries(np.array([0, 0, 1, 1]), np.array([1, 64, 0, 129]), 2, 130))


def test_positions_count_the_ones():
    level = StoredLevel(BITS, 130)
    assert level.scanned(place_of(0)) == [(1, 0), (64, 1)]
    assert level.scanned(place_of(1)) == [(0, 2), (129, 3)]
    assert level.merged(place_of(1)) == [(0, 2), (129, 3)]
    assert evaluated(level.functions.positions(Const(2)), level.names) == 4


def test_a_parent_without_ones():
    empty, _ = Bitvector.build(Entries(np.array([1]), np.array([2]), 2, 70))
    level = StoredLevel(empty, 70)
    assert level.scanned(place_of(0)) == []
    assert level.scanned(place_of(1)) == [(2, 0)]


def test_the_length_of_a_fiber_is_the_number_of_its_ones():
    level = StoredLevel(BITS, 130)
    for parent in (0, 1):
        fiber = level.functions.iterate(place_of(parent), 0, True, True)
        assert evaluated(fiber.length(), level.names) == 2
