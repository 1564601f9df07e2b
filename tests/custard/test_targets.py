"""The table of targets."""

import pytest

from custard.targets import DEFAULT, TARGETS, require_option, require_simulated, target_of
from sam.support.errors import UserError


def test_programs_tell_the_name_of_their_target():
    import custard

    for name in TARGETS:
        program = custard.compile("y(i) = A(i,j) * x(j)", target=name)
        assert program.target == name
        assert program.described().keys().isdisjoint(program.shown())


def test_levels_where_no_format_is_given():
    assert [TARGETS["sam"].levels(n) for n in range(4)] == ["", "s", "ss", "sss"]
    assert [TARGETS["c"].levels(n) for n in range(4)] == ["", "s", "ds", "sss"]


def test_each_option_belongs_to_at_most_one_target():
    options = [name for one in TARGETS.values() for name in one.options]
    assert len(options) == len({*options})


@pytest.mark.parametrize("name", ["", "C", ["c"], None])
def test_an_unknown_target(name):
    with pytest.raises(UserError) as caught:
        target_of(name)
    assert caught.value.what == f"unknown target {name}"


def test_an_option_of_another_target():
    require_option("c", "prefix")
    require_option("sam", "seed")
    with pytest.raises(UserError) as caught:
        require_option("sam", "prefix", "--prefix")
    assert str(caught.value) == ("--prefix has no meaning on target sam\nhint: it is for target c")


def test_a_command_that_needs_a_simulation_is_refused_on_target_c():
    require_simulated(DEFAULT, "explain")
    with pytest.raises(UserError) as caught:
        require_simulated("c", "explain")
    assert str(caught.value) == "explain has no meaning on target c\nhint: it is for target sam"
