"""Where an operand has got to."""

from custard.to_c.levels.place import START, Place
from custard.to_c.loop_ir import BOOL, ZERO, Const, Var


def test_a_place_starts_at_the_one_position_of_the_root():
    assert (START.position, START.coordinates, START.present) == (ZERO, (), None)


def test_each_level_adds_a_position_and_a_coordinate():
    i, p = Var("i"), Var("p")
    place = START.below(p, i)
    assert (place.positions, place.coordinates, place.position) == ((ZERO, p), (i,), p)


def test_a_place_below_one_that_may_be_absent_may_be_absent():
    there, also = Var("there", BOOL), Var("also", BOOL)
    place = Place(present=there).below(Const(1), Const(2))
    assert place.present == there
    assert place.below(Const(1), Const(2), present=also).present == also


def test_a_group_and_a_begin_are_of_one_level():
    place = Place(group_end=Const(4), begin=Const(1), clipped=True).below(Const(1), Const(2))
    assert (place.group_end, place.begin, place.clipped) == (None, None, False)
