"""JSON within bounds."""

import math

import pytest

from sam.support.errors import UserError
from sam.support.json_text import parse_json


def test_data():
    assert parse_json('{"a": [1, 2.5, null, "x"]}', "it") == {"a": [1, 2.5, None, "x"]}
    assert math.isnan(parse_json("NaN", "it"))
    assert parse_json("1" * 60, "it") == int("1" * 60)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "expecting property name enclosed in double quotes in line 1"),
        ('{\n  "a": ]\n}', "expecting value in line 2"),
        ("1 2", "extra data in line 1"),
    ],
)
def test_mistakes_have_their_place(text, what):
    with pytest.raises(UserError) as caught:
        parse_json(text, "the record")
    assert caught.value.what == f"the record is not JSON: {what}"
    assert caught.value.source == text.splitlines()[1 if "\n" in text else 0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1" * 61, "a number has more than 60 digits"),
        ("[" * 100_000, "it is nested too deep"),
    ],
)
def test_texts_beyond_the_bounds(text, why):
    with pytest.raises(UserError) as caught:
        parse_json(text, "the record")
    assert caught.value.what == f"the record is not JSON that can be read: {why}"
