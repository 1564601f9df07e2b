"""The content of plots: rows, ratios, means, panels and series; values worked out by hand."""

import pytest

from custard.cli.sweeps.plots import Plot
from custard.cli.sweeps.selection import select
from sam.support.errors import UserError
from sam.support.yaml_sections import validated

# Two matrices, two orders, two depths. The file goes with the matrix, the schedule with the order.
ROWS = [
    ("small", "s.mtx", "ikj", "reorder(i,k,j)", 2, 40),
    ("small", "s.mtx", "ikj", "reorder(i,k,j)", 4, 10),
    ("small", "s.mtx", "ijk", "reorder(i,j,k)", 2, 80),
    ("small", "s.mtx", "ijk", "reorder(i,j,k)", 4, 90),
    ("large", "l.mtx", "ikj", "reorder(i,k,j)", 2, 100),
    ("large", "l.mtx", "ikj", "reorder(i,k,j)", 4, 100),
    ("large", "l.mtx", "ijk", "reorder(i,j,k)", 2, 800),
    ("large", "l.mtx", "ijk", "reorder(i,j,k)", 4, 400),
]
AXES = ["matrix", "inputs.B", "order", "schedule", "set.depth"]


def _table(changed=()):
    """The table, with other cycles in some rows, or an error."""
    columns = {name: [row[n] for row in ROWS] for n, name in enumerate([*AXES, "cycles"])}
    columns["status"] = ["done"] * len(ROWS)
    columns["error"] = [None] * len(ROWS)
    for n, value in dict(changed).items():
        if isinstance(value, str):
            columns["status"][n] = "failed" if value else "not run"
            columns["error"][n] = value or None
            value = None
        columns["cycles"][n] = value
    return columns


def _select(changed=(), **settings):
    return select(validated(Plot, settings, "plot"), _table(changed), AXES)


_near = pytest.approx


def _series(selection):
    """By panel, by series, the points."""
    return {panel.title: panel.series for panel in selection.panels}


def test_series_are_the_axes_that_nothing_else_tells():
    [panel] = _select(x="set.depth").panels
    assert panel.series == {
        "small, ikj": [(2, 40), (4, 10)],
        "small, ijk": [(2, 80), (4, 90)],
        "large, ikj": [(2, 100), (4, 100)],
        "large, ijk": [(2, 800), (4, 400)],
    }
    [panel] = _select(x="matrix", kind="bar", where={"set.depth": 2}).panels
    assert panel.series == {
        "ikj": [("small", 40), ("large", 100)],
        "ijk": [("small", 80), ("large", 800)],
    }
    [panel] = _select(x="cycles", kind="pareto", y="set.depth").panels
    assert list(panel.series) == [""]


def test_facets_are_panels():
    found = _series(_select(x="set.depth", facets="matrix"))
    assert found["large"] == {"ikj": [(2, 100), (4, 100)], "ijk": [(2, 800), (4, 400)]}
    assert list(found) == ["small", "large"]
    assert list(_series(_select(x="order", facets="set.depth"))) == ["depth = 2", "depth = 4"]


def test_where_has_one_value_or_several():
    found = _series(_select(x="set.depth", where={"matrix": "small", "order": ["ijk", "ikj"]}))
    assert found == {"": {"ikj": [(2, 40), (4, 10)], "ijk": [(2, 80), (4, 90)]}}


def test_ratios_are_to_the_row_that_is_equal_otherwise():
    settings = {"x": "set.depth", "baseline": {"order": "ijk"}, "facets": "matrix"}
    assert _series(_select(**settings)) == {
        "small": {"ikj": [(2, 40 / 80), (4, 10 / 90)], "ijk": [(2, 1), (4, 1)]},
        "large": {"ikj": [(2, 100 / 800), (4, 100 / 400)], "ijk": [(2, 1), (4, 1)]},
    }
    found = _series(_select(**settings, inverse=True, where={"order": "ikj"}))
    assert found == {
        "small": {"": [(2, 2), (4, 9)]},
        "large": {"": [(2, 8), (4, 4)]},
    }
    both = {"order": "ijk", "set.depth": 4}
    found = _series(_select(x="set.depth", baseline=both, where={"matrix": "large"}))
    assert found == {"": {"ikj": [(2, 0.25), (4, 0.25)], "ijk": [(2, 2), (4, 1)]}}


