"""Fiber aligners and fiber repeaters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam.blocks import StreamError
from sam.token import format_stream, to_tokens
from tests.support.profiles import examples
from tests.support.streams import check_block, run_block


def check(kind, depth, followed, streams, due):
    """Moves ``streams``, all of one shape, along the coordinates ``followed``."""
    names = list(streams)
    check_block(
        kind,
        {"streams": names, "depth": depth},
        followed | {f"in_{name}": text for name, text in streams.items()},
        due,
    )


def check_aligned(old, new, inner, due, depth=1):
    followed = {"in_old": old, "in_new": new}
    check("fiber_aligner", depth, followed, {"crd": inner}, {"crd": due})
    both = {"crd": inner, "val": inner}
    check("fiber_aligner", depth, followed, both, {"crd": due, "val": due})


def check_repeated(coordinates, inner, due, depth=1):
    followed = {"in_coordinates": coordinates}
    check("fiber_repeater", depth, followed, {"crd": inner}, {"crd": due})
    both = {"crd": inner, "val": inner}
    check("fiber_repeater", depth, followed, both, {"crd": due, "val": due})


def test_equal_coordinates_leave_the_fibers_as_they_are():
    check_aligned("0, 2, S0, D", "0, 2, S0, D", "5, S0, 6, 7, S1, D", "5, S0, 6, 7, S1, D")


def test_fibers_whose_coordinates_are_gone_are_removed():
    inner = "5, S0, 6, 7, S0, 8, S1, D"
    check_aligned("0, 1, 2, S0, D", "1, S0, D", inner, "6, 7, S1, D")
    check_aligned("0, 1, 2, S0, D", "0, 2, S0, D", inner, "5, S0, 8, S1, D")
    check_aligned("0, 1, 2, S0, D", "S0, D", inner, "S1, D")


def test_new_coordinates_get_empty_fibers():
    inner = "5, S0, 6, S1, D"
    check_aligned("1, 3, S0, D", "0, 1, 3, S0, D", inner, "S0, 5, S0, 6, S1, D")
    check_aligned("1, 3, S0, D", "1, 2, 3, S0, D", inner, "5, S0, S0, 6, S1, D")
    check_aligned("1, 3, S0, D", "1, 3, 4, 5, S0, D", inner, "5, S0, 6, S0, S0, S1, D")
    check_aligned("S0, D", "0, 1, S0, D", "S1, D", "S0, S1, D")


def test_coordinates_come_and_go_at_once():
    check_aligned("0, 2, S0, D", "1, 2, 3, S0, D", "5, S0, 6, S1, D", "S0, 6, S0, S1, D")


def test_fibers_that_are_empty_already():
    check_aligned("0, 1, S0, D", "0, 1, S0, D", "S0, 6, S1, D", "S0, 6, S1, D")
    check_aligned("0, 1, S0, D", "0, 1, S0, D", "S0, S1, D", "S0, S1, D")
    check_aligned("0, 1, S0, D", "1, S0, D", "5, S0, S1, D", "S1, D")


def test_several_outer_fibers():
    check_aligned(
        "0, S0, 1, S0, S1, D",
        "0, 1, S0, S0, 2, S1, D",
        "5, S1, 6, S1, S2, D",
        "5, S0, S1, S1, S2, D",
    )


def test_fibers_of_two_levels():
    inner = "5, S0, 6, S1, 7, S2, D"
    check_aligned("0, 1, S0, D", "1, S0, D", inner, "7, S2, D", depth=2)
    check_aligned("0, 1, S0, D", "0, S0, D", inner, "5, S0, 6, S2, D", depth=2)
    check_aligned("0, 1, S0, D", "0, 2, S0, D", inner, "5, S0, 6, S1, S2, D", depth=2)


def test_high_stop_levels_of_aligned_fibers():
    check_aligned("0, S11, 1, S12, D", "0, S11, S12, D", "5, S12, 6, S13, D", "5, S12, S13, D")


def test_no_fibers_to_align():
    check_aligned("D", "D", "D", "D")
    check_aligned("S0, D", "S0, D", "S1, D", "S1, D")


def test_old_and_new_coordinates_of_other_shapes_are_refused():
    with pytest.raises(StreamError, match="the old and the new coordinates have different shapes"):
        run_block(
            "fiber_aligner",
            {"streams": ["crd"], "depth": 1},
            {"in_old": "S0, D", "in_new": "S1, D", "in_crd": "S1, D"},
        )


def test_a_fiber_is_repeated_for_each_coordinate():
    check_repeated("3, 4, 9, S0, D", "5, 6, S0, D", "5, 6, S0, 5, 6, S0, 5, 6, S1, D")


def test_a_fiber_without_coordinates_to_repeat_it_is_passed_over():
    check_repeated("S0, D", "5, 6, S0, D", "S1, D")
    check_repeated("S0, 3, S1, D", "5, S0, 6, S1, D", "S1, 6, S2, D")


def test_an_empty_fiber_is_repeated_as_such():
    check_repeated("3, 4, S0, D", "S0, D", "S0, S1, D")
    check_repeated("3, 4, S0, 3, S1, D", "S0, 5, S1, D", "S0, S1, 5, S2, D")


def test_each_fiber_has_coordinates_of_its_own():
    check_repeated("3, 4, S0, 7, S1, D", "5, S0, 6, 8, S1, D", "5, S0, 5, S1, 6, 8, S2, D")


def test_a_repeated_fiber_of_two_levels():
    inner = "5, S0, 6, 7, S1, D"
    check_repeated("0, 1, S0, D", inner, "5, S0, 6, 7, S1, 5, S0, 6, 7, S2, D", depth=2)


def test_high_stop_levels_of_repeated_fibers():
    check_repeated("0, 1, S11, 2, S12, D", "5, S11, 6, S12, D", "5, S0, 5, S12, 6, S13, D")


def test_no_fibers_to_repeat():
    check_repeated("D", "D", "D")


def test_fibers_and_coordinates_that_end_differently_are_refused():
    with pytest.raises(StreamError, match="fibers and the coordinates that repeat them end"):
        run_block(
            "fiber_repeater",
            {"streams": ["crd"], "depth": 1},
            {"in_coordinates": "1, S1, D", "in_crd": "5, S0, D"},
        )


coordinates = st.lists(st.integers(0, 4), max_size=3, unique=True).map(sorted)
fibers = {
    1: st.lists(st.integers(5, 9), max_size=2),
    2: st.lists(st.lists(st.integers(5, 9), min_size=1, max_size=2), max_size=2),
}


@settings(max_examples=examples(250))
@given(st.sampled_from([1, 2]), st.data())
def test_any_alignment(depth, data):
    """Each list of old coordinates with a fiber for each, and new coordinates."""
    olds, news, inner, due = [], [], [], []
    for _ in range(data.draw(st.integers(1, 3))):
        old, new = data.draw(coordinates), data.draw(coordinates)
        found = {c: data.draw(fibers[depth]) for c in old}
        olds.append(old)
        news.append(new)
        inner.append(list(found.values()))
        due.append([found.get(c, []) for c in new])
    run_block(
        "fiber_aligner",
        {"streams": ["crd"], "depth": depth},
        {
            "in_old": format_stream(to_tokens(olds, 2)),
            "in_new": format_stream(to_tokens(news, 2)),
            "in_crd": format_stream(to_tokens(inner, depth + 2)),
        },
    ).check({"crd": format_stream(to_tokens(due, depth + 2))})


@settings(max_examples=examples(250))
@given(st.sampled_from([1, 2]), st.data())
def test_any_repetition(depth, data):
    pairs = data.draw(st.lists(st.tuples(coordinates, fibers[depth]), min_size=1, max_size=3))
    run_block(
        "fiber_repeater",
        {"streams": ["crd"], "depth": depth},
        {
            "in_coordinates": format_stream(to_tokens([c for c, _ in pairs], 2)),
            "in_crd": format_stream(to_tokens([fiber for _, fiber in pairs], depth + 1)),
        },
    ).check({"crd": format_stream(to_tokens([[f for _ in c] for c, f in pairs], depth + 2))})
