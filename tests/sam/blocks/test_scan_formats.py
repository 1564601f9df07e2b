"""Level scanners on every level format: each coordinate once, in order, with its reference."""

import numpy as np
import pytest

from sam.levels import Hashed
from sam.tensor import Tensor
from tests.support.streams import BLOCK, check_scanner, run_block

# Rows 0, 1 and 3 of a matrix of 4 x 4 have the columns (1), (0, 2) and (1, 3).
ROWS, COLUMNS = [0, 1, 1, 3, 3], [1, 0, 2, 1, 3]
FIGURE_1 = Tensor.from_coo([ROWS, COLUMNS], [1, 2, 3, 4, 5], (4, 4))

# Figure 2e of the formats paper.
PAPER = Tensor.of(
    np.array([[5, 1, 0, 0, 0, 0], [7, 3, 0, 0, 0, 0], [0] * 6, [8, 0, 0, 4, 9, 0]]), "ds"
)


def firings(tensor, level, ref):
    parameters = {"slot": "B", "level": level}
    run = run_block("level_scanner", parameters, {"in_ref": ref}, tensors={"B": tensor}).run
    return run.blocks[BLOCK].fired


def test_coo_joins_the_duplicates_of_a_row():
    """A row's reference is its first entry's, and stands for all of them (iterator chaining)."""
    coo = FIGURE_1.convert("uq")
    check_scanner(coo, 0, "0, D", "0, 1, 3, S0, D", "0, 1, 3, S0, D")
    check_scanner(
        coo, 1, "0, 1, 3, S0, D", "1, S0, 0, 2, S0, 1, 3, S1, D", "0, S0, 1, 2, S0, 3, 4, S1, D"
    )
    check_scanner(coo, 1, "3, N, 0, S0, D", "1, 3, S0, S0, 1, S1, D", "3, 4, S0, S0, 0, S1, D")


def test_coo_of_three_modes():
    """The entries (0, 1, 2), (0, 1, 3), (0, 2, 0) and (2, 1, 3)."""
    coordinates = [[0, 0, 0, 2], [1, 1, 2, 1], [2, 3, 0, 3]]
    coo = Tensor.from_coo(coordinates, [1, 2, 3, 4], (3, 3, 4), "ucq")
    check_scanner(coo, 0, "0, D", "0, 2, S0, D", "0, 3, S0, D")
    check_scanner(coo, 1, "0, 3, S0, D", "1, 2, S0, 1, S1, D", "0, 2, S0, 3, S1, D")
    check_scanner(
        coo,
        2,
        "0, 2, S0, 3, S1, D",
        "2, 3, S0, 0, S1, 3, S2, D",
        "0, 1, S0, 2, S1, 3, S2, D",
    )


def test_rows_of_coo_below_dense_blocks():
    """Blocks of 2 x 2, each a COO matrix: (0,1), (1,0) in the first, then (1,0), (1,1), (1,1)."""
    csb = FIGURE_1.blocked((2, 2), "dduq")
    check_scanner(csb, 2, "0, 1, 2, 3, S0, D", "0, 1, S0, 1, S0, 1, S0, 1, S1, D",
          "0, 1, S0, 2, S0, 3, S0, 4, S1, D")  # fmt: skip
    check_scanner(csb, 3, "0, 1, S0, 4, S1, D", "1, S0, 0, S1, 1, S2, D", "0, S0, 1, S1, 4, S2, D")


def test_compressed_columns_in_chains():
    check_scanner(FIGURE_1.convert("us"), 0, "0, D", "0, 1, 3, S0, D", "0, 1, 2, S0, D")
    check_scanner(
        FIGURE_1.convert("us"), 1, "1, 2, S0, D", "0, 2, S0, 1, 3, S1, D", "1, 2, S0, 3, 4, S1, D"
    )


def test_a_hash_table_is_sorted():
    """The paper's Section 3.1: buckets 0, 1, 2 and 4 hold 0, 1, 6 and 4."""
    vector = Tensor((7,), (0,), (Hashed(6, np.array([0, 1, 6, -1, 4, -1])),), np.arange(6.0))
    check_scanner(vector, 0, "0, D", "0, 1, 4, 6, S0, D", "0, 1, 4, 2, S0, D")


