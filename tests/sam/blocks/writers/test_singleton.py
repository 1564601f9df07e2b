"""Lists of coordinates."""

import pytest

from sam.levels import CompressedNonUnique
from tests.support.writers import FIGURE_1, VALUES, write

# Each of the outer coordinates comes again for each of the inner ones.
FIGURE_1_LISTED = ["0, S0, 1, 1, S0, 3, 3, S1, D", FIGURE_1[1]]


@pytest.mark.parametrize("levels", ["uq", "uc"])
def test_figure_1_as_a_list_of_coordinates(levels):
    tensor = write(levels, (4, 4), FIGURE_1_LISTED, VALUES)
    rows, columns = tensor.levels
    assert isinstance(rows, CompressedNonUnique)
    assert (rows.segments.tolist(), rows.coordinates.tolist()) == ([0, 5], [0, 1, 1, 3, 3])
    assert (columns.code, columns.coordinates.tolist()) == (levels[1], [1, 0, 2, 1, 3])
    assert tensor.values.tolist() == [1, 2, 3, 4, 5]


def test_lists_of_coordinates_below_dense_rows():
    """Row 0 has (0,1) and (2,0), (2,3); row 1 nothing; row 2 has (1,1)."""
    crds = ["0, 2, S0, D", "0, S0, 2, 2, S1, 1, S2, D", "1, S0, 0, 3, S1, 1, S2, D"]
    tensor = write("duq", (3, 3, 4), crds, "5, S0, 6, 7, S1, 8, S2, D", ref="0, 0, S0, 2, S1, D")
    _, outer, inner = tensor.levels
    assert (outer.segments.tolist(), outer.coordinates.tolist()) == ([0, 3, 3, 4], [0, 2, 2, 1])
    assert inner.coordinates.tolist() == [1, 0, 3, 1]
    assert tensor.values.tolist() == [5, 6, 7, 8]


def test_lists_of_three_coordinates_below_compressed_rows():
    crds = [
        "1, 2, S0, D",
        "0, 0, S0, 3, S1, 3, S2, D",
        "1, 2, S0, 0, S1, 3, S2, D",
    ]
    tensor = write("suq", (3, 4, 4), crds, "5, 6, S0, 7, S1, 8, S2, D")
    _, outer, inner = tensor.levels
    assert (outer.segments.tolist(), outer.coordinates.tolist()) == ([0, 3, 4], [0, 0, 3, 3])
    assert inner.coordinates.tolist() == [1, 2, 0, 3]


def test_an_empty_list_of_coordinates():
    tensor = write("uq", (2, 3), ["S1, D", "S1, D"], "S1, D")
    assert tensor.levels[0].segments.tolist() == [0, 0]
    assert len(tensor.values) == 0


def test_a_non_unique_level_outside_of_a_chain_is_written_like_a_compressed_level():
    for levels in ("us", "su", "uu"):
        tensor = write(levels, (4, 4), FIGURE_1, VALUES)
        assert tensor.format == f"{levels}:0,1"
        assert tensor.levels[0].segments.tolist() == [0, 3]
        assert tensor.levels[1].segments.tolist() == [0, 1, 3, 5]


def test_a_singleton_outside_of_a_list_is_one_if_each_position_has_one_coordinate():
    assert write("dq", (2, 4), ["0, 1, S0, D", "3, S0, 1, S1, D"], "5, S0, 6, S1, D").format == (
        "dq:0,1"
    )
    assert write("dq", (4, 4), FIGURE_1, VALUES).format == "ds:0,1"
