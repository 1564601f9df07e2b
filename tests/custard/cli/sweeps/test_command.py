"""The commands sweep and report: their output, files and exit status."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from custard.cli.command import main

SWEEP = """\
expression: y(i) = a(i) * b(i)
inputs: {a: "@random(0.5)", b: "@dense"}
grid:
  dims: {i: [4, 6]}
  schedule: [reorder(i), "reorder(i,i)"]
plots:
  line.png: {x: dims.i}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An own folder with a sweep in it: of its four points two fail."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SWEEP)
    return tmp_path


def _results(folder=Path("s")):
    return {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def test_points_are_run_once_and_told(folder, capsys):
    assert main(["sweep", "s.yaml", "--jobs", "2"]) == 1
    out, err = capsys.readouterr()
    assert out == "4 points: 2 done, 2 failed; 4 ran; results in s\n"
    # On a slow machine there are lines of progress besides.
    assert [line for line in err.splitlines() if line.startswith("custard: ")] == [
        "custard: dims.i=4, schedule=reorder(i,i), and 1 more alike: reorder names i twice",
    ]
    assert err.endswith("twice\n  reorder(i,i)\n            ^\nhint: name each loop once\n")
    first = _results()
    assert main(["sweep", "s.yaml"]) == 1
    assert _results() == first
    assert capsys.readouterr().out == "4 points: 2 done, 2 failed; 4 were there; results in s\n"
    assert main(["sweep", "s.yaml", "--retry"]) == 1
    assert capsys.readouterr().out == (
        "4 points: 2 done, 2 failed; 2 ran, 2 were there; results in s\n"
    )
    assert sum(first[path] == when for path, when in _results().items()) == 2

    capsys.readouterr()
    assert main(["sweep", "--table", "s.yaml"]) == 0
    table = capsys.readouterr().out
    rows = list(csv.reader(table.splitlines()))
    assert rows[0] == [
        *("dims.i", "schedule", "status", "cycles", "bottleneck", "result.nnz"),
        *("error", "hash"),
    ]
    assert [row[:3] for row in rows[1:]] == [
        ["4", "reorder(i)", "done"],
        ["4", "reorder(i,i)", "failed"],
        ["6", "reorder(i)", "done"],
        ["6", "reorder(i,i)", "failed"],
    ]
    assert [row[5] for row in rows[1:]] == ["2", "", "3", ""]
    for path in first:
        path.unlink()
    assert main(["sweep", "s.yaml"]) == 1
    capsys.readouterr()
    assert main(["sweep", "s.yaml", "--table"]) == 0
    assert capsys.readouterr().out == table

    assert main(["sweep", "s.yaml", "--table", "--times", "-o", "t.csv", "--plot"]) == 0
    assert capsys.readouterr().out == "s/line.png is drawn\n"
    assert "seconds,peak_memory_bytes" in Path("t.csv").read_text()
    assert Path("s/line.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_is_that_of_the_run(folder, capsys):
    Path("s.yaml").write_text(SWEEP)
    assert main(["sweep", "s.yaml"]) == 1
    capsys.readouterr()
    given = ["y(i) = a(i) * b(i)", "-i", "a=@random(0.5)", "-i", "b=@dense", "--dims", "i=6"]
    assert main([*given, "-s", "reorder(i)", "--json", "run.json"]) == 0
    run = capsys.readouterr().out
    assert main(["report", "run.json"]) == 0
    assert capsys.readouterr().out == run
    for path in _results():
        found = json.loads(path.read_text())
        status = main(["report", str(path)])
        out, err = capsys.readouterr()
        if found["status"] == "failed":
            assert (status, out) == (1, "")
            assert err.startswith("custard: reorder names i twice\n")
        elif found["point"]["dims"] == {"i": 6}:
            assert status == 0
            seconds = r"\d+\.\d\d s to simulate"
            assert re.sub(seconds, "", out) == re.sub(seconds, "", run)


def test_reports_of_programs_and_of_wrong_results(folder, capsys, monkeypatch):
    assert main(["y(i) = a(i)", "--json", "c.json"]) == 0
    compiled = capsys.readouterr().out
    assert main(["report", "c.json"]) == 0
    assert capsys.readouterr().out == compiled
    told = ["y(i) = a(i)", "-i", "a=@dense", "--dims", "i=2", "--check", "--json", "w.json"]
    monkeypatch.setattr("custard.dense_evaluator.first_difference", lambda *_: "it is wrong")
    assert main(told) == 1
    wrong = capsys.readouterr()
    assert main(["report", "w.json"]) == 1
    assert capsys.readouterr() == wrong


def test_shards_make_the_whole(folder, capsys):
    counts = []
    for number in "123":
        main(["sweep", "s.yaml", "--shard", f"{number}/3", "--jobs", "1"])
        counts.append(capsys.readouterr().out.splitlines()[-1].split()[0])
    assert counts == ["2", "1", "1"]
    before = _results()
    assert len(before) == 4
    main(["sweep", "s.yaml"])
    assert _results() == before


def test_ctrl_c_keeps_what_is_done(folder):
    Path("s.yaml").write_text(
        "expression: y(i) = A(i,j) * x(j)\n"
        'inputs: {A: "@random(0.3)", x: "@dense"}\n'
        "dims: {i: 100, j: 100}\n"
        "engine: simpy\n"
        f"grid: {{seed: {list(range(40))}}}\n"
    )
    command = "import sys; from custard.cli.command import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "sweep", "s.yaml", "--jobs", "2"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 20
    while not _results() and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    done = len(_results())
    assert 1 <= done < 40
    assert out == f"40 points: {done} done, {40 - done} not run; {done} ran; results in s\n"
    assert err == "custard: interrupted; custard sweep s.yaml runs the rest\n"


def test_a_dask_cluster(folder, capsys):
    pytest.importorskip("distributed")
    assert main(["sweep", "s.yaml", "--dask", "nowhere:at-all"]) == 2
    assert capsys.readouterr().err == "custard: no Dask scheduler answers at nowhere:at-all\n"


def test_interrupted_before_any_point_is_done(folder, capsys, monkeypatch):
    monkeypatch.setattr("custard.cli.sweeps.workers._PointWorker.__init__", _interrupt)
    assert main(["sweep", "s.yaml"]) == 130
    assert capsys.readouterr().out == "4 points: 4 not run; results in s\n"


def _interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["sweep"],
            "the following arguments are required: SWEEP.yaml\n"
            "hint: custard sweep --help lists the options",
        ),
        (["sweep", "s.yaml", "--tabel"], "there is no option --tabel\nhint: did you mean --table?"),
        (["sweep", "s.yaml", "t.yaml"], "t.yaml is one argument too many"),
        (
            ["sweep", "s.yaml", "--jobs", "two"],
            'argument --jobs: "two" is not a whole number of at least 0\n'
            "hint: custard sweep --help lists the options",
        ),
        (["sweep", "s.yaml", "-o", "t.csv"], "-o and --times are for a table\nhint: add --table"),
        (
            ["sweep", "s.yaml", "--table", "-o", "t.txt"],
            "the suffix of t.txt is not that of a table\nhint: one of .csv, .parquet",
        ),
        (
            ["sweep", "s.yaml", "--shard", "5/4"],
            '"5/4" is not a shard\nhint: I/N with I from 1 to N, as in 1/4',
        ),
        (
            ["sweep", "s.yaml", "--plot"],
            "line.png: no point is done: there is nothing to plot\n"
            "hint: custard sweep without --plot runs them",
        ),
        (["report", "no.json"], "cannot read no.json: No such file or directory"),
        (
            ["report", "s.yaml"],
            "s.yaml is not JSON: expecting value in line 1\n  expression: y(i) = a(i) * b(i)\n  ^",
        ),
        (["sweeep"], "there is no command sweeep\nhint: did you mean sweep?"),
        (["configs", "finite"], "finite is one argument too many"),
    ],
)
def test_mistakes(folder, capsys, arguments, message):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"custard: {message}\n"


