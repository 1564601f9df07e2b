"""Coordinate droppers (Definition 3.9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.token import format_stream, to_tokens
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block


def check(outer, inner, outer_due, inner_due):
    """One inner stream of coordinates; and two, coordinates and values of one shape."""
    check_block(
        "coordinate_dropper",
        {"drop": "coordinates", "inner": ["crd"]},
        {"in_outer": outer, "in_inner_crd": inner},
        {"crd": outer_due, "crd_inner": inner_due},
    )
    check_block(
        "coordinate_dropper",
        {"drop": "coordinates", "inner": ["crd", "val"]},
        {"in_outer": outer, "in_inner_crd": inner, "in_inner_val": inner},
        {"crd": outer_due, "crd_inner": inner_due, "val_inner": inner_due},
    )


def check_zeros(crd, val, crd_due, val_due):
    check_block(
        "coordinate_dropper",
        {"drop": "zeros"},
        {"in_crd": crd, "in_val": val},
        {"crd": crd_due, "val": val_due},
    )


def test_figure_8_row_2_of_the_matrix_is_dropped():
    check(
        "0, 1, 2, 3, S0, D",
        "1, S0, 0, 2, S0, S0, 1, 3, S1, D",
        "0, 1, 3, S0, D",
        "1, S0, 0, 2, S0, 1, 3, S1, D",
    )


def test_nothing_to_drop():
    check("0, 1, S0, D", "5, S0, 6, 7, S1, D", "0, 1, S0, D", "5, S0, 6, 7, S1, D")


def test_empty_fibers_at_the_start_and_at_the_end():
    check("0, 1, S0, D", "S0, 6, S1, D", "1, S0, D", "6, S1, D")
    check("0, 1, S0, D", "6, S0, S1, D", "0, S0, D", "6, S1, D")
    check("0, 1, 2, S0, D", "6, S0, S0, S1, D", "0, S0, D", "6, S1, D")
    check("0, 1, 2, 3, S0, D", "S0, 5, S0, S0, S1, D", "1, S0, D", "5, S1, D")


def test_all_fibers_empty():
    check("0, 1, 2, S0, D", "S0, S0, S1, D", "S0, D", "S1, D")
    check("0, S0, D", "S1, D", "S0, D", "S1, D")
    check("0, S0, 1, 2, S1, D", "S1, S0, S2, D", "S0, S1, D", "S1, S2, D")


def test_an_outer_fiber_that_is_left_empty_stays():
    check("0, S0, 1, S1, D", "S1, 5, S2, D", "S0, 1, S1, D", "S1, 5, S2, D")
    check("0, S0, 1, S1, D", "5, S1, S2, D", "0, S0, S1, D", "5, S1, S2, D")
    check("0, 1, S0, 2, 3, S1, D", "5, S0, S1, S0, 6, S2, D", "0, S0, 3, S1, D", "5, S1, 6, S2, D")


def test_outer_fibers_that_were_empty():
    check("S0, D", "S1, D", "S0, D", "S1, D")
    check("S0, 4, S0, S1, D", "S1, 5, S1, S2, D", "S0, 4, S0, S1, D", "S1, 5, S1, S2, D")
    check("D", "D", "D", "D")


def test_unknown_payloads_are_no_empty_fibers():
    check("0, 1, S0, D", "N, S0, S1, D", "0, S0, D", "N, S1, D")


def test_high_stop_levels():
    check("0, 1, S11, 2, S12, D", "5, S0, S12, S13, D", "0, S11, S12, D", "5, S12, S13, D")


def test_zeros_go_with_their_coordinates():
    check_zeros("0, 1, 2, 3, S0, D", "0, 5, 0.0, 7, S0, D", "1, 3, S0, D", "5, 7, S0, D")
    check_zeros("0, 1, S0, D", "N, -0.0, S0, D", "S0, D", "S0, D")
    check_zeros(
        "0, S0, 1, S0, S1, D", "0, S0, 2, S0, S1, D", "S0, 1, S0, S1, D", "S0, 2, S0, S1, D"
    )
    check_zeros("0, S12, 1, S13, D", "0, S12, 2, S13, D", "S12, 1, S13, D", "S12, 2, S13, D")
    check_zeros("S0, D", "S0, D", "S0, D", "S0, D")
    check_zeros("D", "D", "D", "D")


def test_nan_is_not_dropped_as_zero():
    check_zeros("0, 1, S0, D", "nan, inf, S0, D", "0, 1, S0, D", "nan, inf, S0, D")


@given(
    st.lists(st.lists(st.lists(st.integers(1, 9), max_size=2), max_size=4), min_size=1, max_size=4)
)
def test_any_two_levels(nested):
    """Each coordinate counts up, so the coordinates that stay tell which ones went."""
    outer = [list(range(len(rows))) for rows in nested]
    kept = [[n for n, row in enumerate(rows) if row] for rows in nested]
    left = [[row for row in rows if row] for rows in nested]
    run_block(
        "coordinate_dropper",
        {"drop": "coordinates", "inner": ["crd"]},
        {
            "in_outer": format_stream(to_tokens(outer, 2)),
            "in_inner_crd": format_stream(to_tokens(nested, 3)),
        },
    ).check(
        {
            "crd": format_stream(to_tokens(kept, 2)),
            "crd_inner": format_stream(to_tokens(left, 3)),
        }
    )


# The published vectors. Theirs passes the inner stream on as it is; ours also removes the stop
# tokens of the fibers that it drops, as Figure 8 has it, so only the outer stream is compared. Not
# used: test_bv_drop_nd (bitvectors: later).


@needs_published
@pytest.mark.parametrize(
    "vector", [*vectors("test_crd_drop_1d"), *vectors("test_crd_drop_emptystr_1d")]
)
def test_published_drops(vector):
    run_block(
        "coordinate_dropper",
        {"drop": "coordinates", "inner": ["crd"]},
        {"in_outer": stream(vector["ocrd_in"]), "in_inner_crd": stream(vector["icrd_in"])},
    ).check({"crd": stream(vector["gold"])})
