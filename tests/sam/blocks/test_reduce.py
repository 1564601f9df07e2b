"""Reducers (Definition 3.7)."""

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam.blocks import StreamError
from sam.support.errors import UserError
from sam.token import format_stream, to_tokens
from tests.support.profiles import examples
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block


def check_scalar(val, zero, drop):
    """The sums where an empty fiber gives 0, and where it gives nothing."""
    for empty, due in (("zero", zero), ("drop", drop)):
        parameters = {"dimensions": 0, "empty": empty}
        check_block("reducer", parameters, {"in_val": val}, {"val": due})


def check(crds, val, crds_due, val_due, **more):
    n = len(crds)
    inputs = {f"in_crd{k}": text for k, text in enumerate(crds)} | {"in_val": val}
    outputs = {f"crd{k}": text for k, text in enumerate(crds_due)} | {"val": val_due}
    check_block("reducer", {"dimensions": n}, inputs, outputs, **more)


# n = 0


def test_each_fiber_gives_its_sum():
    check_scalar("1, S0, 2, 3, S0, 4, 5, S1, D", *["1, 5, 9, S0, D"] * 2)
    check_scalar("1, 2.5, S0, D", *["3.5, D"] * 2)


def test_empty_fibers_give_zero_or_nothing():
    check_scalar("S0, 2, S0, 4, S1, D", "0, 2, 4, S0, D", "2, 4, S0, D")
    check_scalar("1, S0, S0, S0, 4, S1, D", "1, 0, 0, 4, S0, D", "1, 4, S0, D")
    check_scalar("1, S0, S1, D", "1, 0, S0, D", "1, S0, D")
    check_scalar("S0, S0, S1, D", "0, 0, 0, S0, D", "S0, D")
    check_scalar("S0, D", "0, D", "D")
    check_scalar("D", "D", "D")


def test_stop_tokens_fall_by_one():
    check_scalar("1, 2, S1, 3, S0, 4, S2, D", *["3, S0, 3, 4, S1, D"] * 2)
    check_scalar("1, S11, 2, S12, S13, D", "1, S10, 2, S11, 0, S12, D", "1, S10, 2, S11, S12, D")


def test_zeros_make_a_sum():
    check_scalar("0, S0, 0.0, S0, 3, -3, S1, D", *["0, 0.0, 0, S0, D"] * 2)
    check_scalar("N, S0, N, 2, S1, D", *["0, 2, S0, D"] * 2)


# n = 1


def test_figure_7_the_columns_of_the_matrix():
    check(
        ["1, S0, 0, 2, S0, 1, 3, S1, D"],
        "1, S0, 2, 3, S0, 4, 5, S1, D",
        ["0, 1, 2, 3, S0, D"],
        "2, 5, 3, 5, S0, D",
    )


def test_vector_after_vector():
    check(
        ["1, S0, 0, 1, S1, 4, S0, S0, 4, S2, D"],
        "5, S0, 6, 7, S1, 8, S0, S0, 9, S2, D",
        ["0, 1, S0, 4, S1, D"],
        "6, 12, S0, 17, S1, D",
    )


def test_one_fiber_only():
    check(["0, 3, S1, D"], "1, 2, S1, D", ["0, 3, S0, D"], "1, 2, S0, D")


@pytest.mark.parametrize("crd", ["S0, 4, S1, D", "4, S0, S0, S1, D", "S0, S0, 4, S1, D"])
def test_empty_fibers_add_nothing_to_a_vector(crd):
    check([crd], crd.replace("4", "7"), ["4, S0, D"], "7, S0, D")


def test_an_empty_vector_is_an_empty_fiber():
    check(["S1, D"], "S1, D", ["S0, D"], "S0, D")
    check(["S0, S0, S1, D"], "S0, S0, S1, D", ["S0, D"], "S0, D")
    check(["S1, 4, S1, S2, D"], "S1, 7, S1, S2, D", ["S0, 4, S0, S1, D"], "S0, 7, S0, S1, D")
    check(["D"], "D", ["D"], "D")


def test_high_stop_levels_of_vectors():
    check(["1, S0, 1, S12, S13, D"], "2, S0, 3, S12, S13, D", ["1, S11, S12, D"], "5, S11, S12, D")


def test_sums_that_cancel_and_empty_tokens_stay_as_points():
    check(["1, S0, 1, 2, S1, D"], "3, S0, -3, 0, S1, D", ["1, 2, S0, D"], "0, 0, S0, D")
    check(["1, 2, S0, 2, S1, D"], "N, N, S0, 4, S1, D", ["1, 2, S0, D"], "0, 4, S0, D")


