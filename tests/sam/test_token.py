"""Tokens and their text."""

import pytest

from sam.support.errors import UserError
from sam.token import (
    DATA,
    DONE,
    EMPTY,
    STOP,
    D,
    N,
    format_stream,
    format_token,
    parse_stream,
    stop,
    to_tokens,
)


def test_figure_1_the_value_stream():
    """The paper's Section 3.2 prints both forms."""
    text = "1, S0, 2, 3, S0, 4, 5, S1, D"
    assert format_stream(to_tokens([[1], [2, 3], [4, 5]], 2)) == text
    assert parse_stream(text) == [
        *((DATA, 1), stop(0), (DATA, 2), (DATA, 3), stop(0), (DATA, 4), (DATA, 5)),
        *(stop(1), D),
    ]


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ((DATA, 7), "7"),
        ((DATA, -0.5), "-0.5"),
        ((STOP, 0), "S0"),
        ((STOP, 12), "S12"),
        ((EMPTY, 0), "N"),
        ((DONE, 0), "D"),
    ],
)
def test_the_text_of_a_token(token, text):
    assert format_token(token) == text
    assert parse_stream(text) == [token]


def test_numbers_keep_their_type():
    tokens = parse_stream("3, 3.0, 1e3, -2, inf, 1+2j, 2j")
    assert [value for _, value in tokens] == [3, 3.0, 1000.0, -2, float("inf"), 1 + 2j, 2j]
    assert [type(value) for _, value in tokens] == [int, float, float, int, float, complex, complex]


def test_spaces_do_not_matter():
    assert parse_stream(" 1,S0 ,\t2,  D ") == [(DATA, 1), stop(0), (DATA, 2), D]


@pytest.mark.parametrize("text", ["", "  "])
def test_no_tokens(text):
    assert parse_stream(text) == []
    assert format_stream([]) == ""


@pytest.mark.parametrize(
    ("text", "carets"),
    [
        ("1, x2, D", "     ^^"),
        ("1, S, D", "     ^"),
        ("1, S-1, D", "     ^^^"),
        ("1, s0, D", "     ^^"),
        ("1, , D", "     ^"),
        ("1, D,", "       ^"),
    ],
)
def test_a_word_that_is_no_token(text, carets):
    word = text.split(",")[-1 if text.endswith(",") else 1].strip()
    with pytest.raises(UserError) as error:
        parse_stream(text)
    assert str(error.value) == (
        f'"{word}" is not a token\n  {text}\n{carets}\nhint: a number, Sn, N or D'
    )


@pytest.mark.parametrize(
    ("nested", "depth", "text"),
    [
        (5, 0, "5, D"),
        (None, 0, "N, D"),
        ([], 1, "S0, D"),
        ([1, None, 3], 1, "1, N, 3, S0, D"),
        ([], 2, "S1, D"),
        ([[]], 2, "S1, D"),
        ([[], []], 2, "S0, S1, D"),
        ([[], [1], []], 2, "S0, 1, S0, S1, D"),
        ([[[1], []], [], [[2]]], 3, "1, S0, S1, S1, 2, S2, D"),
    ],
)
def test_nested_lists(nested, depth, text):
    assert format_stream(to_tokens(nested, depth)) == text


def test_empty_and_done_tokens():
    assert (format_token(N), format_token(D)) == ("N", "D")
