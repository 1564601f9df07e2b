"""Options that only mean something beside others, or where the program runs."""

import argparse

import pytest

from custard.cli.combinations import require_run, require_together
from custard.cli.command import main
from sam.support.errors import UserError

SPMV = "y(i) = A(i,j) * x(j)"
INPUTS = ["-i", "A=@random", "-i", "x=@dense", "--dims", "i=4,j=4"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--threads", "2"], "--threads is for a run, and no inputs are given"),
        (["--max-cycles", "9"], "--max-cycles is for a run, and no inputs are given"),
        (["--validate"], "--validate is for a run, and no inputs are given"),
        (["--target=c", "--threads=2"], "--threads is for a run, and no inputs are given"),
        (
            [*INPUTS, "--threads", "0"],
            'argument --threads: "0" is not a whole number of at least 1',
        ),
        (
            [*INPUTS, "--threads", "2", "--validate"],
            "streams are validated on the engine simpy, which runs on one thread",
        ),
        (
            [*INPUTS, "--threads", "2", "--set", "queues.depth=2,4"],
            "--threads is for one machine, and --set gives 2",
        ),
        (["--dot-dialect", "published"], "--dot-dialect is for a DOT file, and none is asked for"),
        (["--window", "0:9"], "--window needs a trace, and none is asked for"),
        ([*INPUTS, "--target=c", "--prefix=a"], "--prefix is for a source, and none is written"),
        (
            ["--print-after", "cin", "--json", "a.json"],
            "--json has no meaning with --print-after, which ends there",
        ),
    ],
)
def test_options_without_effect_are_refused(words, error, capsys):
    assert main([SPMV, *words]) == 2
    assert capsys.readouterr().err.partition("\nhint")[0].strip() == f"custard: {error}"


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("size", "--threads=2"),
        ("size", "--max-cycles=9"),
        ("size", "--validate"),
        ("explain", "--validate"),
        ("auto", "--max-cycles=9"),
        ("draw", "--threads=2"),
        ("draw", "-i=A=@random"),
        ("draw", "--check"),
    ],
)
def test_options_of_a_run_are_refused_by_commands_without_a_run(name, option, capsys):
    assert main([name, SPMV, option]) == 2
    told = option if option == "--validate" else option.partition("=")[0]
    assert capsys.readouterr().err.startswith(
        f"custard: {told} has no meaning with custard {name}\n"
    )


def test_options_that_go_together_are_accepted():
    alone = {"dot": None, "dot_dialect": "custard", "window": None, "trace": None, "vcd": None}
    require_together(argparse.Namespace(**alone, print_after=None, threads=2))
    require_together(argparse.Namespace(**{**alone, "vcd": "a", "window": "1:2"}, threads=None))
    options = ("validate", "max_cycles", "threads", "all_lanes", "report", "trace", "vcd")
    given = argparse.Namespace(**{**dict.fromkeys(options), "all_lanes": True})
    require_run(given, runs=True)
    with pytest.raises(UserError, match="--all-lanes is for a run, and no inputs are given"):
        require_run(given, runs=False)
