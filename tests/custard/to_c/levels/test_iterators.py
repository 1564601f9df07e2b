"""Iterators: restricted to a part of a level, clipped, and begun further on."""

import numpy as np
import pytest

from custard.to_c.levels.iterators import dimension, sorted_array
from custard.to_c.loop_ir import BOOL, INT, INT32, Const, Stmt, Var, array, cast
from sam.levels import Bitvector, Compressed, Dense, Entries, RunLength
from tests.support.interpreted import StoredLevel, Told, place_of, run

CRD = np.array([1, 4, 6, 7])


def levels():
    bits, _ = Bitvector.build(Entries(np.zeros(4, int), CRD, 1, 9))
    runs, _ = RunLength.build(Entries(np.zeros(4, int), CRD, 1, 9))
    return {
        "dense": Dense(9),
        "compressed": Compressed(np.array([0, 4]), CRD),
        "b": bits,
        "n": runs,
    }


def scanned(iterator, names):
    coordinate, told = Var("x"), Told()

    def body() -> list[Stmt]:
        told.wanted = (coordinate,)
        return [told]

    run(iterator.loop(coordinate, body), dict(names))
    return [crd for (crd,) in told.found]


@pytest.mark.parametrize("name", ["dense", "compressed"])
@pytest.mark.parametrize(("begin", "end"), [(0, 9), (2, 7), (5, 5), (8, 9), (0, 1)])
def test_a_part_of_the_coordinates(name, begin, end):
    stored = StoredLevel(levels()[name], 9)
    iterator = stored.functions.iterate(place_of(0), 0, True, True)
    assert iterator.restricts()
    iterator.restrict(Const(begin), Const(end), Const(9))
    own = range(9) if name == "dense" else CRD.tolist()
    assert scanned(iterator, stored.names) == [crd for crd in own if begin <= crd < end]


def test_a_part_of_the_positions():
    stored = StoredLevel(levels()["compressed"], 9)
    iterator = stored.functions.iterate(place_of(0), 0, True, True)
    iterator.keep(Const(1), Const(3))
    assert scanned(iterator, stored.names) == [4, 6]


def test_a_dimension_is_clipped_to_where_the_level_below_has_coordinates():
    iterator = dimension(Var("i"), Const(9))
    iterator.clip(Const(3), Const(12))
    assert scanned(iterator, {}) == [3, 4, 5, 6, 7, 8]


def test_a_dimension_that_may_be_absent():
    iterator = dimension(Var("i"), Const(3), Var("there", BOOL))
    assert scanned(iterator, {"there": True}) == [0, 1, 2]
    assert scanned(iterator, {"there": False}) == []


@pytest.mark.parametrize("name", ["compressed", "n"])
@pytest.mark.parametrize("low", [0, 1, 5, 7, 8])
def test_a_merge_begins_where_it_is_told(name, low):
    found = StoredLevel(levels()[name], 9).merged(place_of(0), low=low)
    assert [crd for crd, _ in found] == [crd for crd in CRD.tolist() if crd >= low]


def test_coordinates_that_stand_in_an_array_can_be_sought():
    crd, p = Var("crd", array(INT32)), Var("p")
    assert sorted_array(cast(crd[p], INT), p) == crd
    assert sorted_array(p, p) is None
