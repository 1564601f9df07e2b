"""``custard explain`` and the files about a run: output, content, and every mistake."""

import json
import shutil
from pathlib import Path

import pytest

from custard.cli.command import main

WEST = Path(__file__).parents[3] / "experiments" / "data" / "west0067.mtx"
SPMV = ["y(i) = A(i,j) * x(j)", "-f=A:CSR", "-f=x:d", "-i", "A=west0067.mtx", "-i", "x=@dense"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(WEST, tmp_path)
    return tmp_path


def test_explain(capsys):
    assert main(["explain", *SPMV, "--config", "finite"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    first, *others = out.splitlines()
    assert first == "369 cycles, 98 %: reduce_j sums up; parallelize(i,Lanes,2) would save 46 %"
    assert "what would save cycles" in others
    assert "cycles that this graph cannot go below on this machine" in others


def test_explain_as_json(capsys):
    assert main(["explain", *SPMV, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cycles"] == sum(cause["cycles"] for cause in told["causes"])
    assert {"sentence", "what_ifs", "bounds", "notes"} <= set(told)


def test_files_about_a_run(capsys):
    pytest.importorskip("perfetto", reason="perfetto is not installed")
    files = ["--report", "r.html", "--trace", "t.pftrace", "--vcd", "t.vcd", "--window", "10:90"]
    assert main([*SPMV, *files]) == 0
    out = capsys.readouterr().out
    for line in ("the report is in r.html", "the trace is in t.pftrace", "the trace is in t.vcd"):
        assert line in out
    for name in ("r.html", "t.pftrace", "t.vcd"):
        assert Path(name).stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", *SPMV, "--target", "c"],
            "custard: explain has no meaning on target c\nhint: it is for target sam\n",
        ),
        (
            [*SPMV, "--target", "c", "--report", "r.html"],
            "custard: --report has no meaning on target c\nhint: it is for target sam\n",
        ),
        (
            [SPMV[0], "--report", "r.html"],
            "custard: --report is for a run, and no inputs are given\nhint: -i NAME=FILE\n",
        ),
        (
            [*SPMV, "--trace", "t.vcd"],
            "custard: --trace writes .pftrace files, and t.vcd has another suffix\n",
        ),
        (
            [*SPMV, "--window", "1:2"],
            "custard: --window needs a trace, and none is asked for\nhint: --trace FILE\n",
        ),
        (
            [*SPMV, "--vcd", "t.vcd", "--window", "2"],
            'custard: "2" is not a window of cycles\nhint: as in --window 1000:2000\n',
        ),
        (
            [*SPMV, "--report", "a.html", "--vcd", "a.html"],
            "custard: two outputs go to a.html\n",
        ),
    ],
)
def test_mistakes(capsys, arguments, message):
    assert main(arguments) == 2
    assert capsys.readouterr().err == message
    assert not Path("r.html").exists()
