"""Level scanners (Definition 3.1)."""

import numpy as np
import pytest

from sam.levels import Compressed, Dense, Singleton
from sam.tensor import Tensor
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, check_scanner, run_block

# The matrix of Figure 1: rows 0, 1 and 3 with the values ((1), (2, 3), (4, 5)).
FIGURE_1 = Tensor.from_coo([[0, 1, 1, 3, 3], [1, 0, 2, 1, 3]], [1, 2, 3, 4, 5], (4, 4), "ss")

# Rows with the columns (), (1, 4, 7), (), (0, 2), ().
ROWS = Tensor(
    (5, 9),
    (0, 1),
    (Dense(5), Compressed(np.array([0, 0, 3, 3, 5, 5]), np.array([1, 4, 7, 0, 2]))),
    np.arange(5.0),
)


def fibers(segments, coordinates):
    """A matrix with a compressed fiber for each parent."""
    levels = Dense(len(segments) - 1), Compressed(np.array(segments), np.array(coordinates))
    shape = len(segments) - 1, max(coordinates, default=0) + 1
    return Tensor(shape, (0, 1), levels, np.ones(len(coordinates)))


def check_rows(ref, crd_due, ref_due):
    check_scanner(ROWS, 1, ref, crd_due, ref_due)


def test_figure_2_two_scanners_compose_into_the_streams_of_figure_1():
    check_scanner(FIGURE_1, 0, "0, D", "0, 1, 3, S0, D", "0, 1, 2, S0, D")
    outer = run_block(
        "level_scanner", {"slot": "B", "level": 0}, {"in_ref": "0, D"}, tensors={"B": FIGURE_1}
    )
    check_scanner(
        FIGURE_1,
        1,
        outer.streams["ref"],
        "1, S0, 0, 2, S0, 1, 3, S1, D",
        "0, S0, 1, 2, S0, 3, 4, S1, D",
    )


def test_a_root_fiber_ends_in_s0():
    check_rows("1, D", "1, 4, 7, S0, D", "0, 1, 2, S0, D")


def test_an_empty_root_fiber():
    check_rows("0, D", "S0, D", "S0, D")


def test_no_fibers():
    check_rows("D", "D", "D")
    check_rows("S0, D", "S1, D", "S1, D")


def test_empty_fibers_at_the_start_in_the_middle_and_at_the_end():
    check_rows("0, 1, 3, S0, D", "S0, 1, 4, 7, S0, 0, 2, S1, D", "S0, 0, 1, 2, S0, 3, 4, S1, D")
    check_rows("1, 2, 3, S0, D", "1, 4, 7, S0, S0, 0, 2, S1, D", "0, 1, 2, S0, S0, 3, 4, S1, D")
    check_rows("1, 3, 4, S0, D", "1, 4, 7, S0, 0, 2, S0, S1, D", "0, 1, 2, S0, 3, 4, S0, S1, D")
    check_rows("0, 2, 4, S0, D", "S0, S0, S1, D", "S0, S0, S1, D")


def test_an_unknown_reference_is_an_empty_fiber():
    check_rows("N, D", "S0, D", "S0, D")
    check_rows("N, 3, N, S0, D", "S0, 0, 2, S0, S1, D", "S0, 3, 4, S0, S1, D")
    check_rows(
        "3, N, N, 3, S0, D", "0, 2, S0, S0, S0, 0, 2, S1, D", "3, 4, S0, S0, S0, 3, 4, S1, D"
    )


def test_a_fiber_may_come_again_and_in_any_order():
    check_rows(
        "3, 1, 3, S0, D", "0, 2, S0, 1, 4, 7, S0, 0, 2, S1, D", "3, 4, S0, 0, 1, 2, S0, 3, 4, S1, D"
    )


def test_stop_tokens_rise_by_one_whatever_their_level():
    check_rows("3, S0, S0, 3, S1, D", "0, 2, S1, S1, 0, 2, S2, D", "3, 4, S1, S1, 3, 4, S2, D")
    check_rows("S0, S1, 3, S0, S2, D", "S1, S2, 0, 2, S1, S3, D", "S1, S2, 3, 4, S1, S3, D")
    check_rows("3, S11, 3, S12, D", "0, 2, S12, 0, 2, S13, D", "3, 4, S12, 3, 4, S13, D")


def test_a_dense_level_has_all_coordinates():
    matrix = Tensor.of(np.ones((3, 2)))
    check_scanner(matrix, 0, "0, D", "0, 1, 2, S0, D", "0, 1, 2, S0, D")
    check_scanner(matrix, 1, "0, 2, S0, D", "0, 1, S0, 0, 1, S1, D", "0, 1, S0, 4, 5, S1, D")
    check_scanner(matrix, 1, "1, N, S0, D", "0, 1, S0, S1, D", "2, 3, S0, S1, D")


def test_a_dense_level_of_extent_0_has_empty_fibers():
    check_scanner(Tensor.of(np.ones((2, 0))), 1, "0, 1, S0, D", "S0, S1, D", "S0, S1, D")


def test_a_singleton_level_has_one_coordinate_per_fiber():
    levels = Dense(3), Singleton(np.array([4, 0, 2]))
    matrix = Tensor((3, 5), (0, 1), levels, np.ones(3))
    check_scanner(matrix, 1, "0, 1, 2, S0, D", "4, S0, 0, S0, 2, S1, D", "0, S0, 1, S0, 2, S1, D")


@pytest.mark.parametrize("ref", ["0, D", "7, D", "2.5, D"])
def test_a_variable_is_scanned_for_any_reference_or_value(ref):
    check_block(
        "level_scanner",
        {"variable": "i"},
        {"in_ref": ref},
        {"crd": "0, 1, 2, S0, D", "ref": "0, 1, 2, S0, D"},
        extents={"i": 3},
    )


def test_a_variable_of_extent_0_has_empty_fibers():
    check_block(
        "level_scanner",
        {"variable": "i"},
        {"in_ref": "0, 1, S0, D"},
        {"crd": "S0, S1, D", "ref": "S0, S1, D"},
        extents={"i": 0},
    )


# The published vectors. Not used: test_rd_scan_direct_c_skip_nd (skip coordinates: later), and the
# dense 2d and 3d tests, which hold no expected streams. The memory block's vectors are the same.


@needs_published
@pytest.mark.parametrize("vector", vectors("test_rd_scan_c_direct_nd"))
def test_published_compressed_scans(vector):
    # Not one of these needs its parent level, so parents that no fiber asks for may be added.
    check_scanner(
        fibers(vector["seg"], vector["crd"]),
        1,
        stream(vector["in_ref"]),
        stream(vector["out_crd"]),
        stream(vector["out_ref"]),
    )


@needs_published
@pytest.mark.parametrize("vector", vectors("test_rd_scan_direct_c_0tkn_nd"))
def test_published_scans_of_unknown_references(vector):
    """Theirs turns ``N`` into a fiber of one ``N``, ours into an empty fiber."""
    crd, ref = (
        stream([token for token in vector[port] if token != "N"]) for port in ("out_crd", "out_ref")
    )
    check_scanner(fibers(vector["seg"], vector["crd"]), 1, stream(vector["in_ref"]), crd, ref)


@needs_published
@pytest.mark.parametrize("dim", [1, 2, 4, 16, 32, 100])
def test_published_dense_scans(dim):
    due = stream([*range(dim), "S0", "D"])
    check_scanner(Tensor.of(np.ones(dim)), 0, "0, D", due, due)
