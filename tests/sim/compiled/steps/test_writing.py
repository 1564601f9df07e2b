"""A firing while it is written: variables, and known facts at a point of control."""

from dataclasses import replace

import pytest

from sam.support.errors import UserError
from sam.token import DATA, STOP
from sim.compiled.residual import INT, REAL
from sim.compiled.steps.values import Known, Open
from sim.compiled.steps.writing import FiringState, FiringWriter, Situation, common
from tests.support.steps import PORTS


@pytest.fixture
def writing():
    return FiringWriter({"a": PORTS["a"], "crd": PORTS["crd"]}, {"n": 0, "on": False}, REAL)


def test_an_assignment_is_known_until_the_next(writing):
    variable = writing.assign("x", Known(3))
    assert writing.now(variable) == Known(3)
    writing.assign("x", Open("y", INT))
    assert writing.now(variable) == variable
    assert writing.lines == ["        x = 3;", "        x = y;"]


def test_only_the_state_makes_a_firing_impure(writing):
    writing.assign("x", Known(1))
    assert writing.pure
    writing.assign("s_n", Known(1))
    assert not writing.pure


def test_a_test_tells_a_truth_of_the_state(writing):
    writing.learn(replace(writing.state_variable("on", False), text="!s_on"), True)
    assert writing.reached.known == {"s_on": False}
    writing.learn(Open("s_n", INT), True)
    assert "s_n" not in writing.reached.known


def test_facts_that_two_points_share(writing):
    one = FiringState(frozenset({0, 1}), {("take", 0): "", ("give", 0): "0@0"}, {"a": 1, "b": True})
    other = FiringState(frozenset({1, 2}), {("take", 0): ""}, {"a": 1, "b": 1})
    both = writing.join(one, other)
    assert both.peeked == {1}
    assert both.side("take") == {0: True}
    assert both.side("give") == {0: False}
    assert both.known == {"a": 1}
    assert writing.join(None, one) == one
    assert writing.join(one, None) == one


def test_ports_with_one_fate_move_together(writing):
    one = FiringState(moved={("take", 0): "", ("take", 1): "", ("take", 2): ""})
    other = FiringState(moved={("take", 2): ""})
    moved = writing.join(one, other).moved
    assert moved["take", 0] == moved["take", 1] != moved["take", 2]


def test_truths_and_numbers_differ():
    assert common({"a": True, "b": 0}, {"a": 1, "b": 0}) == {"b": 0}


def test_a_situation_for_data():
    assert Situation(heads={0: DATA, 1: DATA}).data
    assert not Situation(heads={0: DATA, 1: STOP}).data
    assert not Situation().data


@pytest.mark.parametrize(
    ("value", "due"),
    [
        (None, "0"),
        (True, "1"),
        (-3, "(-3)"),
        (2**40, "1099511627776LL"),
        (0.5, "(0.5)"),
        (float("-inf"), "(-INFINITY)"),
        (float("nan"), "NAN"),
        (1 + 2j, "((1.0) + (2.0) * I)"),
    ],
)
def test_numbers_in_c(writing, value, due):
    assert writing.open(Known(value)).text == due


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (Known("text"), "the value 'text' as a number"),
        ([Known(1)], "an array, a list or a memory as a number"),
    ],
)
def test_values_that_are_no_numbers_are_refused(writing, value, what):
    with pytest.raises(UserError) as caught:
        writing.open(value)
    assert str(caught.value) == f"the step: {what} has no translation to C\nhint: use engine simpy"