def test_a_bad_plot_does_not_stop_the_others(folder, capsys):
    Path("s.yaml").write_text(
        SWEEP
        + """\
  bad.png: {x: dims.j}
  worse.png: {x: dims.i, y: cycels}
  words.png: {x: dims.i, y: bottleneck}
  time.svg: {x: dims.i, y: time.seconds, facets: schedule}
  wall.png: {kind: bar, x: dims.i, y: peak_memory_bytes}
"""
    )
    main(["sweep", "s.yaml"])
    capsys.readouterr()
    assert main(["sweep", "s.yaml", "--plot"]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"s/{name} is drawn" for name in ("line.png", "time.svg", "wall.png")
    ]
    assert err.splitlines() == [
        "custard: bad.png: no axis, label or metric is called dims.j",
        "hint: did you mean dims.i?",
        "custard: worse.png: no axis, label or metric is called cycels",
        "hint: did you mean cycles?",
        "custard: words.png: the column bottleneck cannot be plotted: scan_b_i is not a number",
    ]
    drawn = Path("s/time.svg").read_text()
    for text in (
        "time (nanoseconds)",
        "reorder(i)",
        "failed: i = 4, reorder(i,i), and 1 more alike",
    ):
        assert f"<!-- {text}" in drawn


def test_a_missing_input_does_not_stop_the_others(folder, capsys):
    Path("s.yaml").write_text(
        "expression: y(i) = x(i)\n"
        "grid: {name: [is, no, bad], inputs: {x: ['${name}.tns']}}\n"
        "metrics: [time.seconds, cycles]\n"
    )
    Path("is.tns").write_text("3 1.5\n")
    Path("bad.tns").write_text("three\n")
    assert main(["sweep", "s.yaml", "--jobs", "1"]) == 1
    out, err = capsys.readouterr()
    assert out == "3 points: 1 done, 2 failed; 3 ran; results in s\n"
    lines = err.splitlines()
    assert lines[0] == (
        f"custard: name=no, inputs.x=no.tns: cannot read {folder / 'no.tns'}: "
        "No such file or directory"
    )
    assert lines[1].startswith(f"custard: name=bad, inputs.x=bad.tns: {folder / 'bad.tns'}")
    Path("no.tns").write_text("1 1\n")
    assert main(["sweep", "s.yaml"]) == 1
    assert capsys.readouterr().out == (
        "3 points: 2 done, 1 failed; 1 ran, 2 were there; results in s\n"
    )
    assert main(["sweep", "s.yaml", "--table"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    for row in rows[:2]:
        assert float(row["time.seconds"]) == pytest.approx(int(row["cycles"]) * 1e-9)


def test_a_sweep_without_plots(folder, capsys):
    Path("s.yaml").write_text("expression: y(i) = x(i)")
    assert main(["sweep", "s.yaml", "--plot"]) == 2
    assert capsys.readouterr().err == (
        "custard: the sweep has no plots\n"
        "hint: as in plots: {depths.pdf: {x: set.queues.depth, y: cycles}}\n"
    )