# n = 2 and 3


def test_matrix():
    check(
        ["0, 2, S0, 0, 1, S1, D", "1, 3, S0, 4, S1, 3, S0, 0, S2, D"],
        "1, 2, S0, 3, S1, 4, S0, 5, S2, D",
        ["0, 1, 2, S0, D", "1, 3, S0, 0, S0, 4, S1, D"],
        "1, 6, S0, 5, S0, 3, S1, D",
    )


def test_matrix_after_matrix():
    check(
        ["0, S1, 1, S0, 1, S2, D", "5, S2, 6, S1, 6, S3, D"],
        "1, S2, 2, S1, 3, S3, D",
        ["0, S0, 1, S1, D", "5, S1, 6, S2, D"],
        "1, S1, 5, S2, D",
    )


def test_outer_coordinates_without_children():
    due = ["0, 2, S0, D", "5, S0, 7, S1, D"], "1, S0, 2, S1, D"
    # 1 has an empty fiber beside another; 1 is alone in its fiber; 1 comes first; 3 comes last.
    check(["0, 1, S0, 2, S1, D", "5, S0, S1, 7, S2, D"], "1, S0, S1, 2, S2, D", *due)
    check(["0, S0, 1, S0, 2, S1, D", "5, S1, S1, 7, S2, D"], "1, S1, S1, 2, S2, D", *due)
    check(["1, S0, 0, S0, 2, S1, D", "S1, 5, S1, 7, S2, D"], "S1, 1, S1, 2, S2, D", *due)
    check(["0, 2, 3, S1, D", "5, S0, 7, S0, S2, D"], "1, S0, 2, S0, S2, D", *due)
    check(["0, 1, 2, S1, D", "5, S0, S0, 7, S2, D"], "1, S0, S0, 2, S2, D", *due)


def test_an_empty_matrix():
    check(["S1, D", "S2, D"], "S2, D", ["S0, D", "S1, D"], "S1, D")
    check(["S0, 4, S0, S1, D", "S1, S1, S2, D"], "S1, S1, S2, D", ["S0, D", "S1, D"], "S1, D")
    check(["D", "D"], "D", ["D", "D"], "D")


def test_three_dimensions():
    check(
        [
            "0, S0, 0, 1, S1, D",
            "2, 3, S1, 3, S0, 0, S2, D",
            "4, S0, 5, S2, 5, 6, S1, 1, S3, D",
        ],
        "1, S0, 2, S2, 3, 4, S1, 5, S3, D",
        ["0, 1, S0, D", "2, 3, S0, 0, S1, D", "4, S0, 5, 6, S1, 1, S2, D"],
        "1, S0, 5, 4, S1, 5, S2, D",
    )


@st.composite
def tensors(draw, depth):
    """A list of (coordinate, child) with distinct coordinates; a leaf is a number."""
    if depth == 0:
        return draw(st.integers(-3, 3))
    coordinates = draw(st.lists(st.integers(0, 3), max_size=3, unique=True))
    return [(c, draw(tensors(depth - 1))) for c in sorted(coordinates)]


def points(tree, n):
    """The points of a tensor of n dimensions, with their values."""
    if n == 0:
        return [((), tree)]
    return [((c, *rest), v) for c, child in tree for rest, v in points(child, n - 1)]


def level(trees, n, k):
    """The nested coordinates of level k of tensors of n dimensions; of the values for k = n."""
    if n == 0:
        return trees
    if k == 0:
        return [c for c, _ in trees]
    return [level(child, n - 1, k - 1) for _, child in trees]


def nest(found, k):
    """The nested coordinates of level k of sorted points."""
    if k == 0:
        return list(dict.fromkeys(point[0] for point, _ in found))
    return [
        nest([(point[1:], v) for point, v in group], k - 1)
        for _, group in groupby(found, lambda entry: entry[0][0])
    ]


@settings(max_examples=examples(200))
@pytest.mark.parametrize("n", [1, 2, 3])
@given(data=st.data())
def test_any_sums(n, data):
    """Sums of sums of random tensors, coordinates without children among them."""
    sums = data.draw(st.lists(st.lists(tensors(n), max_size=3), min_size=1, max_size=3))
    inputs = {
        f"in_crd{k}": to_tokens([[level(t, n, k) for t in terms] for terms in sums], k + 3)
        for k in range(n)
    }
    inputs["in_val"] = to_tokens([[_values(t, n) for t in terms] for terms in sums], n + 2)
    totals = []
    for terms in sums:
        total: dict = {}
        for point, value in (entry for t in terms for entry in points(t, n)):
            total[point] = total.get(point, 0) + value
        totals.append(sorted(total.items()))
    outputs = {f"crd{k}": to_tokens([nest(t, k) for t in totals], k + 2) for k in range(n)}
    outputs["val"] = to_tokens([_nested_values(t, n) for t in totals], n + 1)
    run_block(
        "reducer",
        {"dimensions": n},
        {port: format_stream(tokens) for port, tokens in inputs.items()},
    ).check({port: format_stream(tokens) for port, tokens in outputs.items()})


