"""Bitvector levels."""

import numpy as np

from sam.levels import Bitvector, Entries


def test_bitvector_counts_the_ones_before():
    """A parent of 70 coordinates has two words: 1 and 64 of parent 0, 0, 2 and 69 of parent 1."""
    level, positions = Bitvector.build(
        Entries(np.array([0, 0, 1, 1, 1]), np.array([1, 64, 0, 2, 69]), 2, 70)
    )
    assert level.as_lists().words == [0b10, 0b1, 0b101, 0b100000]
    assert level.as_lists().ranks == [0, 1, 2, 4, 5]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert level.positions(2) == 5
    assert level.fiber(1) == (70, 140)
    listed = level.as_lists()
    assert [listed.coordinate(1, 70 + c) for c in (0, 1, 2, 69)] == [0, -1, 2, 69]
    assert [listed.position(1, 70 + c) for c in (0, 2, 69)] == [2, 3, 4]
    level.validate(2, 70)


def test_a_bitvector_of_words():
    level = Bitvector.of(70, np.array([0b10, 0b1, 0b101, 1 << 63], "uint64"))
    assert level.ranks.tolist() == [0, 1, 2, 4, 5]
    assert Bitvector.of(0, np.zeros(0, "uint64")).ranks.tolist() == [0]


def test_a_search_reads_a_word_once():
    """Bits 1, 3 and 64 of 70 lie in two words, with a rank each."""
    level = Bitvector.of(70, np.array([0b1010, 0b1], "uint64"))
    assert level.touched_by_move(0, -1, 1) == (("seg", 0, True), ("crd", 0, True))
    assert level.touched_by_move(0, 1, 3) == (("seg", 0, False), ("crd", 0, False))
    assert level.touched_by_move(0, 3, 64) == (("seg", 1, True), ("crd", 1, True))