def test_a_mean_over_x_is_one_more_place():
    found = _select(kind="bar", x="matrix", mean="matrix", where={"set.depth": 2})
    [panel] = found.panels
    # sqrt(40 * 100) and sqrt(80 * 800)
    assert panel.series["ikj"] == [
        ("small", 40),
        ("large", 100),
        ("geomean", _near(63.2456)),
    ]
    assert panel.series["ijk"][-1] == ("geomean", _near(252.982))
    assert panel.values == ["small", "large", "geomean"]
    assert found.notes == []


def test_a_mean_over_another_column_removes_the_column():
    # speedups: small 2 and 9, large 8 and 4
    found = _select(x="set.depth", mean="matrix", baseline={"order": "ijk"}, inverse=True)
    assert _series(found) == {"": {"ikj": [(2, _near(4)), (4, _near(6))], "ijk": [(2, 1), (4, 1)]}}


def test_means_are_taken_over_values_that_all_groups_have():
    failed = {7: "deadlock after cycle 9: 3 blocks wait"}
    found = _select(failed, x="set.depth", mean="matrix", series=["order"])
    assert _series(found) == {
        "": {"ikj": [(2, _near(40)), (4, _near(10))], "ijk": [(2, _near(80)), (4, _near(90))]}
    }
    assert found.notes == [
        "failed: large, ijk, depth = 4 (deadlock after cycle 9)",
        "the geometric mean is without large",
    ]
    settings = {"kind": "bar", "x": "matrix", "mean": "matrix", "facets": "set.depth"}
    found = _select(failed, **settings)
    assert _series(found)["depth = 4"] == {
        "ikj": [("small", 10), ("large", 100), ("geomean", _near(10))],
        "ijk": [("small", 90), ("geomean", _near(90))],
    }
    assert found.notes[1] == "depth = 4: the geometric mean is without large"


def test_missing_points_are_noted():
    changed = {0: "over the limit of 5 seconds", 2: "no", 3: "no", 4: "no, " + "x" * 90, 5: ""}
    found = _select(changed, x="set.depth", baseline={"order": "ijk"})
    assert found.notes == [
        "failed: small, ikj, depth = 2 (over the limit of 5 seconds); small, ijk, depth = 2, and "
        "2 more alike (no)",
        "1 of 8 points are not run",
        "no baseline for: small, ikj, depth = 4",
    ]
    assert _series(found) == {"": {"large, ijk": [(2, 1), (4, 1)]}}


def test_words_of_keys_in_a_section_come_with_the_name_of_the_key():
    table = _table({0: "no"})
    table["set.depth"] = ["unbounded" if depth == 2 else depth for depth in table["set.depth"]]
    found = select(validated(Plot, {"x": "matrix"}, "plot"), table, AXES)
    assert found.notes == ["failed: small, ikj, depth = unbounded (no)"]
    assert [*found.panels[0].series][:2] == ["ikj, depth = 4", "ijk, depth = unbounded"]


def test_values_of_x_stand_in_order_also_where_points_failed():
    table = _table({0: "no", 2: "no", 4: "no", 6: "no"})
    table["set.depth"] = ["unbounded" if depth == 2 else depth for depth in table["set.depth"]]
    [panel] = select(validated(Plot, {"x": "set.depth"}, "plot"), table, AXES).panels
    assert panel.values == [4, "unbounded"]


def test_points_that_failed_have_no_place_where_x_is_a_metric():
    [panel] = _select({0: "no", 6: "no"}, kind="pareto", x="cycles", y="set.depth").panels
    assert panel.values == [10, 80, 90, 100, 400]


