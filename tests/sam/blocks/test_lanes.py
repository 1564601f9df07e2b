"""Parallelizers and serializers (SAM paper, Section 4.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.token import format_stream, to_tokens
from tests.support.streams import check_block, run_block

FLAT = {"lanes": 2, "streams": ["ref", "val"], "depth": 0}
DEEP = {"lanes": 2, "streams": ["crd", "val"], "depth": 1}


def test_coordinates_are_dealt_in_turn_with_their_payloads():
    check_block(
        "parallelizer",
        FLAT,
        {
            "in_crd": "1, 4, 7, S0, 2, S1, D",
            "in_ref0": "0, N, 2, S0, 3, S1, D",
            "in_val1": "0.5, 1.5, 2.5, S0, 3.5, S1, D",
        },
        {
            "crd0": "1, 7, S0, S1, D",
            "crd1": "4, S0, 2, S1, D",
            "ref0_0": "0, 2, S0, S1, D",
            "ref0_1": "N, S0, 3, S1, D",
            "val1_0": "0.5, 2.5, S0, S1, D",
            "val1_1": "1.5, S0, 3.5, S1, D",
        },
    )


def test_fibers_are_dealt_whole():
    check_block(
        "parallelizer",
        DEEP,
        {
            "in_crd": "1, 4, 7, S0, 2, S1, D",
            "in_crd0": "0, 3, S0, S0, 5, S1, 6, S2, D",
            "in_val1": "1, 2, S0, S0, 3, S1, 4, S2, D",
        },
        {
            "crd0_0": "0, 3, S0, 5, S1, S2, D",
            "val1_0": "1, 2, S0, 3, S1, S2, D",
            "crd0_1": "S1, 6, S2, D",
            "val1_1": "S1, 4, S2, D",
        },
    )


def test_lanes_are_joined_by_their_coordinates():
    check_block(
        "serializer",
        {"lanes": 2, "streams": ["val"], "depth": 0},
        {
            "in_crd0": "1, 7, S0, S1, D",
            "in_crd1": "4, 8, 9, S0, 2, S1, D",
            "in_val0_0": "1, 3, S0, S1, D",
            "in_val0_1": "2, 4, N, S0, 6, S1, D",
        },
        {"crd": "1, 4, 7, 8, 9, S0, 2, S1, D", "val0": "1, 2, 3, 4, N, S0, 6, S1, D"},
    )


def test_fibers_of_lanes_are_joined():
    check_block(
        "serializer",
        DEEP,
        {
            "in_crd0": "1, 7, S0, S1, D",
            "in_crd1": "4, S0, 2, S1, D",
            "in_crd0_0": "0, 3, S0, 5, S1, S2, D",
            "in_crd0_1": "S1, 6, S2, D",
            "in_val1_0": "1, 2, S0, 3, S1, S2, D",
            "in_val1_1": "S1, 4, S2, D",
        },
        {
            "crd0": "0, 3, S0, S0, 5, S1, 6, S2, D",
            "val1": "1, 2, S0, S0, 3, S1, 4, S2, D",
        },
    )


@pytest.mark.parametrize("stream", ["S0, D", "S1, D", "S0, S1, D"])
def test_empty_fibers_go_to_all_lanes(stream):
    due = dict.fromkeys(("crd0", "crd1", "crd2"), stream)
    parameters = {"lanes": 3, "streams": [], "depth": 0}
    check_block("parallelizer", parameters, {"in_crd": stream}, due)


def test_a_coordinate_a_cycle_is_dealt():
    tokens = ", ".join(map(str, range(100)))
    parameters = {"lanes": 4, "streams": [], "depth": 0}
    result = run_block("parallelizer", parameters, {"in_crd": f"{tokens}, S0, D"})
    assert result.run.blocks["block"].fired == 102
    assert result.run.blocks["block"].busy == 102


@given(
    st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=6), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_a_stream_dealt_and_joined_is_the_same(nested, lanes):
    """Three levels: outer coordinates, dealt coordinates, and values in them."""
    crd = format_stream(to_tokens([list(range(len(inner))) for inner in nested], 2))
    val = format_stream(to_tokens(nested, 3))
    flat = {"lanes": lanes, "streams": [], "depth": 0}
    deep = {"lanes": lanes, "streams": ["val"], "depth": 1}
    of_crd = run_block("parallelizer", flat, {"in_crd": crd}).streams
    of_val = run_block("parallelizer", deep, {"in_crd": crd, "in_val0": val}).streams
    crds = {f"in_crd{n}": of_crd[f"crd{n}"] for n in range(lanes)}
    vals = {f"in_val0_{n}": of_val[f"val0_{n}"] for n in range(lanes)}
    assert run_block("serializer", flat, crds).streams["crd"] == crd
    assert run_block("serializer", deep, {**crds, **vals}).streams["val0"] == val
