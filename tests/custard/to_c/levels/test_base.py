"""What the level functions of all formats share."""

import pytest

from custard.language.formats import LEVEL_FORMATS
from custard.to_c.builder import KernelBuilder
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.levels.base import guarded
from custard.to_c.levels.place import START, Place
from custard.to_c.loop_ir import BOOL, INT, INT32, WORD, Const, Var, array, select
from sam.levels import LEVELS


def made(code, builder=None):
    return LEVEL_FUNCTIONS[code](code, "A", 1, INT32, builder or KernelBuilder())


@pytest.mark.parametrize("code", LEVEL_FUNCTIONS)
def test_fields_are_those_of_the_storage(code):
    """Arrays and numbers have the names that ``sam.levels`` has for them."""
    stored = LEVELS[code].__dataclass_fields__.keys()
    names = [name for name, _ in LEVEL_FUNCTIONS[code].fields(1, INT32)]
    assert names[0] == "size1"
    assert {name.removesuffix("1") for name in names[1:]} <= stored
    types = dict(LEVEL_FUNCTIONS[code].fields(1, INT32))
    assert all(types[f"{name}1"] == INT for name in LEVEL_FUNCTIONS[code].numbers)
    if code == "b":
        assert types["words1"] == array(WORD)


@pytest.mark.parametrize("code", LEVEL_FUNCTIONS)
def test_levels_locate_if_their_format_does(code):
    level = made(code)
    if LEVEL_FORMATS[code].locates:
        assert len(level.locate(START, Var("i")).positions) == 2
    else:
        with pytest.raises(TypeError, match="levels do not locate"):
            level.locate(START, Var("i"))


def test_an_array_has_one_local_variable():
    builder = KernelBuilder()
    level = made("s", builder)
    assert level.array("segments") is level.array("segments")
    assert len(builder.arrays) == 1
    assert level.cursor() != level.cursor()


def test_loads_at_absent_places_are_guarded():
    there = Var("there", BOOL)
    value, other = Const(3), Const(0)
    assert guarded(START, value, other) == value
    assert guarded(Place(present=there), value, other) == select(there, value, other)


def test_formats_that_number_no_positions_say_so():
    with pytest.raises(TypeError, match="hashed levels do not number positions in order"):
        made("h").coordinate(Const(0))
    with pytest.raises(TypeError, match="do not number positions in order"):
        made("r").parent(Const(0), Const(0), Const(1))
