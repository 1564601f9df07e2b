"""Hash tables."""

import numpy as np
import pytest

from sam.levels import Hashed
from sam.tensor import Tensor
from tests.support.streams import run_block
from tests.support.writers import DENSE, FIGURE_1, VALUES, check_references, level, same, write


def test_a_hash_table():
    """Buckets 1, 5 and 5 of 8 are wanted: the second 5 gets 6."""
    tensor = write("h", (20,), ["1, 5, 13, S0, D"], "7, 8, 9, S0, D")
    (level,) = tensor.levels
    assert isinstance(level, Hashed)
    assert (level.width, level.coordinates.tolist()) == (8, [-1, 1, -1, -1, -1, 5, 13, -1])
    assert tensor.values.tolist() == [0, 7, 0, 0, 0, 8, 9, 0]


@pytest.mark.parametrize("levels", ["hh", "dh", "sh", "bh", "hd", "hs", "hb", "hu"])
def test_figure_1_in_hash_tables(levels):
    tensor = write(levels, (4, 4), FIGURE_1, VALUES)
    assert same(tensor, Tensor.from_numpy(np.array(DENSE, float), levels))


def test_lists_of_coordinates_below_a_hash_table():
    crds = ["0, 2, S0, D", "0, S0, 2, 2, S1, 1, S2, D", "1, S0, 0, 3, S1, 1, S2, D"]
    tensor = write("huq", (3, 3, 4), crds, "5, S0, 6, 7, S1, 8, S2, D", ref="0, 0, S0, 1, S1, D")
    due = np.zeros((3, 3, 4))
    due[0, 0, 1], due[0, 2, 0], due[0, 2, 3], due[2, 1, 1] = 5, 6, 7, 8
    assert same(tensor, Tensor.from_numpy(due, "huq"))


def test_empty_hash_tables():
    for levels in ("h", "dh", "hh"):
        shape = (3,) * len(levels)
        crds = ["S0, D", "S1, D"][: len(levels)]
        tensor = write(levels, shape, crds, f"S{len(levels) - 1}, D")
        assert same(tensor, Tensor.from_numpy(np.zeros(shape), levels))


def test_coordinates_inserted_in_any_order_are_summed():
    """The fibers (0,2), (1,2), (0) of a sum over an outer loop."""
    crd, val = "0, 2, S0, 1, 2, S0, 0, S1, D", "1, 2, S0, 3, 4, S0, 5, S1, D"
    assert write("h", (3,), [crd], val, accumulate=True).to_numpy().tolist() == [6, 3, 6]


def test_references_into_a_hash_table_are_numbers_in_the_order_of_coming():
    check_references(
        level("h", by_reference=False, number=0),
        {"in_crd": "7, S0, 2, 7, S0, 2, 3, S1, D"},
        "0, S0, 1, 0, S0, 1, 2, S1, D",
    )
    check_references(
        level("h", by_reference=True),
        {"in_crd": "4, S0, S0, 4, 5, S0, 4, S1, D", "in_ref": "3, 5, 9, 3, S0, D"},
        "0, S0, S0, 1, 2, S0, 0, S1, D",
    )


def test_tables_that_have_grown_still_know_their_coordinates():
    """Position 2 has two, so the tables of 0 and 1 have moved when these come again."""
    check_references(
        level("h", by_reference=True),
        {"in_crd": "4, S0, 4, S0, 4, 5, S0, 4, S0, 4, S1, D", "in_ref": "0, 1, 2, 0, 1, S0, D"},
        "0, S0, 1, S0, 2, 3, S0, 0, S0, 1, S1, D",
    )


@pytest.mark.parametrize(
    ("crd", "firings"),
    [
        # Each coordinate and the two last tokens; before that: the width grows to 2, 4 and 8 with
        # the first, second and third coordinate, and all that have come move.
        ("1, S0, D", 3),
        ("0, 1, S0, D", 4 + 1),
        ("0, 1, 2, S0, D", 5 + 1 + 2),
        ("0, 1, 2, 3, S0, D", 6 + 1 + 2 + 3),
        # Of 8 buckets, 9 finds its own taken by 1, and the next free; the move of 2 meets no other.
        ("1, 2, 3, 9, S0, D", 6 + 1 + 2 + 3 + 3),
        # Coming again, 9 looks at the same buckets 1, 2, 3 and 4.
        ("1, 2, 3, 9, S0, 9, S1, D", 6 + 1 + 2 + 3 + 3 + 4 + 1),
    ],
)
def test_a_firing_for_each_bucket(crd, firings):
    run = run_block(
        "level_writer", level("h", by_reference=False, number=0), {"in_crd": crd}, extents={"j": 10}
    ).run
    assert run.blocks["block"].fired == firings
