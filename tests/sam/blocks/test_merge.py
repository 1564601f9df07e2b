"""Intersecters and unioners (Definitions 3.2 and 3.3)."""

import pytest

from sam.blocks import StreamError
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block

REFS = [["ref"], ["ref"]]


def check(kind, payloads, *, crds, due, **streams):
    """Merges the streams ``crds`` with payloads such as ``ref0_0=(in, due)``."""
    inputs = {f"in_crd{n}": text for n, text in enumerate(crds)}
    inputs |= {f"in_{name}": text for name, (text, _) in streams.items()}
    outputs = {"crd": due} | {name: text for name, (_, text) in streams.items()}
    check_block(kind, {"payloads": payloads}, inputs, outputs)


def test_figure_5_the_union_of_two_vectors():
    # b has the coordinates 0, 2 and 3; c has 1 and 2.
    check(
        "unioner",
        REFS,
        crds=["0, 2, 3, S0, D", "1, 2, S0, D"],
        ref0_0=("0, 1, 2, S0, D", "0, N, 1, 2, S0, D"),
        ref1_0=("0, 1, S0, D", "N, 0, 1, N, S0, D"),
        due="0, 1, 2, 3, S0, D",
    )


def test_the_intersection_of_two_vectors():
    check(
        "intersecter",
        REFS,
        crds=["0, 2, 3, S0, D", "1, 2, S0, D"],
        ref0_0=("0, 1, 2, S0, D", "1, S0, D"),
        ref1_0=("0, 1, S0, D", "1, S0, D"),
        due="2, S0, D",
    )


def test_an_intersection_moves_all_operands_that_are_behind():
    check(
        "intersecter",
        REFS,
        crds=["0, 1, 5, 9, S0, D", "5, 6, 7, 8, 9, S0, D"],
        ref0_0=("0, 1, 2, 3, S0, D", "2, 3, S0, D"),
        ref1_0=("0, 1, 2, 3, 4, S0, D", "0, 4, S0, D"),
        due="5, 9, S0, D",
    )


@pytest.mark.parametrize("kind", ["intersecter", "unioner"])
def test_equal_operands_stay_as_they_are(kind):
    text = "1, S0, S0, 0, 2, S1, S0, 3, S2, D"
    ref = "0, S0, S0, 1, 2, S1, S0, 3, S2, D"
    check(kind, REFS, crds=[text, text], ref0_0=(ref, ref), ref1_0=(ref, ref), due=text)


def test_empty_fibers_of_one_operand():
    crds = ["S0, 1, S0, S0, 2, S0, S1, D", "4, S0, S0, 5, S0, 2, S0, S1, D"]
    refs = ["S0, 0, S0, S0, 1, S0, S1, D", "7, S0, S0, 8, S0, 9, S0, S1, D"]
    check(
        "intersecter",
        REFS,
        crds=crds,
        ref0_0=(refs[0], "S0, S0, S0, 1, S0, S1, D"),
        ref1_0=(refs[1], "S0, S0, S0, 9, S0, S1, D"),
        due="S0, S0, S0, 2, S0, S1, D",
    )
    check(
        "unioner",
        REFS,
        crds=crds,
        ref0_0=(refs[0], "N, S0, 0, S0, N, S0, 1, S0, S1, D"),
        ref1_0=(refs[1], "7, S0, N, S0, 8, S0, 9, S0, S1, D"),
        due="4, S0, 1, S0, 5, S0, 2, S0, S1, D",
    )


@pytest.mark.parametrize("kind", ["intersecter", "unioner"])
@pytest.mark.parametrize("text", ["D", "S0, D", "S1, D", "S0, S1, S0, S2, D", "S11, S12, D"])
def test_streams_without_coordinates(kind, text):
    check(kind, REFS, crds=[text, text], ref0_0=(text, text), ref1_0=(text, text), due=text)


def test_high_stop_levels():
    check(
        "intersecter",
        [[], []],
        crds=["1, 2, S12, 3, S13, D", "2, S12, 4, S13, D"],
        due="2, S12, S13, D",
    )
    check(
        "unioner",
        [[], []],
        crds=["1, 2, S12, 3, S13, D", "2, S12, 4, S13, D"],
        due="1, 2, S12, 3, 4, S13, D",
    )


@pytest.mark.parametrize("kind", ["intersecter", "unioner"])
def test_one_operand_passes_through(kind):
    check(
        kind,
        [["ref"]],
        crds=["0, 3, S0, D"],
        ref0_0=("N, 5, S0, D", "N, 5, S0, D"),
        due="0, 3, S0, D",
    )
    check(kind, [[]], crds=["0, 3, S0, S1, D"], due="0, 3, S0, S1, D")


