"""Several values of --set: a table, a plot, and options that go with one machine only."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from custard.cli import several
from custard.cli.command import main

MATMUL = "X(i,j) = B(i,k) * C(k,j)"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a product of two matrices; returns the status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name, seed in (("B", 1), ("C", 2)):
        matrix = scipy.sparse.random(12, 12, 0.3, rng=np.random.default_rng(seed))
        scipy.io.mmwrite(f"{name}.mtx", matrix)
    given = [MATMUL, "-s", "reorder(i,k,j)", "-i", "B=B.mtx", "-i", "C=C.mtx", "--config", "finite"]

    def run(*more):
        status = main([*given, *more])
        return status, *capsys.readouterr()

    return run


def _cycles(run, *settings):
    """The cycles of a run of one machine."""
    options = [word for setting in settings for word in ("--set", setting)]
    assert run(*options, "--json", "one.json")[0] == 0
    return json.loads(Path("one.json").read_text())["cycles"]


def test_a_table_of_all_values(run):
    status, out, err = run("--set", "queues.depth=2,4,inf", "--check")
    assert (status, err) == (0, "")
    _, machine, *rows = out.splitlines()
    assert machine == "  config finite"
    lines = [[], *(line.split() for line in rows)]
    assert lines[1] == ["queues.depth", "cycles", "x", "fewest", "most", "busy"]
    cycles = [_cycles(run, f"queues.depth={depth}") for depth in (2, 4, "unbounded")]
    assert [line[0] for line in lines[2:5]] == ["2", "4", "unbounded"]
    assert [int(line[1].replace(",", "")) for line in lines[2:5]] == cycles
    assert [line[2] for line in lines[2:5]] == [f"{n / min(cycles):.2f}" for n in cycles]
    assert out.endswith("all match numpy\n")


def test_values_that_all_machines_have_are_told_with_the_config(run):
    _, out, _ = run("--set", "queues.depth=2,8", "--set", "blocks.latency_cycles=3")
    assert out.splitlines()[1] == "  config finite with blocks.latency_cycles=3"


def test_a_key_has_one_list(run):
    sets = ["--set", "queues.depth=2,4", "--set", "queues.depth=8"]
    assert run(*sets) == (
        2,
        "",
        "custard: --set gives queues.depth twice\nhint: several values: --set queues.depth=A,B\n",
    )
    assert run("--set", "queues.depth=4", "--set", "queues.depth=4", "-q")[0] == 0


def test_lists_are_combined_and_told_as_json(run):
    sets = ["--set", "queues.depth=2,4", "--set", "queues.latency_cycles=1,3", "--set", "name=mine"]
    status, out, _ = run(*sets, "--json", "-")
    assert status == 0
    told = json.loads(out)
    assert [each["set"] for each in told] == [
        {"queues.depth": depth, "queues.latency_cycles": latency}
        for depth in (2, 4)
        for latency in (1, 3)
    ]
    assert {each["record"]["config"]["name"] for each in told} == {"mine"}
    last = _cycles(run, "queues.depth=4", "queues.latency_cycles=3")
    assert told[3]["record"]["cycles"] == last


def test_a_plot_of_the_cycles(run):
    status, out, _ = run(
        *("--set", "queues.depth=1,2,inf", "--set", "queues.latency_cycles=1,3"),
        *("--plot", "depths.svg"),
    )
    assert status == 1
    assert out.splitlines()[-1] == "depths.svg is drawn"
    assert "deadlock after cycle" in out
    drawn = Path("depths.svg").read_text()
    for text in ("queues.depth (tokens)", "cycles", "latency = 3 cycles", "unbounded", "failed: "):
        assert f"<!-- {text}" in drawn


def test_a_wrong_result_is_told(run, monkeypatch):
    monkeypatch.setattr("custard.dense_evaluator.first_difference", lambda *_: "it is wrong")
    status, out, err = run("--set", "queues.depth=2,4", "--check")
    assert status == 1
    assert err == "custard: queues.depth=2: it is wrong\ncustard: queues.depth=4: it is wrong\n"
    assert "match" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--plot", "d.png"],
            "--plot draws a curve over several values\n"
            "hint: as in --set queues.depth=1,2,4,8,inf --plot depths.png",
        ),
        (
            ["--set", "queues.depth=1,2", "--plot", "d.jpg"],
            "the suffix of d.jpg is not that of a picture\nhint: one of .png, .pdf, .svg",
        ),
        (
            ["--set", "queues.depth=1,2", "--plot", "no/d.png"],
            "cannot write no/d.png: there is no folder no",
        ),
        (
            ["--set", "queues.depth=1,2", "--plot", "d.png", "--dot", "d.png"],
            "two outputs go to d.png",
        ),
        (
            ["--set", "queues.depth=1,two"],
            '--set: queues.depth is "two"; it must be a whole number of at least 1, or "unbounded"',
        ),
        (
            ["--set", "queues.dept=1,2"],
            '--set: unknown key "queues.dept"\nhint: did you mean depth?',
        ),
        *(
            (
                ["--set", "queues.depth=1,2,4", *words],
                f"{words[0]} is for one machine, and --set gives 3",
            )
            for words in (
                ["-o", "X=x.mtx"],
                ["--validate"],
                ["--all-lanes"],
                ["--report", "r.html"],
            )
        ),
    ],
)
def test_mistakes(run, words, message):
    assert run(*words) == (2, "", f"custard: {message}\n")


def test_values_without_inputs(capsys):
    assert main([MATMUL, "--set", "queues.depth=1,2"]) == 2
    assert capsys.readouterr().err == (
        "custard: no input is given for B, C\nhint: -i B=@random -i C=@random, or name a file\n"
    )


def test_values_that_are_no_lists():
    for text, depth in (("3", 3), ("inf", "unbounded")):
        [one] = several.machines("finite", [f"queues.depth={text}"])
        assert one.values == {}
        assert one.config.queues.depth == depth
    two = several.machines("finite", ["queues.depth=3, inf", "clock.clock_ghz=2"])
    assert [machine.values for machine in two] == [
        {"queues.depth": 3},
        {"queues.depth": "unbounded"},
    ]
