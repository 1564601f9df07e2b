"""Locators (Definition 4.1)."""

import pytest

from sam.tensor import Tensor
from tests.support.streams import check_block, run_block

DENSE = Tensor.of([[5.0, 6, 7, 8], [1, 2, 3, 4]], "dd")
HASHED = Tensor.from_coo([[0, 0, 1], [1, 3, 2]], [5.0, 6, 7], (2, 4), "dh")


def check(tensor, crd, located, due, payload=("", ""), **more):
    streams = ["ref"] if payload[0] else []
    inputs = {"in_crd": crd, "in_located": located}
    outputs = {"crd": due[0], "ref": due[1]}
    if streams:
        inputs["in_ref0"], outputs["ref0"] = payload
    check_block(
        "locator",
        {"slot": "A", "level": 1, "payloads": streams, **more},
        inputs,
        outputs,
        tensors={"A": tensor},
    )


def test_every_coordinate_of_a_dense_level_is_found():
    """Row p of 4 columns begins at position 4 p."""
    check(DENSE, "0, 3, S0, 2, S1, D", "1, 0, S0, D", ("0, 3, S0, 2, S1, D", "4, 7, S0, 2, S1, D"))


def test_an_absent_operand_has_no_coordinate():
    check(DENSE, "0, 3, S0, 2, S1, D", "N, 0, S0, D", ("S0, 2, S1, D", "S0, 2, S1, D"))


def test_a_missing_coordinate_has_no_reference_where_all_coordinates_are_kept():
    due = ("0, 3, S0, 2, S1, D", "N, N, S0, 2, S1, D")
    check(DENSE, "0, 3, S0, 2, S1, D", "N, 0, S0, D", due, keeps=True)


def test_empty_fibers_stay_empty():
    check(DENSE, "S0, 2, S0, S1, D", "0, 1, 0, S0, D", ("S0, 2, S0, S1, D", "S0, 6, S0, S1, D"))
    check(DENSE, "S1, D", "S0, D", ("S1, D", "S1, D"))
    check(DENSE, "S1, D", "1, S0, D", ("S1, D", "S1, D"))


def test_a_coordinate_that_a_hash_table_lacks_is_dropped_with_its_payload():
    """Four buckets a row, coordinate mod 4 first: row 0 has 1 and 3 in place, row 1 has 2."""
    check(
        HASHED,
        "0, 1, 3, S0, 1, 2, S1, D",
        "0, 1, S0, D",
        ("1, 3, S0, 2, S1, D", "1, 3, S0, 6, S1, D"),
        payload=("10, 11, 12, S0, 13, 14, S1, D", "11, 12, S0, 14, S1, D"),
    )


@pytest.mark.parametrize("levels", ["ds", "db", "dl", "dn", "uq", "du"])
def test_a_searcher_finds_what_a_level_lists(levels):
    """Row 0 has 1 and 3 of 4, row 1 has 2 alone; positions are 0, 1 and 2."""
    stored = Tensor.from_coo([[0, 0, 1], [1, 3, 2]], [5.0, 6, 7], (2, 4), levels)
    one = 2 if levels == "uq" else 1  # the first position of row 1 in a list of coordinates
    check_block(
        "searcher",
        {"slot": "A", "level": 1, "payloads": ["ref"]},
        {
            "in_crd": "0, 1, 3, S0, 1, 2, S0, 3, S1, D",
            "in_located": f"0, {one}, N, S0, D",
            "in_ref0": "10, 11, 12, S0, 13, 14, S0, 15, S1, D",
        },
        {
            "crd": "1, 3, S0, 2, S0, S1, D",
            "ref": "0, 1, S0, 2, S0, S1, D",
            "ref0": "11, 12, S0, 14, S0, S1, D",
        },
        tensors={"A": stored},
    )


def test_a_search_takes_a_cycle():
    stored = Tensor.from_coo([[5, *range(100, 900)]], [1.0] * 801, (1000,), "s")
    run = run_block(
        "searcher",
        {"slot": "A", "level": 0, "payloads": []},
        {"in_crd": "5, 6, 700, 901, S0, D", "in_located": "0, D"},
        tensors={"A": stored},
    ).run
    assert run.blocks["block"].fired == 6
