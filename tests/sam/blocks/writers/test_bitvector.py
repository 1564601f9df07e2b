"""Bitvectors."""

import pytest

from sam.levels import Bitvector
from tests.support.writers import FIGURE_1, VALUES, check_references, level, write


def test_bits_across_words():
    tensor = write("b", (70,), ["0, 63, 64, 69, S0, D"], "1, 2, 3, 4, S0, D")
    (level,) = tensor.levels
    assert isinstance(level, Bitvector)
    assert level.words.tolist() == [1 + (1 << 63), 1 + (1 << 5)]
    assert level.ranks.tolist() == [0, 2, 4]
    assert tensor.values.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("levels", "rows", "words"),
    [
        ("bb", [0b1011], [0b0010, 0b0101, 0b1010]),
        ("sb", None, [0b0010, 0b0101, 0b1010]),
        ("db", None, [0b0010, 0b0101, 0, 0b1010]),
    ],
)
def test_figure_1_in_bits(levels, rows, words):
    tensor = write(levels, (4, 4), FIGURE_1, VALUES)
    assert rows is None or tensor.levels[0].words.tolist() == rows
    assert tensor.levels[1].words.tolist() == words
    assert tensor.values.tolist() == [1, 2, 3, 4, 5]


def test_empty_bitvectors():
    assert write("b", (70,), ["S0, D"], "S0, D").levels[0].words.tolist() == [0, 0]
    assert write("db", (2, 3), ["S0, D", "S1, D"], "S1, D").levels[1].words.tolist() == [0, 0]
    assert write("b", (0,), ["S0, D"], "S0, D").levels[0].words.tolist() == []


def test_references_to_bits_count_the_ones():
    check_references(
        level("b", by_reference=False),
        {"in_crd": "4, S0, 0, 2, S1, S2, D"},
        "0, S0, 1, 2, S1, S2, D",
    )
    check_references(
        level("b", by_reference=True),
        {"in_crd": "4, S0, S0, 0, 2, S1, D", "in_ref": "3, 5, 9, S0, D"},
        "0, S0, S0, 1, 2, S1, D",
    )