def _values(tree, n):
    return tree if n == 0 else [_values(child, n - 1) for _, child in tree]


def _nested_values(found, n):
    if n == 1:
        return [value for _, value in found]
    return [
        _nested_values([(point[1:], v) for point, v in group], n - 1)
        for _, group in groupby(found, lambda entry: entry[0][0])
    ]


# Capacity


def test_room_for_as_many_points_as_one_vector_has():
    check(
        ["1, S0, 1, 2, S1, 3, 4, S2, D"],
        "1, S0, 2, 3, S1, 4, 5, S2, D",
        ["1, 2, S0, 3, 4, S1, D"],
        "3, 3, S0, 4, 5, S1, D",
        overrides={"blocks.capacity": 2},
    )


def test_one_point_too_many():
    with pytest.raises(UserError) as error:
        run_block(
            "reducer",
            {"dimensions": 1},
            {"in_crd0": "1, S0, 1, 2, 3, S1, D", "in_val": "1, S0, 2, 3, 4, S1, D"},
            overrides={"blocks.capacity": 2},
        )
    assert str(error.value) == (
        "a reducer of 1 dimension has room for 2 entries, and the sum needs more\n"
        "hint: raise blocks.capacity, or reorder the loops so that the sum is further in"
    )


def test_a_scalar_needs_no_more_than_one_place():
    check_block(
        "reducer",
        {"dimensions": 0, "empty": "zero"},
        {"in_val": "1, 2, 3, S0, D"},
        {"val": "6, D"},
        overrides={"blocks.capacity": 1},
    )


# The published vectors. Theirs takes points without stop tokens; ours takes one fiber per run of
# equal outer coordinates. Not used: the point accumulators (their result is the same points), and
# test_reduce_random_2d, which is skipped there too.


def fibers(points):
    """The points as nested fibers: a new one wherever an outer coordinate changes or repeats."""
    nested: list[tuple[int, list[tuple[int, float]]]] = []
    for outer, inner, value in points:
        if not nested or nested[-1][0] != outer or nested[-1][1][-1][0] >= inner:
            nested.append((outer, []))
        nested[-1][1].append((inner, value))
    return nested


@needs_published
@pytest.mark.parametrize("vector", vectors("test_reduce_direct_nd"))
def test_published_scalar_sums(vector):
    due = stream(vector["gold_val"])
    check_scalar(stream(vector["in_val"]), due, due)


# Several lanes


def lanes(depth, *texts):
    """The inputs of a reducer, of which each lane has its coordinates, outermost first, and values.

    The values are 1 each.
    """
    inputs = {}
    for lane, crds in enumerate(texts):
        inputs |= {f"in_crd{k}_{lane}": text for k, text in enumerate(crds)}
        inputs[f"in_val_{lane}"] = ", ".join(
            token if token[0] in "SD" else "1" for token in crds[-1].split(", ")
        )
    return "reducer", {"dimensions": depth, "ways": len(texts)}, inputs


def test_a_point_of_each_lane_is_taken_in_a_firing():
    """The fibers (1,5), (3) and (1,2,4), and one that is empty; then (7) alone."""
    kind, parameters, inputs = lanes(1, ["1, 5, S0, 3, S1, 7, S2, D"], ["1, 2, 4, S0, S1, S2, D"])
    run = run_block(kind, parameters, inputs)
    run.check({"crd0": "1, 2, 3, 4, 5, S0, 7, S1, D", "val": "2, 1, 1, 1, 1, S0, 1, S1, D"})
    # (1,1), (5,2), (.,4), the ends of both, (3,.), the ends of all, (7,.), the ends, and D.
    assert run.run.blocks["block"].fired == 9


@pytest.mark.parametrize(("empty", "due"), [("zero", "10, 0, S0, 5, D"), ("drop", "10, S0, 5, D")])
def test_a_value_of_each_lane_is_added_in_a_firing(empty, due):
    """(1,2,4) and (3), two fibers that are empty, (5) and nothing."""
    inputs = {"in_val_0": "1, 2, 4, S0, S1, 5, S2, D", "in_val_1": "3, S0, S1, N, S2, D"}
    run = run_block("reducer", {"dimensions": 0, "empty": empty, "ways": 2}, inputs)
    run.check({"val": due.replace("5, D", "5, S1, D")})
    # (1,3), (2,.), (4,.), the sum, S1 with its sum if it has one, (5,N), the sum, S2, D.
    assert run.run.blocks["block"].fired == 9 + (empty == "zero")


