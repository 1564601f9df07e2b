"""Compressed levels, unique and not."""

import numpy as np

from sam.levels import Compressed, CompressedNonUnique, Entries

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
ROWS = np.array([0, 1, 1, 3, 3])
COLUMNS = np.array([1, 0, 2, 1, 3])


def test_compressed_rows_below_the_root():
    level, positions = Compressed.build(Entries(np.zeros(5, int), ROWS, 1, 4))
    assert level.as_lists().segments == [0, 3]
    assert level.as_lists().coordinates == [0, 1, 3]
    assert positions.tolist() == [0, 1, 1, 2, 2]
    assert level.positions(1) == 3


def test_compressed_columns_below_compressed_rows():
    level, positions = Compressed.build(Entries(np.array([0, 1, 1, 2, 2]), COLUMNS, 3, 4))
    assert level.as_lists().segments == [0, 1, 3, 5]
    assert level.as_lists().coordinates == [1, 0, 2, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert [level.fiber(parent) for parent in range(3)] == [(0, 1), (1, 3), (3, 5)]
    assert [level.coordinate(1, position) for position in (1, 2)] == [0, 2]


def test_compressed_columns_below_dense_rows_have_an_empty_fiber():
    level, _ = Compressed.build(Entries(ROWS, COLUMNS, 4, 4))
    assert level.as_lists().segments == [0, 1, 3, 3, 5]
    assert level.fiber(2) == (3, 3)


def test_non_unique_rows_have_a_position_for_each_chain():
    """The rows of the COO matrix, and those of its blocks of 1 x 2: row 1 is in two of them."""
    rows = np.zeros(5, int), ROWS, 1, 4
    level, positions = CompressedNonUnique.build(Entries(*rows, chain=np.arange(5)))
    assert level.as_lists().segments == [0, 5]
    assert level.as_lists().coordinates == [0, 1, 1, 3, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    blocks = np.array([0, 1, 2, 3, 3])
    level, positions = CompressedNonUnique.build(Entries(*rows, chain=blocks))
    assert level.as_lists().coordinates == [0, 1, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 3]


def test_non_unique_without_chains_is_compressed():
    level, positions = CompressedNonUnique.build(Entries(np.zeros(5, int), ROWS, 1, 4))
    assert level.as_lists().coordinates == [0, 1, 3]
    assert positions.tolist() == [0, 1, 1, 2, 2]
