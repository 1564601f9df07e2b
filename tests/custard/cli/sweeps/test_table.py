"""The table of a sweep: its columns and rows, as CSV and as Parquet."""

from pathlib import Path

import pytest

from custard.cli.sweeps.points import Point, Results
from custard.cli.sweeps.table import require_own_names, table, to_csv, write
from sam.support.errors import UserError

HEAD = "depth,status,cycles,blocks.reduce.k.busy,error,hash\n"


@pytest.fixture
def results(tmp_path):
    """Three points: one done, one failed, one not run."""
    results = Results(tmp_path, {})
    points = [Point({"n": n}, {"depth": depth}) for n, depth in enumerate([2, 4, "unbounded"])]
    blocks = {"reduce.k": {"busy": 5, "starved": {}}, "scan": {"busy": 1}}
    times = {"seconds": 1.5, "peak_memory_bytes": 3}
    record = {"cycles": 10, "bottleneck": None, "blocks": blocks}
    results.write(points[0], {"status": "done", "record": record, **times})
    results.write(points[1], {"status": "failed", "error": "no, sir\nhint: yes", **times})
    return points, results


def test_each_point_is_a_row(results):
    points, kept = results
    text = to_csv(table(points, kept, ["cycles", "blocks.reduce.k.busy"]))
    assert text == HEAD + (
        f"2,done,10,5,,{points[0].hash}\n"
        f'4,failed,,,"no, sir",{points[1].hash}\n'
        f"unbounded,not run,,,,{points[2].hash}\n"
    )


def test_times_are_columns_on_request(results):
    columns = table(*results, ["cycles"], times=True)
    assert columns["seconds"] == [1.5, 1.5, None]
    assert columns["peak_memory_bytes"] == [3, 3, None]
    assert "seconds" not in table(*results, ["cycles"])


def test_a_null_metric_is_still_a_metric(results):
    assert table(*results, ["bottleneck"])["bottleneck"] == [None, None, None]


def test_metrics_must_be_in_some_run(results):
    with pytest.raises(UserError) as refusal:
        table(*results, ["blocks.scan.bussy"])
    assert str(refusal.value) == (
        "no run has the metric blocks.scan.bussy\nhint: did you mean blocks.scan.busy?"
    )
    points, kept = results
    assert table(points[1:], kept, ["anything"])["anything"] == [None, None]


def test_lists_and_sections_are_text(tmp_path):
    axes = {"schedule": ["reorder(i,j)", "locate(x,j)"], "set.queues.kinds": {"crd": {"depth": 2}}}
    columns = table([Point({}, axes)], Results(tmp_path, {}), [])
    assert columns["schedule"] == ["reorder(i,j); locate(x,j)"]
    assert columns["set.queues.kinds"] == ['{"crd": {"depth": 2}}']


def test_labels_have_names_of_their_own():
    require_own_names(["order"], ["cycles"])
    for name in ("cycles", "error", "seconds"):
        with pytest.raises(UserError, match=f"a column of the table is called {name}"):
            require_own_names([name], ["cycles"])


def test_files_by_suffix(results, tmp_path):
    columns = table(*results, ["cycles", "blocks.reduce.k.busy"])
    write(tmp_path / "t.csv", columns)
    assert (tmp_path / "t.csv").read_text().startswith(HEAD)
    with pytest.raises(UserError) as refusal:
        write(Path("t.xls"), columns)
    assert (
        str(refusal.value)
        == "the suffix of t.xls is not that of a table\nhint: one of .csv, .parquet"
    )


def test_parquet(results, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = table(*results, ["cycles"])
    write(tmp_path / "t.parquet", columns)
    found = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert found == {**columns, "depth": ["2", "4", "unbounded"]}


def test_parquet_without_pyarrow(results, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UserError) as refusal:
        write(tmp_path / "t.parquet", table(*results, []))
    assert str(refusal.value) == (
        "Parquet needs the package pyarrow\n"
        'hint: pip install "sparse-abstract-machine[parquet]", or write .csv'
    )
