"""Repeaters (Definition 3.4)."""

import pytest

from sam.blocks import StreamError
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block


def check(coordinates, payload, due, kind="ref"):
    check_block(
        "repeater",
        {"stream": kind},
        {"in_coordinates": coordinates, f"in_{kind}": payload},
        {kind: due},
    )


def test_figure_6_a_scalar_is_repeated_over_a_vector():
    check("0, 1, 3, S0, D", "0, D", "0, 0, 0, S0, D")


@pytest.mark.parametrize(("kind", "payload"), [("ref", "7"), ("val", "0.5"), ("crd", "3")])
def test_payloads_of_any_kind(kind, payload):
    check("4, 6, S0, D", f"{payload}, D", f"{payload}, {payload}, S0, D", kind)


def test_each_payload_goes_over_its_own_fiber():
    check("1, S0, 0, 2, S0, 1, 3, S1, D", "5, 6, 7, S0, D", "5, S0, 6, 6, S0, 7, 7, S1, D")


def test_an_unknown_reference_is_repeated_as_such():
    check("1, S0, 0, 2, S0, 1, S1, D", "N, 5, N, S0, D", "N, S0, 5, 5, S0, N, S1, D")


def test_explicit_zeros_are_repeated():
    check("1, S0, 0, 2, S1, D", "0.0, 0, S0, D", "0.0, S0, 0, 0, S1, D", "val")


def test_empty_fibers_use_up_their_payloads():
    check("S0, 4, S1, D", "5, 6, S0, D", "S0, 6, S1, D")
    check("4, S0, S0, 4, S1, D", "5, 6, 7, S0, D", "5, S0, S0, 7, S1, D")
    check("4, S0, S1, D", "5, 6, S0, D", "5, S0, S1, D")
    check("S0, S0, S1, D", "5, N, 6, S0, D", "S0, S0, S1, D")
    check("S0, D", "5, D", "S0, D")


def test_an_empty_outer_fiber_has_no_payload():
    check("S1, 4, S2, D", "S0, 6, S1, D", "S1, 6, S2, D")
    check("S1, 4, S2, D", "5, S0, 6, S1, D", "S1, 6, S2, D")
    check("4, S1, S2, D", "5, S0, S1, D", "5, S1, S2, D")
    check("S1, D", "S0, D", "S1, D")


def test_streams_without_payloads():
    check("D", "D", "D")
    check("S1, S1, S3, D", "S0, S0, S2, D", "S1, S1, S3, D")


def test_high_stop_levels():
    check("1, S0, 2, 3, S12, S13, D", "5, 6, S11, S12, D", "5, S0, 6, 6, S12, S13, D")


def test_streams_of_other_shapes_are_refused():
    with pytest.raises(StreamError, match="the stop tokens of an outer and an inner stream do not"):
        run_block(
            "repeater", {"stream": "ref"}, {"in_coordinates": "1, S1, D", "in_ref": "5, S1, D"}
        )
    with pytest.raises(StreamError, match="an outer token is left over"):
        run_block(
            "repeater", {"stream": "ref"}, {"in_coordinates": "1, S0, D", "in_ref": "5, 6, D"}
        )


# The published vectors. Theirs repeats by signals R and S; ours takes the coordinates themselves,
# so each R becomes a coordinate and each S the stop token that comes out. Not used: the tests of
# the signal generator, which ours has no need of.


@needs_published
@pytest.mark.parametrize("vector", vectors("test_repeat_direct"))
def test_published_repetitions(vector):
    due = vector["gold"]
    coordinates = [token if str(token)[0] in "SD" else 0 for token in due]
    check(stream(coordinates), stream(vector["in_ref"]), stream(due))