def test_series_stand_in_the_order_of_the_table_also_where_points_failed():
    found = _select({0: "no", 4: "no"}, x="matrix", kind="bar", where={"order": "ikj"})
    assert found.names == ["depth = 4"]
    found = _select({0: "no", 2: "no", 3: "no"}, x="order", kind="bar", facets="matrix")
    assert found.names == ["depth = 2", "depth = 4"]
    assert [[*panel.series] for panel in found.panels] == [
        ["depth = 4"],
        ["depth = 2", "depth = 4"],
    ]


def test_a_logarithmic_axis_has_places_for_words_beside_numbers():
    table = _table()
    table["set.depth"] = ["unbounded" if depth == 4 else depth for depth in table["set.depth"]]
    settings = {"x": "set.depth", "log": ["x", "y"], "baseline": {"set.depth": "unbounded"}}
    [panel] = select(validated(Plot, settings, "plot"), table, AXES).panels
    assert panel.values == [2, "unbounded"]
    assert panel.series["small, ikj"] == [(2, 4), ("unbounded", 1)]
    table["set.depth"] = [0 if depth == 2 else depth for depth in table["set.depth"]]
    with pytest.raises(UserError, match="axis: 0 is not positive"):
        select(validated(Plot, settings, "plot"), table, AXES)


def test_a_point_without_the_metric_is_told():
    table = _table()
    table["cycles"][3] = None
    with pytest.raises(UserError) as refusal:
        select(validated(Plot, {"x": "set.depth"}, "plot"), table, AXES)
    assert str(refusal.value) == (
        "the column cycles cannot be plotted: a point has none\nhint: choose other points by where"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"where": {"matrx": "small"}},
         "the table has no column matrx\nhint: did you mean matrix?"),
        ({"where": {"matrix": ["small", "larg"]}},
         "no point has matrix = larg\nhint: did you mean large?"),
        ({"where": {"set.depth": "2"}}, "no point has set.depth = 2\nhint: did you mean 2?"),
        ({"facets": "matr"}, "the table has no column matr\nhint: did you mean matrix?"),
        ({"baseline": {"order": "kij"}}, "no point has order = kij\nhint: did you mean ikj?"),
        ({"inverse": True},
         "inverse needs a ratio to a baseline\nhint: as in baseline: {order: ikj}"),
        ({"mean": "set.depth"},
         "the mean over set.depth needs a plot of bars\nhint: kind: bar"),
        ({"mean": "order", "series": []},
         "two points of a mean have the same order\nhint: name more axes in series"),
        ({"kind": "bar", "series": []},
         "two points of a bar have the same set.depth\nhint: name more axes in series"),
    ],
)  # fmt: skip
def test_mistakes(settings, message):
    with pytest.raises(UserError) as refusal:
        _select(x="set.depth", **settings)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("changed", "settings", "message"),
    [
        ({0: 0}, {"mean": "matrix"}, "cycles has no geometric mean: 0 is not positive"),
        ({0: 0}, {"log": ["y"]}, "cycles cannot be on a logarithmic axis: 0 is not positive"),
        ({2: 0}, {"baseline": {"order": "ijk"}}, "a ratio to ijk divides by 0: cycles is 0"),
        ({2: "no", 3: "no", 6: "no", 7: "no"}, {"baseline": {"order": "ijk"}},
         "no point has a baseline ijk that is done"),
        ({0: "no", 6: "no"}, {"mean": "matrix"},
         "no matrix has all points that the geometric mean needs"),
        (dict.fromkeys(range(8), "no"), {},
         "no point is done: there is nothing to plot\nhint: --table tells their errors"),
    ],
)  # fmt: skip
def test_values_that_make_no_plot(changed, settings, message):
    with pytest.raises(UserError) as refusal:
        _select(changed, x="set.depth", **settings)
    assert str(refusal.value) == message
