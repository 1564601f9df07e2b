"""Affine units and window scanners."""

import pytest

from sam.blocks import block_of
from sam.graph import Node
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.streams import check_block, run_block

# Coordinates 1, 2, 5, 6, 9 of 10, at positions 0 to 4.
SPARSE = Tensor.of([0.0, 1, 2, 0, 0, 3, 4, 0, 0, 5], "s")
DENSE = Tensor.of([5.0, 6, 7, 8], "d")


def affine(scales, constant, inputs, due, **more):
    check_block(
        "affine_unit",
        {"scales": scales, "constant": constant, **more},
        {f"in_crd{n}": stream for n, stream in enumerate(inputs)},
        {"crd": due},
        tensors={"A": DENSE},
    )


def test_coordinates_are_scaled_and_added():
    affine([2, -1], 3, ["0, 1, S0, 4, S1, D", "1, 9, S0, 2, S1, D"], "2, -4, S0, 9, S1, D")


def test_an_absent_coordinate_stays_absent():
    affine([1, 1], 0, ["0, N, 3, S0, D", "1, 2, N, S0, D"], "1, N, N, S0, D")


def test_a_sum_outside_of_its_extent_is_absent():
    affine([1], -1, ["0, 1, 4, 5, S0, D"], "N, 0, 3, N, S0, D", slot="A", level=0)


def window(tensor, scale, constant, ref, due, extent, offset=None):
    inputs = {"in_ref": ref}
    if offset is not None:
        inputs["in_offset"] = offset
    check_block(
        "window_scanner",
        {
            "slot": "A",
            "level": 0,
            "variable": "k",
            "scale": scale,
            "constant": constant,
            "offset": offset is not None,
        },
        inputs,
        {"crd": due[0], "ref": due[1]},
        tensors={"A": tensor},
        extents={"k": extent},
    )


def test_a_window_has_the_stored_coordinates_between_two_bounds():
    """Three places from 1, 4 and 7 on."""
    due = "0, 1, S0, 1, 2, S0, 2, S1, D", "0, 1, S0, 2, 3, S0, 4, S1, D"
    window(SPARSE, 1, 0, "0, 0, 0, S0, D", due, 3, "1, 4, 7, S0, D")


def test_a_window_outside_of_the_level_is_empty():
    window(SPARSE, 1, -2, "0, D", ("3, 4, S0, D", "0, 1, S0, D"), 6)
    window(DENSE, 1, 0, "0, 0, S0, D", ("2, S0, 0, S1, D", "0, S0, 3, S1, D"), 3, "-2, 3, S0, D")


def test_a_stride_passes_over_coordinates_in_between():
    """Coordinates 1, 5 and 9 are 4 apart; 2 and 6 are not among them."""
    window(SPARSE, 4, 1, "0, D", ("0, 1, 2, S0, D", "0, 2, 4, S0, D"), 5)


def test_a_negative_scale_begins_at_the_end():
    window(SPARSE, -1, 6, "0, D", ("0, 1, 4, 5, S0, D", "3, 2, 1, 0, S0, D"), 7)
    window(DENSE, -2, 3, "0, D", ("0, 1, S0, D", "3, 1, S0, D"), 4)


def test_empty_windows_and_absent_fibers_are_empty():
    due = "S0, S0, S1, D", "S0, S0, S1, D"
    window(SPARSE, 1, 0, "N, 0, 0, S0, D", due, 2, "N, 3, 7, S0, D")
    window(SPARSE, 1, 0, "0, D", ("S0, D", "S0, D"), 0)


def test_each_entry_and_each_window_takes_a_cycle():
    """Windows of 2, 2 and 1 entries, among many that are stored outside of them."""
    stored = Tensor.from_coo([[1, 2, 5, 6, 9, *range(100, 900)]], [1.0] * 805, (1000,), "s")
    run = run_block(
        "window_scanner",
        {"slot": "A", "level": 0, "variable": "k", "scale": 1, "constant": 0, "offset": True},
        {"in_ref": "0, 0, 0, S0, D", "in_offset": "1, 4, 7, S0, D"},
        tensors={"A": stored},
        extents={"k": 3},
    ).run
    tokens = 5 + 3 + 1  # entries, a stop token for each window, D
    assert run.blocks["block"].fired <= tokens + 1


