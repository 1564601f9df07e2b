"""Plots of a table: what they show, and what cannot be drawn."""

import pytest

from custard.cli.sweeps.drawing import figure_of
from custard.cli.sweeps.pictures import styled
from custard.cli.sweeps.plots import Plot, draw
from custard.cli.sweeps.selection import select
from sam.support.errors import UserError
from sam.support.yaml_sections import validated

TABLE = {
    "order": ["ijk", "ijk", "ikj", "ikj", "ikj"],
    "set.queues.depth": [2, 4, 2, 4, 8],
    "status": ["done", "done", "done", "done", "failed"],
    "cycles": [30, 20, 15, 12, None],
    "error": [None, None, None, None, "over the limit of 2 seconds"],
}
AXES = ["order", "set.queues.depth"]


def _plot(**settings) -> Plot:
    return validated(Plot, settings, "plot")


@pytest.mark.parametrize(
    ("name", "start"), [("p.png", b"\x89PNG"), ("p.pdf", b"%PDF"), ("p.svg", b"<?xml")]
)
def test_pictures_are_the_same_each_time(tmp_path, name, start):
    plot = _plot(x="set.queues.depth", log=["x", "y"])
    pictures = []
    for _ in range(2):
        draw(plot, TABLE, AXES, tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0].startswith(start)
    assert pictures[0] == pictures[1]


def _drawn(plot, tmp_path) -> str:
    """The text of the picture, which the comments of the SVG have."""
    draw(plot, TABLE, AXES, tmp_path / "p.svg")
    return (tmp_path / "p.svg").read_text()


def test_a_line_for_each_value_of_the_other_axes(tmp_path):
    drawn = _drawn(_plot(x="set.queues.depth", y_label="time"), tmp_path)
    for text in ("ijk", "ikj", "queues.depth (tokens)", "time"):
        assert f"<!-- {text} -->" in drawn


def test_the_legend_names_the_columns_of_numbers(tmp_path):
    drawn = _drawn(_plot(x="cycles", series=["order", "set.queues.depth"]), tmp_path)
    assert "<!-- ijk, depth = 4 -->" in drawn


def test_a_column_stands_for_the_list_of_it():
    plot = _plot(x="cycles", series="order", log="y")
    assert plot.series == ["order"]
    assert plot.log == ["y"]


def test_words_on_an_axis_keep_the_order_of_the_table(tmp_path):
    drawn = _drawn(_plot(x="order"), tmp_path)
    assert drawn.index("<!-- ijk -->") < drawn.index("<!-- ikj -->")


def test_a_pareto_plot_has_its_front(tmp_path):
    drawn = _drawn(_plot(kind="pareto", x="set.queues.depth"), tmp_path)
    assert "<!-- Pareto front -->" in drawn


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": "dept"}, "the table has no column dept\nhint: one of order, set.queues.depth, "
         "status, cycles, error"),
        ({"x": "order", "y": "status"},
         "the column status cannot be plotted: done is not a number"),
        ({"x": "order", "kind": "pareto"},
         "the column order cannot be plotted: ijk is not a number"),
        ({"x": "order", "log": ["x"]},
         "order cannot be on a logarithmic axis: it has no numbers\nhint: leave x out of log"),
        ({"x": "set.queues.depth", "series": []},
         "two points of a line have the same set.queues.depth\nhint: name more axes in series"),
    ],
)  # fmt: skip
def test_plots_that_cannot_be_drawn_are_mistakes(tmp_path, settings, message):
    with pytest.raises(UserError) as refusal:
        draw(_plot(**settings), TABLE, AXES, tmp_path / "p.png")
    assert str(refusal.value) == message
    assert not (tmp_path / "p.png").exists()


BARS = {
    "matrix": [f"a matrix with a long name {n}" for n in range(6) for _ in "ab"],
    "order": ["ijk", "ikj"] * 6,
    "status": ["done"] * 11 + ["failed"],
    "cycles": [n + 1 + 50 * (n % 2) for n in range(11)] + [None],
    "error": [None] * 11 + ["deadlock after cycle 9: 3 blocks wait for each other"],
}


def _texts(settings, tmp_path):
    draw(_plot(**settings), BARS, ["matrix", "order"], tmp_path / "b.svg")
    return (tmp_path / "b.svg").read_text()


def test_bars_with_a_baseline_and_a_mean(tmp_path):
    settings = {"kind": "bar", "x": "matrix", "baseline": {"order": "ijk"}, "mean": "matrix"}
    drawn = _texts(settings, tmp_path)
    for text in (
        *("ijk", "ikj", "geomean", "cycles, relative to ijk", "a matrix with a long name 3"),
        "failed: a matrix with a long name 5, ikj (deadlock after cycle 9)",
    ):
        assert f"<!-- {text} -->" in drawn
    drawn = _texts({**settings, "inverse": True, "log": ["y"]}, tmp_path)
    assert "<!-- speedup over ijk -->" in drawn
    drawn = _texts({**settings, "inverse": True, "y_label": "gain"}, tmp_path)
    assert "<!-- gain -->" in drawn


def test_panels_share_y(tmp_path):
    from matplotlib.figure import Figure

    for kind in ("bar", "line"):
        plot = _plot(kind=kind, x="matrix", facets="order")
        figure = figure_of(Figure, plot, select(plot, BARS, ["matrix", "order"]))
        panels = figure.get_axes()
        assert [panel.get_title() for panel in panels] == ["ijk", "ikj"]
        for panel in panels:
            low, high = panel.get_ylim()
            assert low == 0
            assert high > 60
        assert [panel.get_ylabel() for panel in panels] == ["cycles", ""]


