"""``custard auto``: its table, its command, and every mistake."""

import json
import shlex

import pytest

from custard.cli.command import main

SPMV = ["y(i) = A(i,j) * x(j)", "-i", "A=@random(0.5)", "-i", "x=@dense", "--dims=i=5,j=6"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))


def test_the_table_and_a_command_that_runs(capsys):
    assert main(["auto", *SPMV, "--simulate", "2", "--engine=simpy"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    title, matrix, vector, upper, lower, first, *_, command = out.splitlines()
    assert title == SPMV[0]
    assert matrix.startswith("  A: 5 x 6, 15 entries; j: 5 fibers of 3, at most ")
    assert vector == "  x: 6, 6 entries"
    assert upper.split() == ["estimated", "simulated"]
    assert lower.split() == ["rank", "schedule", "formats", "cycles", "cycles"]
    assert first.split()[0] == "1"
    cycles = first.split()[-1]
    assert main([*shlex.split(command)[1:], "--engine=simpy"]) == 0
    assert f"\n{cycles} cycles" in capsys.readouterr().out


def test_commands_are_whole_in_a_narrow_console(monkeypatch, capsys):
    """A user at 80 columns copies the schedule of any row."""
    monkeypatch.setenv("COLUMNS", "80")
    product = ["X(i,j) = B(i,k) * C(k,j)", "-i", "B=@random", "-i", "C=@random"]
    extents = ["--dims", "i=40,j=40,k=40", "--simulate=2", "--engine=simpy", "--lanes=4"]
    assert main(["auto", *product, *extents]) == 0
    *table, _, _ = capsys.readouterr().out.splitlines()
    assert max(map(len, table)) <= 80
    assert "parallelize(i,Lanes,4)" in "".join(table)
    assert "…" not in "".join(table)


def test_json(capsys):
    assert main(["auto", *SPMV, "--json", "--most=3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 3
    assert set(found[0]) == {"schedule", "formats", "estimated", "measured"}
    assert [one["estimated"] for one in found] == sorted(one["estimated"] for one in found)


def test_lanes_and_target_c(capsys):
    assert main(["auto", *SPMV, "--lanes", "2", "--most=50"]) == 0
    assert "parallelize(j,Lanes,2)" in capsys.readouterr().out
    assert main(["auto", *SPMV, "-t", "c", "--threads=2", "--most=50"]) == 0
    out = capsys.readouterr().out
    assert "parallelize(i,CPUThread,NoRaces)" in out
    assert out.splitlines()[-1].endswith("--dims i=5,j=6 --threads 2 --time")


@pytest.mark.parametrize(
    ("options", "due"),
    [
        (
            ["-s=reorder(i,j)"],
            "-s has no meaning with custard auto\nhint: run the command of a schedule",
        ),
        (["--check"], "--check has no meaning with custard auto"),
        (["--time", "some"], 'argument --time: "some" is not a whole number of at least 0'),
        (["--time=2"], "time has no meaning on target sam\nhint: it is for target c"),
        (["-t", "c", "--config=finite"], "--config has no meaning on target c"),
        (["--simulate"], "argument --simulate: expected one argument\nhint: as in --simulate K;"),
        (["-i", "y=3"], "the program has no input y"),
    ],
)
def test_mistakes(options, due, capsys):
    assert main(["auto", *SPMV, *options]) == 2
    assert due in capsys.readouterr().err


def test_an_interrupt_ends_the_ranking(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("custard.autoscheduling.ranking.measured", interrupted)
    assert main(["auto", *SPMV, "--simulate=2"]) == 130
    assert capsys.readouterr().err == "custard: interrupted\n"