@pytest.mark.parametrize("levels", "bhu")
@pytest.mark.parametrize("scale", [1, -1])
def test_places_without_an_entry_take_no_cycle(levels, scale):
    """Zero bits, empty buckets and the like: three windows of 100 places hold two entries each."""
    stored = Tensor.from_coo([[7, 90, 350, 351]], [1.0] * 4, (400,), levels)
    run = run_block(
        "window_scanner",
        {"slot": "A", "level": 0, "variable": "k", "scale": scale, "constant": 0, "offset": True},
        {"in_ref": "0, 0, 0, S0, D", "in_offset": "0, 1, 300, S0, D" if scale > 0 else
         "99, 100, 399, S0, D"},
        tensors={"A": stored},
        extents={"k": 100},
    ).run  # fmt: skip
    assert run.blocks["block"].fired <= 6 + 3 + 2


def test_subsections_pass_over_zero_bits():
    """Coordinates 2 and 300 lie in two subsections of two places each."""
    stored = Tensor.from_coo([[2, 300]], [1.0, 2.0], (400,), "b")
    run = run_block(
        "subsection_scanner",
        {"slot": "A", "level": 0, "variable": "i", "scale": 1, "constant": 0, "others": ["j"],
         "scales": [1], "offset": False},
        {"in_ref": "0, D"},
        tensors={"A": stored},
        extents={"i": 399, "j": 2},
    ).run  # fmt: skip
    assert run.blocks["block"].fired <= 4 + 4  # values; begin, search behind the last, S0, D


def test_a_window_has_a_scale():
    with pytest.raises(UserError, match="a window needs a scale that is not 0"):
        block_of(
            Node(
                "w",
                "window_scanner",
                {"slot": "A", "level": 0, "variable": "k", "scale": 0, "constant": 0,
                 "offset": False},
            )
        )  # fmt: skip


def subsections(tensor, scale, constant, others, scales, ref, due, extents, offset=None):
    inputs = {"in_ref": ref}
    if offset is not None:
        inputs["in_offset"] = offset
    check_block(
        "subsection_scanner",
        {
            "slot": "A",
            "level": 0,
            "variable": "i",
            "scale": scale,
            "constant": constant,
            "others": others,
            "scales": scales,
            "offset": offset is not None,
        },
        inputs,
        {"crd": due[0], "ref": due[1]},
        tensors={"A": tensor},
        extents=extents,
    )


def test_nonempty_subsections_as_in_figure_3_of_the_convolution_paper():
    """Coordinates 2, 8 and 9 of 10, in subsections of two places from 0 to 7 on."""
    stored = Tensor.from_coo([[2, 8, 9]], [1.0, 2.0, 3.0], (10,), "s")
    due = "1, 2, 7, S0, D", "0, 0, 0, S0, D"
    subsections(stored, 1, 0, ["j"], [1], "0, D", due, {"i": 8, "j": 2})


def test_subsections_with_a_stride_leave_places_out():
    """Places 0 and 1, 5 and 6, 10 and 11: coordinates 3 and 9 lie between them."""
    stored = Tensor.from_coo([[3, 6, 9, 10]], [1.0, 2.0, 3.0, 4.0], (12,), "s")
    due = "1, 2, S0, D", "0, 0, S0, D"
    subsections(stored, 5, 0, ["j"], [1], "0, D", due, {"i": 3, "j": 2})


def test_subsections_reach_back_where_a_scale_is_negative():
    """i - j for j below 3: coordinate 4 lies in those of 4, 5 and 6."""
    stored = Tensor.from_coo([[4]], [1.0], (9,), "b")
    due = "4, 5, 6, S0, D", "0, 0, 0, S0, D"
    subsections(stored, 1, 0, ["j"], [-1], "0, D", due, {"i": 9, "j": 3})


def test_subsections_follow_an_offset():
    due = "0, S0, S0, 0, 1, S1, D", "0, S0, S0, 0, 0, S1, D"
    stored = Tensor.from_coo([[2]], [1.0], (9,), "s")
    subsections(stored, 1, 0, ["j"], [1], "0, N, 0, S0, D", due, {"i": 2, "j": 2}, "2, N, 1, S0, D")


def test_a_level_of_extent_0_has_no_subsections():
    due = "S0, D", "S0, D"
    subsections(SPARSE, 1, 0, ["j"], [1], "0, D", due, {"i": 3, "j": 0})
    subsections(SPARSE, 1, 0, ["j"], [1], "0, D", due, {"i": 0, "j": 3})


def test_a_variable_of_a_subsection_has_an_extent():
    with pytest.raises(UserError, match=r"no input fixes the extent of k\nhint: one of i, j"):
        subsections(SPARSE, 1, 0, ["k"], [1], "0, D", ("D", "D"), {"i": 3, "j": 2})
