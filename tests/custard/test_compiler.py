"""Arguments of ``custard.compile``: their defaults, and mistakes in them."""

import pytest

import custard
from custard import UserError

MATMUL = "X(i,j) = B(i,k) * C(k,j)"


def test_formats_that_are_left_out():
    program = custard.compile(MATMUL)
    assert {name: str(form) for name, form in program.formats.items()} == {
        "X": "ss:0,1",
        "B": "ss:0,1",
        "C": "ss:0,1",
    }
    assert program.undeclared == {"X", "B", "C"}
    program = custard.compile(MATMUL, {"B": "CSC"}, target="c")
    assert str(program.formats["B"]) == "ds:1,0"
    assert program.undeclared == {"X", "C"}


def test_a_schedule_may_be_one_text_or_several():
    one = custard.compile(MATMUL, schedule="reorder(i,k,j)")
    assert one.statements == custard.compile(MATMUL, schedule=["reorder(i,k,j)"]).statements
    assert custard.compile(MATMUL, schedule=("",)).schedule == ("",)


def test_extents_that_follow_from_subscripts_are_told():
    (note, *_) = custard.compile("y(i) = x(i+k) * f(k)").notes
    assert note == "the extent of i is the largest with which x(i+k) stays inside"
    given = custard.compile("y(i) = x(i+k) * f(k)", dims={"i": 2})
    assert not any("extent" in note for note in given.notes)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            {"expression": 3},
            'the expression is 3, not text\nhint: as in custard.compile("X(i,j) = ',
        ),
        ({"formats": [1]}, "formats is list, not a mapping from tensors"),
        ({"formats": {"B": 3}}, "the format of B is 3, not text"),
        (
            {"formats": {"D": "ds"}},
            "a format is given for D, which the expression does not use\nhint: one of X, B, C",
        ),
        ({"schedule": {"a": 1}}, "the schedule is dict, not a list of commands"),
        ({"schedule": [None]}, "a command of the schedule is None, not text"),
        ({"dims": 3}, 'dims is 3, not a mapping from variables\nhint: as in dims={"i": 5}'),
        (
            {"dims": {"l": 3}},
            "dims gives an extent for l, which the expression does not use\nhint: one of i, j, k",
        ),
        (
            {"dims": {"i": -1}},
            "dims gives i the extent -1, not a whole number of at least 0",
        ),
        (
            {"dims": {"i": True}},
            "dims gives i the extent True, not a whole number of at least 0",
        ),
        (
            {"fast_math": True},
            "fast_math has no meaning on target sam\nhint: it is for target c",
        ),
    ],
)
def test_mistakes(arguments, error):
    with pytest.raises(UserError) as caught:
        custard.compile(**{"expression": MATMUL, **arguments})
    assert str(caught.value).startswith(error)
