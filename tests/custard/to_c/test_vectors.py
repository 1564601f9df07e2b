"""Loops whose iterations may be done at once."""

import pytest

from custard.to_c.loop_ir import (
    INT,
    ONE,
    Assign,
    Call,
    Comment,
    Declare,
    For,
    If,
    Type,
    Var,
    array,
)
from custard.to_c.vectors import with_vectors

DOUBLE = Type("double")
VAR, N, P, TOTAL, OTHER = Var("i"), Var("n"), Var("p"), Var("sum", DOUBLE), Var("other", DOUBLE)
X, Y = Var("x", array(DOUBLE)), Var("y", array(DOUBLE))


def marked(*body, **more):
    found = with_vectors(For(VAR, ONE, N, list(body), **more))
    return None if found is None else found.vectors


def test_each_place_is_written_once():
    assert marked(Assign(Y[VAR], X[VAR])) == "simd"
    assert marked(Assign(Y[P + VAR], X[VAR])) == "simd"


def test_one_number_is_added_to():
    assert marked(Assign(TOTAL, X[VAR], "+")) == "reduction(+: sum)"
    assert (
        marked(Assign(TOTAL, X[VAR], "+"), Assign(OTHER, Y[VAR], "+")) == "reduction(+: sum, other)"
    )


@pytest.mark.parametrize(
    "body",
    [
        [Assign(Y[P], X[VAR])],  # one place for all rounds
        [Assign(TOTAL, X[VAR])],  # the last round would win
        [Assign(TOTAL, TOTAL * X[VAR], "+")],
        [Assign(TOTAL, X[VAR], "+"), Assign(Y[VAR], TOTAL)],
        [Assign(Y[VAR], Call("f", (X[VAR],), DOUBLE))],
        [If([(VAR < N, [Assign(Y[VAR], X[VAR])])])],
        [Comment("no loop")],
    ],
)
def test_rounds_that_depend_on_each_other(body):
    assert marked(*body) is None


def test_a_local_number_is_of_its_round():
    local = Declare(OTHER, X[VAR])
    assert marked(local, Assign(Y[VAR], OTHER)) == "simd"
    assert marked(local, Assign(OTHER, X[VAR], "+"), Assign(Y[VAR], OTHER)) is None


def test_only_loops_that_count():
    assert marked(Assign(Y[VAR], X[VAR]), next=Var("after", INT)) is None
    assert with_vectors(Assign(TOTAL, X[VAR])) is None
