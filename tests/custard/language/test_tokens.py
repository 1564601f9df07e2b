"""Words of index notation, with their places; other characters are refused, with a hint."""

import pytest

from custard.language.tokens import number, tokens
from sam.support.errors import UserError


def test_words_and_their_places():
    found = [(one.kind, one.text, one.span) for one in tokens("y(i) += 2.5e3*B_1")]
    assert found == [
        ("name", "y", (0, 1)),
        ("(", "(", (1, 2)),
        ("name", "i", (2, 3)),
        (")", ")", (3, 4)),
        ("+=", "+=", (5, 7)),
        ("number", "2.5e3", (8, 13)),
        ("*", "*", (13, 14)),
        ("name", "B_1", (14, 17)),
        ("end", "", (17, 17)),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("007", 7), ("1.", 1.0), (".5", 0.5), ("2e3", 2000.0), ("2E-1", 0.2)],
)
def test_numbers(text, value):
    (token, _) = tokens(text)
    assert token.number == value
    assert type(token.number) is type(value)


def test_a_whole_number_of_more_than_63_bits_is_a_float():
    assert number(str(2**63 - 1)) == 2**63 - 1
    assert isinstance(number(str(2**63)), float)


def test_an_exponent_needs_a_digit():
    assert [one.text for one in tokens("2ex")] == ["2", "ex", ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ** b", "** is not part of the notation\n  a ** b\n    ^^\n"
         "hint: a power is a product of equal factors: B(i) * B(i)"),
        ("a ! b", "! is not part of the notation\n  a ! b\n    ^\n"
                  "hint: an expression has + - * / and sum(j, ...)"),
        ("1e999", "this number is too large\n  1e999\n  ^^^^^"),
    ],
)  # fmt: skip
def test_mistakes(text, message):
    with pytest.raises(UserError) as error:
        tokens(text)
    assert str(error.value) == message