def test_three_operands():
    crds = ["0, 1, 2, 4, S0, D", "1, 2, 3, 4, S0, D", "0, 2, 4, 5, S0, D"]
    payloads = [["ref"], ["ref"], ["ref"]]
    check(
        "intersecter",
        payloads,
        crds=crds,
        ref0_0=("0, 1, 2, 3, S0, D", "2, 3, S0, D"),
        ref1_0=("0, 1, 2, 3, S0, D", "1, 3, S0, D"),
        ref2_0=("0, 1, 2, 3, S0, D", "1, 2, S0, D"),
        due="2, 4, S0, D",
    )
    check(
        "unioner",
        payloads,
        crds=crds,
        ref0_0=("0, 1, 2, 3, S0, D", "0, 1, 2, N, 3, N, S0, D"),
        ref1_0=("0, 1, 2, 3, S0, D", "N, 0, 1, 2, 3, N, S0, D"),
        ref2_0=("0, 1, 2, 3, S0, D", "0, N, 1, N, 2, 3, S0, D"),
        due="0, 1, 2, 3, 4, 5, S0, D",
    )


def test_an_operand_that_has_ended_lets_the_others_go():
    check(
        "intersecter",
        [[], [], []],
        crds=["S0, 7, S1, D", "1, 2, 3, S0, 7, S1, D", "0, 9, S0, 6, 7, S1, D"],
        due="S0, 7, S1, D",
    )


def test_four_and_five_operands():
    crds = ["0, 1, S0, D", "1, 2, S0, D", "1, S0, D", "0, 1, 3, S0, D", "1, 4, S0, D"]
    for arity in (4, 5):
        check("intersecter", [[]] * arity, crds=crds[:arity], due="1, S0, D")
    check("unioner", [[]] * 4, crds=crds[:4], due="0, 1, 2, 3, S0, D")
    check("unioner", [[]] * 5, crds=crds, due="0, 1, 2, 3, 4, S0, D")


def test_operands_with_several_payloads_of_several_kinds():
    payloads = [["ref", "val"], [], ["val", "ref", "ref"]]
    crds = ["0, 2, S0, D", "1, 2, S0, D", "2, 3, S0, D"]
    check(
        "unioner",
        payloads,
        crds=crds,
        ref0_0=("5, 6, S0, D", "5, N, 6, N, S0, D"),
        val0_1=("0.5, 0, S0, D", "0.5, N, 0, N, S0, D"),
        val2_0=("1.5, 2.5, S0, D", "N, N, 1.5, 2.5, S0, D"),
        ref2_1=("7, 8, S0, D", "N, N, 7, 8, S0, D"),
        ref2_2=("9, N, S0, D", "N, N, 9, N, S0, D"),
        due="0, 1, 2, 3, S0, D",
    )
    check(
        "intersecter",
        payloads,
        crds=crds,
        ref0_0=("5, 6, S0, D", "6, S0, D"),
        val0_1=("0.5, 0, S0, D", "0, S0, D"),
        val2_0=("1.5, 2.5, S0, D", "1.5, S0, D"),
        ref2_1=("7, 8, S0, D", "7, S0, D"),
        ref2_2=("9, N, S0, D", "9, S0, D"),
        due="2, S0, D",
    )


def test_unknown_references_pass():
    check(
        "intersecter",
        REFS,
        crds=["0, 1, S0, D", "0, 1, S0, D"],
        ref0_0=("N, 3, S0, D", "N, 3, S0, D"),
        ref1_0=("4, N, S0, D", "4, N, S0, D"),
        due="0, 1, S0, D",
    )


@pytest.mark.parametrize("kind", ["intersecter", "unioner"])
def test_operands_of_other_shapes_are_refused(kind):
    with pytest.raises(StreamError, match="the operands of a merger end their fibers differently"):
        run_block(kind, {"payloads": [[], []]}, {"in_crd0": "1, S0, D", "in_crd1": "1, S1, D"})
    with pytest.raises(StreamError, match="the operands of a merger end their fibers differently"):
        run_block(kind, {"payloads": [["ref"]]}, {"in_crd0": "S0, D", "in_ref0_0": "S1, D"})


# The published vectors. Not used: test_intersect_direct_skip (its skip outputs; its merge is), and
# test_intersect_1d (its expected streams are made by code).


def check_published(kind, crd1, ref1, crd2, ref2, crd_due, ref1_due, ref2_due):
    check(
        kind,
        REFS,
        crds=[stream(crd1), stream(crd2)],
        ref0_0=(stream(ref1), stream(ref1_due)),
        ref1_0=(stream(ref2), stream(ref2_due)),
        due=stream(crd_due),
    )


@needs_published
def test_published_intersection():
    (v,) = vectors("test_intersect_direct_2d")
    check_published(
        "intersecter",
        *(v[key] for key in ("in_crd1", "in_ref1", "in_crd2", "in_ref2")),
        *(v[key] for key in ("gold_crd", "gold_ref1", "gold_ref2")),
    )


@needs_published
@pytest.mark.parametrize("v", vectors("test_intersect_direct_skip"))
def test_published_intersection_beside_skips(v):
    crds = [stream(v["crd1_in"]), stream(v["crd2_in"])]
    check("intersecter", [[], []], crds=crds, due=stream(v["crd_gold"]))


@needs_published
@pytest.mark.parametrize("v", vectors("test_union_direct_nd"))
def test_published_unions(v):
    check_published(
        "unioner",
        *(v[key] for key in ("crd1_in", "ref1_in", "crd2_in", "ref2_in")),
        *(v[key] for key in ("crd_gold", "ref1_gold", "ref2_gold")),
    )