def test_a_long_legend_hides_no_data(tmp_path):
    from matplotlib.figure import Figure

    for settings, outside in (({"series": ["order"]}, False), ({"series": ["matrix"]}, True)):
        plot = _plot(x="cycles", y="cycles", **settings)
        figure = figure_of(Figure, plot, select(plot, BARS, ["matrix", "order"]))
        [panel] = figure.get_axes()
        assert (panel.get_legend() is None) == outside
        if outside:
            figure.draw_without_rendering()
            [legend] = figure.legends
            assert legend.get_window_extent().y0 >= panel.get_window_extent().y1
            assert figure.bbox.contains(*legend.get_window_extent().max)


def test_no_text_is_wider_than_its_place():
    """Names of 60 letters in titles, in the legend and at ticks."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    names = [f"the {n}th of many names, each of about sixty letters in all" for n in range(3)]
    table = {
        "matrix": [name for name in names for _ in "abc"],
        "order": [name.replace("many", "the other") for name in names] * 3,
        "status": ["done"] * 9,
        "cycles": [*range(1, 10)],
        "error": [None] * 9,
    }
    for settings in (
        {"x": "cycles", "facets": "matrix"},
        {"x": "cycles", "series": "matrix"},
        {"x": "order", "kind": "bar"},
        {"x": "order", "kind": "bar", "mean": "matrix"},
    ):
        plot = _plot(**settings)
        figure = figure_of(Figure, plot, select(plot, table, ["matrix", "order"]))
        figure.draw_without_rendering()
        for text in figure.findobj(Text):
            if any(map(str.isalpha, text.get_text())):  # numbers of ticks may be out of sight
                box = text.get_window_extent()
                assert box.x0 >= 0, text
                assert box.x1 <= figure.bbox.x1, text
        for axes in figure.get_axes():
            assert axes.get_window_extent().height > figure.dpi, settings


def test_words_stand_a_step_behind_the_numbers_of_a_logarithmic_axis():
    """From 1 to 16 are two steps of two doublings each; 2 is a quarter of the way."""
    table = {
        "depth": ["unbounded", 1, 2, 16],
        "status": ["done"] * 4,
        "cycles": [3, 9, 7, 4],
        "error": [None] * 4,
    }
    plot = _plot(x="depth", log=["x", "y"])
    with styled() as make:
        [axes] = figure_of(make, plot, select(plot, table, ["depth"])).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "16", "unbounded"]
    assert axes.get_xticks() == pytest.approx([0, 0.5, 2, 3])
    assert axes.lines[0].get_xdata() == pytest.approx([0, 0.5, 2, 3])
    assert [*axes.lines[0].get_ydata()] == [9, 7, 4, 3]


def test_the_axis_of_a_mean_says_so(tmp_path):
    settings = {"kind": "bar", "x": "order", "mean": "matrix"}
    drawn = _texts(settings, tmp_path)
    assert "geometric mean over matrix" in drawn
    assert "the geometric mean is without a matrix with a long name 5" in " ".join(drawn.split())


def test_too_many_panels(tmp_path):
    many = {"n": list(range(30)), "cycles": [1] * 30, "status": ["done"] * 30, "error": [None] * 30}
    with pytest.raises(UserError) as refusal:
        draw(_plot(x="cycles", facets="n"), many, ["n"], tmp_path / "p.png")
    assert (
        str(refusal.value) == "n has 30 values; 24 panels are the most\nhint: choose some by where"
    )


def test_nothing_to_draw(tmp_path):
    nothing = {**TABLE, "status": ["failed"] * 5, "error": ["no"] * 5}
    with pytest.raises(UserError, match="no point is done: there is nothing to plot"):
        draw(_plot(x="order"), nothing, AXES, tmp_path / "p.png")
    with pytest.raises(UserError) as refusal:
        draw(_plot(x="order"), TABLE, AXES, tmp_path / "p.jpg")
    assert str(refusal.value) == (
        "the suffix of p.jpg is not that of a picture\nhint: one of .png, .pdf, .svg"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": "a", "kind": "bars"}, 'plot: kind is "bars"; it must be line or bar or pareto'),
        ({"x": "a", "log": ["z"]}, 'plot: log is ["z"]; it must be x, y or a list of them'),
        ({"x": "a", "sery": []}, 'plot: unknown key "sery"\nhint: did you mean series?'),
        ({"x": 3}, "plot: x is 3; it must be text"),
        (
            {"x": "a", "where": ["b"]},
            'plot: where is ["b"]; it must be a section of keys and values',
        ),
        (
            {"x": "a", "where": {"b": []}},
            "plot: where.b is []; it must be a value of the column, or a list of them",
        ),
        (
            {"x": "a", "baseline": {"b": [1]}},
            "plot: baseline.b is [1]; it must be a value of the column",
        ),
        ({"x": "a", "inverse": 1}, "plot: inverse is 1; it must be true or false"),
        ({}, "plot: x is missing"),
    ],
)
def test_settings_that_no_plot_has(settings, message):
    with pytest.raises(UserError) as refusal:
        _plot(**settings)
    assert str(refusal.value) == message
