"""What kinds of block ask of their parameters."""

import pytest

from sam.blocks.parameters import (
    FLAG,
    STREAM,
    TEXT,
    check,
    choice,
    many,
    nullable,
    optional,
    whole,
)
from sam.support.errors import UserError

DECLARED = {
    "slot": TEXT,
    "level": whole(0, 9),
    "keeps": optional(FLAG),
    "lanes": optional(many(whole(), least=1, distinct=True)),
    "from": optional(nullable(TEXT)),
    "kind": optional(choice(("one", "two"))),
}
RIGHT = {"slot": "B", "level": 3}


def test_optional_parameters_may_be_missing():
    check(DECLARED, RIGHT)
    check(DECLARED, {**RIGHT, "keeps": True, "lanes": [0, 2], "from": None, "kind": "two"})


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"slott": 1}, 'unknown parameter "slott"\nhint: did you mean slot?'),
        ({"level": 10}, "parameter level is 10; it must be a whole number from 0 to 9"),
        ({"level": True}, "parameter level is true; it must be a whole number from 0 to 9"),
        ({"slot": 1}, "parameter slot is 1; it must be text"),
        ({"keeps": 1}, "parameter keeps is 1; it must be true or false"),
        (
            {"lanes": []},
            "parameter lanes is []; it must be a list of at least 1, each a whole number from 0 to "
            "65536, none of them twice",
        ),
        (
            {"lanes": [1, 1]},
            "parameter lanes is [1, 1]; it must be a list of at least 1, each a whole number from "
            "0 to 65536, none of them twice",
        ),
        ({"from": 2}, "parameter from is 2; it must be text, or null"),
        ({"kind": "three"}, 'parameter kind is "three"; it must be one of one, two'),
    ],
)
def test_parameters_that_are_wrong(more, error):
    with pytest.raises(UserError) as caught:
        check(DECLARED, {**RIGHT, **more})
    assert str(caught.value) == error


def test_a_parameter_that_is_missing():
    with pytest.raises(UserError) as caught:
        check(DECLARED, {"slot": "B"})
    assert caught.value.what == "parameter level is missing; it must be a whole number from 0 to 9"


def test_words_of_the_graph():
    assert STREAM.holds("crd")
    assert not STREAM.holds(["crd"])
