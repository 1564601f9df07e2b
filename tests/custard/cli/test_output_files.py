"""Where results, records and reports go."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from custard.cli.command import main
from tests.support.command import MATMUL


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--target c -o x.tns", "x.tns is an input, and would be lost"),
        ("--dot ./x.tns", "./x.tns is an input, and would be lost"),
        ("--json y.txt --dot y.txt", "two outputs go to y.txt"),
        ("--json y.tns -o y=y.tns", "two outputs go to y.tns"),
        ("--dot ''", "cannot write .: it is a folder"),
        (
            "--target c -o y.tns",
            "the C source would go to y.tns, whose suffix is that of a tensor\n"
            "hint: write -o y=y.tns for the result",
        ),
    ],
)
def test_no_output_replaces_another_or_an_input(folder, capsys, options, error):
    before = Path("x.tns").read_text()
    assert main(["y(i) = 2 * x(i)", "-i", "x=x.tns", *shlex.split(options)]) == 2
    assert capsys.readouterr().err == f"custard: {error}\n"
    assert Path("x.tns").read_text() == before
    assert not Path("y.tns").exists()


def test_the_result_may_replace_an_input(folder, capsys):
    assert main(["x(i) += x(i)", "-i", "x=x.tns", "-o", "x=x.tns"]) == 0
    assert Path("x.tns").read_text() == "1 2.0\n2 4.0\n4 10.0\n"


def test_json_on_stdout_replaces_all_other_output(folder, capsys):
    given = ["y(i) = x(i) * z(i)", "-i", "x=x.tns", "-i", "z=z.tns", "-i=s=2", "--dims=i=4"]
    given[0] = "y(i) = s * x(i) * z(i)"
    assert main([*given, "-s=reorder(i)", "--set", "queues.depth=3", "--check", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = json.loads(out)
    assert told["expression"] == "y(i) = s * x(i) * z(i)"
    assert told["formats"] == {"y": "s:0", "s": ":", "x": "s:0", "z": "s:0"}
    assert (told["schedule"], told["loops"], told["notes"]) == (["reorder(i)"], ["i"], [])
    assert (told["dims"], told["seed"], told["engine"]) == ({"i": 4}, 0, "simpy")
    assert told["inputs"] == ["x=x.tns", "z=z.tns", "s=2"]
    assert told["config"]["queues"]["depth"] == 3
    assert sorted(told["versions"]) == ["numpy", "python", "sparse-abstract-machine"]
    assert told["versions"]["numpy"] == np.__version__
    assert told["matches_numpy"] is True
    assert told["seconds"] > 0
    assert told["compile_seconds"] == 0
    assert told["result"] == {
        "tensor": "y",
        "shape": [4],
        "format": "s:0",
        "dtype": "float64",
        "nnz": 2,
        "entries": 2,
        "nonzeros": 2,
        "first": [["0", "6.0"], ["1", "16.0"]],
    }
    for block in told["blocks"].values():
        spent = block["busy"] + block["memory"] + block["done"]
        spent += sum(block["starved"].values()) + sum(block["blocked"].values())
        assert block["kind"] == "root" or spent == told["cycles"]
    assert told["streams"]["scan_x_i.crd -> intersect_i.in_crd0"]["tokens"]["data"] == 3


def test_json_in_a_file_leaves_the_report(folder, capsys):
    assert main([MATMUL, "-i=B=west0067.mtx", "-i=C=west0067.mtx", "--json", "r.json"]) == 0
    assert "X has the shape (67, 67)" in capsys.readouterr().out
    assert json.loads(Path("r.json").read_text())["result"]["shape"] == [67, 67]


@pytest.mark.parametrize("target", ["sam", "c"])
def test_from_stdin_to_stdout(folder, target):
    command = [sys.executable, "-m", "custard", "y(i) = A(i,j)", "--target", target]
    tensor = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.5\n2 1 nan\n"
    run = subprocess.run([*command, "-i", "A=-", "-o", "y=-"], input=tensor, capture_output=True)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.startswith(b"%%MatrixMarket tensor ")
    again = subprocess.run(
        [sys.executable, "-m", "custard", "z(i) = 2 * y(i)", "-i", "y=-", "-o", "z=z.npy"],
        input=run.stdout,
        capture_output=True,
    )
    assert again.returncode == 0
    np.testing.assert_array_equal(np.load("z.npy"), [3, np.nan])


def test_stdout_takes_one_output(folder, capsys):
    assert main(["y(i) = x(i)", "-i", "x=x.tns", "-o", "y=-", "--json", "-"]) == 2
    assert "two outputs go to stdout" in capsys.readouterr().err


def test_the_home_folder(folder, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(folder))
    assert main(["y(i) = x(i)", "-i", "x=~/x.tns", "-o", "y=~/y.tns"]) == 0
    assert Path("y.tns").read_text() == "1 1.0\n2 2.0\n4 5.0\n"


def test_quiet_prints_nothing(tmp_path, capsys):
    result = tmp_path / "x.tns"
    source = tmp_path / "b.tns"
    source.write_text("1 2 3.0\n2 1 4.0\n")
    words = [
        "x(i) = B(i,j) * c(j)",
        "-i",
        f"B={source}",
        "-i",
        "c=@dense",
        "-o",
        f"x={result}",
        "-q",
    ]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    assert result.exists()
