"""Windows of levels that computed subscripts open, by trying all values."""

import numpy as np
import pytest

from custard.to_c.loop_ir import Const, Stmt, Var
from custard.to_c.windows import Window, floored, windowed
from sam.levels import Bitvector, Compressed, Dense, Entries, Linked
from tests.support.interpreted import StoredLevel, Told, evaluated, place_of, run

CRD = [0, 2, 3, 5, 8]
SCALES = [-2, -1, 1, 2, 3]


def levels():
    bits, _ = Bitvector.build(Entries(np.zeros(5, int), np.array(CRD), 1, 9))
    nexts = np.array([1, 2, 3, 4, -1])
    return {
        "dense": Dense(9),
        "compressed": Compressed(np.array([0, 5]), np.array(CRD)),
        "bitvector": bits,
        "linked": Linked(np.array([0]), nexts, np.array(CRD)),
    }


def window(scale, rest, extent):
    return Window(scale, Const(rest), Const(extent))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rest", [-3, 0, 4])
def test_values_and_coordinates_stand_for_each_other(scale, rest):
    opened = window(scale, rest, 5)
    for value in range(5):
        coordinate = scale * value + rest
        assert evaluated(opened.place(Const(value)), {}) == coordinate
        assert evaluated(opened.value(Const(coordinate)), {}) == value
        assert evaluated(opened.divides(Const(coordinate)), {})
    low, high = (evaluated(one, {}) for one in opened.bounds())
    coordinates = [scale * value + rest for value in range(5)]
    assert (low, high) == (min(coordinates), max(coordinates) + 1)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rest", [-3, 0, 4, 8])
def test_the_values_between_two_coordinates(scale, rest):
    first, end = (evaluated(one, {}) for one in window(scale, rest, 5).values(Const(0), Const(9)))
    due = [value for value in range(5) if 0 <= scale * value + rest < 9]
    assert list(range(first, max(first, end))) == due


@pytest.mark.parametrize("name", ["dense", "compressed", "bitvector", "linked"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rest", [-3, 0, 4, 8])
def test_a_level_is_gone_through_by_values(name, scale, rest):
    stored = StoredLevel(levels()[name], 9)
    if scale < 0 and name in ("bitvector", "linked"):
        return  # their values would not come in order; such a level is stored anew before
    inner = stored.functions.iterate(place_of(0), 0, True, True)
    found = windowed(inner, window(scale, rest, 5), stored.builder.fresh)
    value, told = Var("v"), Told()

    def body() -> list[Stmt]:
        told.wanted = (value, found.position)
        return [told]

    run(found.loop(value, body), dict(stored.names))
    own = range(9) if name == "dense" else CRD
    due = [v for v in range(5) if scale * v + rest in own]
    assert [v for v, _ in told.found] == due
    positions = [list(own).index(scale * v + rest) for v in due]
    assert [position for _, position in told.found] == positions


def test_division_rounds_down():
    for value in range(-7, 8):
        assert evaluated(floored(Const(value), 3), {}) == value // 3
