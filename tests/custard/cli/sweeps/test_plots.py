"""Plots of a table: which points are on the front, what the axes say, and what cannot be drawn."""

import pytest

from custard.cli.sweeps.plots import Plot, draw, front, label
from sam.support.errors import UserError
from sam.support.yaml_sections import validated

TABLE = {
    "order": ["ijk", "ijk", "ikj", "ikj", "ikj"],
    "set.queues.depth": [2, 4, 2, 4, 8],
    "status": ["done", "done", "done", "done", "failed"],
    "cycles": [30, 20, 15, 12, None],
}
AXES = ["order", "set.queues.depth"]


def _plot(**settings) -> Plot:
    return validated(Plot, settings, "plot")


def test_the_front_has_what_no_other_point_beats():
    points = [(4, 9), (2, 9), (1, 12), (3, 7), (3, 8), (5, 7), (6, 1), (1, 12), (1, 13)]
    assert front(points) == [(1, 12), (2, 9), (3, 7), (6, 1)]
    assert front([]) == []


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("cycles", "cycles"),
        ("set.queues.depth", "queues.depth (tokens)"),
        ("set.blocks.kinds.reducer.latency_cycles", "blocks.kinds.reducer.latency (cycles)"),
        ("peak_memory_bytes", "peak memory (bytes)"),
        ("blocks.scan_B_i.busy", "blocks.scan B i.busy (cycles)"),
        ("dataflow", "dataflow"),
    ],
)
def test_axes_have_units(column, text):
    assert label(column) == text


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


def test_the_legend_names_the_columns_where_there_are_several(tmp_path):
    drawn = _drawn(_plot(x="cycles", series=["order", "set.queues.depth"]), tmp_path)
    assert "<!-- order = ijk, depth = 4 -->" in drawn


def test_words_stand_in_their_order(tmp_path):
    drawn = _drawn(_plot(x="order"), tmp_path)
    assert drawn.index("<!-- ijk -->") < drawn.index("<!-- ikj -->")


def test_a_pareto_plot_has_its_front(tmp_path):
    drawn = _drawn(_plot(kind="pareto", x="set.queues.depth"), tmp_path)
    assert "<!-- Pareto front -->" in drawn


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": "dept"}, "the table has no column dept\nhint: one of order, set.queues.depth, "
         "status, cycles"),
        ({"x": "order", "y": "status"},
         "the column status cannot be plotted: done is no number"),
        ({"x": "order", "kind": "pareto"},
         "the column order cannot be plotted: ijk is no number"),
        ({"x": "order", "log": ["x"]}, "the column order cannot be plotted: ijk is no number"),
        ({"x": "set.queues.depth", "series": []},
         "two points of a line have the same set.queues.depth\nhint: name more axes in series"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(tmp_path, settings, message):
    with pytest.raises(UserError) as refusal:
        draw(_plot(**settings), TABLE, AXES, tmp_path / "p.png")
    assert str(refusal.value) == message
    assert not (tmp_path / "p.png").exists()


def test_nothing_to_draw(tmp_path):
    nothing = {**TABLE, "status": ["failed"] * 5}
    with pytest.raises(UserError, match="no point is done: there is nothing to plot"):
        draw(_plot(x="order"), nothing, AXES, tmp_path / "p.png")
    with pytest.raises(UserError) as refusal:
        draw(_plot(x="order"), TABLE, AXES, tmp_path / "p.jpg")
    assert str(refusal.value) == (
        "the suffix of p.jpg tells no picture\nhint: one of .png, .pdf, .svg"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": "a", "kind": "bars"}, 'plot: kind is "bars"; it must be line or pareto'),
        ({"x": "a", "log": ["z"]}, 'plot: log is ["z"]; it must be a list of x and y'),
        ({"x": "a", "sery": []}, 'plot: unknown key "sery"\nhint: did you mean series?'),
        ({"x": 3}, "plot: x is 3; it must be text"),
        ({}, "plot: x is missing"),
    ],
)
def test_settings_that_no_plot_has(settings, message):
    with pytest.raises(UserError) as refusal:
        _plot(**settings)
    assert str(refusal.value) == message
