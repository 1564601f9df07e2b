"""Compressed levels."""

import numpy as np
import pytest

from tests.support.published import needs_published, stream, vectors
from tests.support.writers import FIGURE_1, VALUES, check, check_references, level, write


def test_figure_1_compressed_rows_and_columns():
    check(
        "ss",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[([0, 3], [0, 1, 3]), ([0, 1, 3, 5], [1, 0, 2, 1, 3])],
        values=[1, 2, 3, 4, 5],
    )


def test_an_outer_fiber_without_children():
    crds = ["0, 1, S0, D", "S0, 1, S1, D", "S1, 2, S2, D"]
    for levels in ("dds", "ddd", "dsd", "dss"):
        due = np.zeros((2, 2, 3))
        due[1, 1, 2] = 7
        tensor = write(levels, (2, 2, 3), crds, "S1, 7, S2, D")
        np.testing.assert_array_equal(tensor.to_numpy(), due)


def test_references_to_appended_coordinates_count_up():
    check_references(
        level("s", by_reference=False),
        {"in_crd": "4, S0, 0, 2, S1, S12, D"},
        "0, S0, 1, 2, S1, S12, D",
    )
    check_references(
        level("s", by_reference=True),
        {"in_crd": "4, S0, S0, 0, 2, S1, D", "in_ref": "3, 5, 9, S0, D"},
        "0, S0, S0, 1, 2, S1, D",
    )


@needs_published
@pytest.mark.parametrize("vector", vectors("test_comp_wr_scan_direct"))
def test_published_compressed_writes(vector):
    crd = stream(vector["in_crd"])
    rows = len(vector["gold_seg"]) - 1
    tensor = write("ss", (rows, 10), [stream([*range(rows), "S0", "D"]), crd], crd)
    assert tensor.levels[1].segments.tolist() == vector["gold_seg"]
    assert tensor.levels[1].coordinates.tolist() == vector["gold_crd"]
