"""Linked lists."""

import numpy as np
import pytest

from sam.tensor import Tensor
from tests.support.writers import DENSE, FIGURE_1, VALUES, check_references, level, same, write


@pytest.mark.parametrize("levels", ["ll", "dl", "sl", "hl", "bl", "ld", "ls", "lh", "lb", "lu"])
def test_figure_1_in_linked_lists(levels):
    tensor = write(levels, (4, 4), FIGURE_1, VALUES)
    assert same(tensor, Tensor.from_numpy(np.array(DENSE, float), levels))


def test_nodes_are_numbered_as_they_are_appended():
    """To any list at any time: those of positions 3, 5, 9 and 3 again."""
    check_references(
        level("l", by_reference=True),
        {"in_crd": "4, S0, S0, 4, 5, S0, 7, S1, D", "in_ref": "3, 5, 9, 3, S0, D"},
        "0, S0, S0, 1, 2, S0, 3, S1, D",
    )
    beside = {**level("l", by_reference=True), "beside": True}
    inputs = {"in_crd": "2, 2, S0, S0, 4, S1, D", "in_ref": "3, 0, S0, S0, 3, S1, D"}
    check_references(beside, inputs, "0, 1, S0, S0, 2, S1, D")


def test_positions_of_coordinates_that_come_beside_those_above():
    """In rows of ten, and in hash tables by the order of their first coming."""
    inputs = {"in_crd": "2, 2, S0, S0, 4, 2, S1, D", "in_ref": "3, 0, S0, S0, 3, 3, S1, D"}
    beside = {**level("d", by_reference=True), "beside": True}
    check_references(beside, inputs, "32, 2, S0, S0, 34, 32, S1, D")
    beside = {**level("h", by_reference=True), "beside": True}
    check_references(beside, inputs, "0, 1, S0, S0, 2, 0, S1, D")
