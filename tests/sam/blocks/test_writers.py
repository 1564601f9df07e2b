"""Level writers (Definition 3.8)."""

from types import SimpleNamespace

import numpy as np
import pytest

from sam.blocks.block_memory import Growing, Stored
from sam.blocks.writers import written
from sam.graph import Slot
from sam.levels import Dense
from tests.support.writers import DENSE, FIGURE_1, VALUES, check, write


@pytest.mark.parametrize("levels", ["ss", "ds", "sd", "dd"])
def test_all_formats_hold_the_same_matrix(levels):
    assert write(levels, (4, 4), FIGURE_1, VALUES).to_numpy().tolist() == DENSE


@pytest.mark.parametrize("levels", ["sss", "ssd", "sds", "sdd", "dss", "dsd", "dds", "ddd"])
def test_three_levels(levels):
    due = np.zeros((3, 2, 4))
    due[0, 1, [0, 3]] = 1, 2
    due[2, 0, 2] = 3
    due[2, 1, 2] = 4
    tensor = write(
        levels,
        (3, 2, 4),
        ["0, 2, S0, D", "1, S0, 0, 1, S1, D", "0, 3, S1, 2, S0, 2, S2, D"],
        "1, 2, S1, 3, S0, 4, S2, D",
    )
    np.testing.assert_array_equal(tensor.to_numpy(), due)


def test_vectors():
    check("s", (5,), ["1, 4, S0, D"], "7, 8, S0, D", stored=[([0, 2], [1, 4])], values=[7, 8])
    check("d", (5,), ["1, 4, S0, D"], "7, 8, S0, D", stored=[None], values=[0, 7, 0, 0, 8])


def test_empty_results():
    check("s", (5,), ["S0, D"], "S0, D", stored=[([0, 0], [])], values=[])
    check("d", (2,), ["S0, D"], "S0, D", stored=[None], values=[0, 0])
    empty = ["S0, D", "S1, D"]
    check("ss", (2, 3), empty, "S1, D", stored=[([0, 0], []), ([0], [])], values=[])
    check("ds", (2, 3), empty, "S1, D", stored=[None, ([0, 0, 0], [])], values=[])
    check("sd", (2, 3), empty, "S1, D", stored=[([0, 0], []), None], values=[])
    check("dd", (2, 3), empty, "S1, D", stored=[None, None], values=[0] * 6)


def test_modes_of_extent_0():
    check("s", (0,), ["S0, D"], "S0, D", stored=[([0, 0], [])], values=[])
    check("d", (0,), ["S0, D"], "S0, D", stored=[None], values=[])
    check("dd", (2, 0), ["0, 1, S0, D", "S0, S1, D"], "S0, S1, D", stored=[None] * 2, values=[])


def test_written_puts_memories_together():
    """Two rows of three; rows that no writer has stored are empty, or 0."""
    slot = Slot("X", "X", "ds")
    rows = SimpleNamespace()
    columns = SimpleNamespace(segments=Growing([0]), coordinates=Growing([2]))
    values = SimpleNamespace(values=Growing([4], values=True), stored=Stored(0))
    tensor = written(slot, (2, 3), [rows, columns, values], np.dtype(np.int32), False)
    assert isinstance(tensor.levels[0], Dense)
    assert tensor.levels[1].segments.tolist() == [0, 1, 1]
    assert tensor.values.dtype == np.int32
    assert tensor.to_numpy().tolist() == [[0, 0, 4], [0, 0, 0]]


# The published vectors. Not used: test_val_wr_scan_1d and test_comp_wr_scan_1d, whose streams are
# drawn at random.