def test_hashed_columns_below_hashed_rows():
    """4 of 8 buckets hold rows; 0, 1, 3 of tables of 4 buckets hold a row's columns."""
    tensor = FIGURE_1.convert("hh")
    check_scanner(tensor, 0, "0, D", "0, 1, 3, S0, D", "0, 1, 3, S0, D")
    check_scanner(tensor, 1, "3, 1, S0, D", "1, 3, S0, 0, 2, S1, D", "13, 15, S0, 4, 6, S1, D")
    check_scanner(tensor, 1, "0, 2, S0, D", "1, S0, S1, D", "1, S0, S1, D")


def test_bitvector_references_count_ones():
    tensor = FIGURE_1.convert("db")
    check_scanner(tensor, 1, "0, 1, 2, 3, S0, D", "1, S0, 0, 2, S0, S0, 1, 3, S1, D",
          "0, S0, 1, 2, S0, S0, 3, 4, S1, D")  # fmt: skip


def test_a_bit_tree():
    """A vector of 130 with ones at 3, 64 and 129, in parts of 64."""
    vector = Tensor.from_coo([[3, 64, 129]], [1, 2, 3], (130,)).blocked((64,), "bb")
    check_scanner(vector, 0, "0, D", "0, 1, 2, S0, D", "0, 1, 2, S0, D")
    check_scanner(vector, 1, "0, 1, 2, S0, D", "3, S0, 0, S0, 1, S1, D", "0, S0, 1, S0, 2, S1, D")


def test_the_diagonals_of_the_paper():
    """Figure 2j: the offsets -3, -1, 0, 1; rows 3, 1 to 3, and twice 0 to 3 of 4."""
    dia = PAPER.diagonals()
    check_scanner(dia, 0, "0, D", "0, 1, 2, 3, S0, D", "0, 1, 2, 3, S0, D")
    check_scanner(dia, 1, "0, 1, 3, S0, D", "3, S0, 1, 2, 3, S0, 0, 1, 2, 3, S1, D",
          "3, S0, 5, 6, 7, S0, 12, 13, 14, 15, S1, D")  # fmt: skip
    check_scanner(dia, 2, "3, S0, 5, 7, S0, 15, S1, D", "0, S1, 0, S0, 2, S1, 4, S2, D",
          "3, S1, 5, S0, 7, S1, 15, S2, D")  # fmt: skip


def test_an_offset_outside_the_extent_has_no_column():
    """One diagonal below the main one, of rows 0 to 2: row 0 has none."""
    band = Tensor.from_coo([[1, 2], [0, 1]], [1, 2], (3, 2), "do")
    check_scanner(band, 1, "0, 1, 2, S0, D", "S0, 0, S0, 1, S1, D", "S0, 1, S0, 2, S1, D")


def test_a_range_has_zeros_between_its_entries():
    band = Tensor.from_coo([[0, 0, 2], [1, 3, 0]], [1, 2, 3], (3, 4), "dr")
    check_scanner(
        band, 1, "0, 1, 2, S0, D", "1, 2, 3, S0, S0, 0, S1, D", "1, 2, 3, S0, S0, 8, S1, D"
    )
    assert band.values.tolist() == [0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0]


def test_ell_has_a_column_in_each_slot_of_each_row():
    check_scanner(
        PAPER.ell(), 2, "4, 6, 7, S0, D", "1, S0, 0, S0, 3, S1, D", "4, S0, 6, S0, 7, S1, D"
    )


@pytest.mark.parametrize(
    ("levels", "level", "ref", "due"),
    [
        # A firing for each of 5 entries, 3 stop tokens and the D.
        ("ss", 1, "0, 1, 2, S0, D", 5 + 3 + 1),
        ("uq", 1, "0, 1, 3, S0, D", 5 + 3 + 1),
        # The two rows that come again take a firing each.
        ("uq", 0, "0, D", 3 + 2 + 1 + 1),
        # Tables of 8 and of 4 buckets.
        ("hh", 0, "0, D", 8 + 1 + 1),
        ("hh", 1, "0, 1, 3, S0, D", 3 * 4 + 3 + 1),
        # A bit of each of 4 coordinates.
        ("bb", 0, "0, D", 4 + 1 + 1),
        ("bb", 1, "0, 1, 2, S0, D", 3 * 4 + 3 + 1),
    ],
)
def test_a_step_without_a_coordinate_takes_a_firing(levels, level, ref, due):
    assert firings(FIGURE_1.convert(levels), level, ref) == due