def test_the_sum_of_lanes_is_absent_where_all_are_empty():
    check_block(
        "reducer",
        {"dimensions": 0, "empty": "absent", "ways": 2},
        {
            "in_outer": "1, 2, S0, S0, 4, 5, S1, D",
            "in_val_0": "1, 2, S0, S1, S1, S0, S2, D",
            "in_val_1": "3, S0, S1, S1, 3, S0, S2, D",
        },
        {"val": "6, N, S0, S0, 3, N, S1, D"},
    )


def test_lanes_go_from_one_sub_tensor_to_the_next_together():
    """Lane 1 has no third fiber: it waits at its end for that of lane 0."""
    kind, parameters, inputs = lanes(1, ["1, S0, 2, S0, 3, S1, D"], ["2, S0, 3, S1, D"])
    check_block(kind, parameters, inputs, {"crd0": "1, 2, 3, S0, D", "val": "1, 2, 2, S0, D"})


def test_lanes_of_two_dimensions():
    """Lane 0 has a row 0 that is empty, twice; lane 1 has no second matrix."""
    kind, parameters, inputs = lanes(
        2,
        ["0, 1, S0, 0, 2, S1, D", "S0, 5, 6, S1, S0, 4, S2, D"],
        ["1, 2, S1, D", "5, S0, 4, S2, D"],
    )
    due = {"crd0": "1, 2, S0, D", "crd1": "5, 6, S0, 4, S1, D", "val": "2, 1, S0, 2, S1, D"}
    check_block(kind, parameters, inputs, due)


def test_lanes_that_end_differently_are_refused():
    with pytest.raises(StreamError, match="the lanes end their fibers differently"):
        run_block(*lanes(1, ["1, S1, 2, S2, D"], ["1, S2, D"]))
    values = {"in_val_0": "1, S0, D", "in_val_1": "1, S0, 2, S1, D"}
    with pytest.raises(StreamError, match="the lanes end their fibers differently"):
        run_block("reducer", {"dimensions": 0, "empty": "zero", "ways": 2}, values)


@needs_published
@pytest.mark.parametrize("vector", vectors("test_spacc1_direct"))
def test_published_vector_sums(vector):
    """Each outer coordinate has a vector of its own, and keeps it in a stream beside."""
    nested = fibers(zip(*(vector[k][:-1] for k in ("ocrd_in", "icrd_in", "val_in")), strict=True))
    sums = [[rows for _, rows in group] for _, group in groupby(nested, key=lambda fiber: fiber[0])]
    result = run_block(
        "reducer",
        {"dimensions": 1},
        {
            "in_crd0": format_stream(to_tokens([[[c for c, _ in r] for r in s] for s in sums], 3)),
            "in_val": format_stream(to_tokens([[[v for _, v in r] for r in s] for s in sums], 3)),
        },
    )
    result.check({"crd0": stream(vector["icrd_gold"]), "val": stream(vector["val_gold"])})


@needs_published
@pytest.mark.parametrize("vector", vectors("test_spacc2_direct"))
def test_published_matrix_sums(vector):
    """All points are summed in one matrix, each run of outer coordinates a term of its own."""
    nested = fibers(zip(*(vector[k][:-1] for k in ("crd1_in", "crd0_in", "val_in")), strict=True))
    result = run_block(
        "reducer",
        {"dimensions": 2},
        {
            "in_crd0": format_stream(to_tokens([[c] for c, _ in nested], 2)),
            "in_crd1": format_stream(to_tokens([[[c for c, _ in r]] for _, r in nested], 3)),
            "in_val": format_stream(to_tokens([[[v for _, v in r]] for _, r in nested], 3)),
        },
    )
    result.check(
        {
            "crd0": stream(vector["crd1_gold"]),
            "crd1": stream(vector["crd0_gold"]),
            "val": stream(vector["val_gold"]),
        }
    )


def test_a_fiber_that_is_empty_is_absent_where_its_coordinate_is_known():
    check_block(
        "reducer",
        {"dimensions": 0, "empty": "absent"},
        {"in_outer": "1, 2, S0, S0, 4, 5, S1, D", "in_val": "1, 2, S0, S1, S1, 3, S0, S2, D"},
        {"val": "3, N, S0, S0, 3, N, S1, D"},
    )
