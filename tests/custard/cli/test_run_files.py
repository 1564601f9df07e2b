"""Files about a run: its report, and its traces."""

import argparse

import pytest

from custard.cli.run_files import pages, require_pages
from sam.support.errors import UserError


def asked(**given):
    options = {"report": None, "trace": None, "vcd": None, "window": None}
    return argparse.Namespace(**{**options, **given})


def test_files_are_told_by_their_options():
    assert pages(asked(report="r.html", vcd="w.vcd")) == {"--report": "r.html", "--vcd": "w.vcd"}
    assert pages(asked()) == {}


def test_what_can_be_written(tmp_path):
    require_pages(asked(), runs=False)
    trace = str(tmp_path / "t.pftrace")
    require_pages(asked(trace=trace, window="0:9"), runs=True)


@pytest.mark.parametrize(
    ("given", "runs", "error"),
    [
        ({"trace": "t.json"}, True, "--trace writes .pftrace files, and t.json is named otherwise"),
        ({"vcd": "t.pftrace"}, True, "--vcd writes .vcd files, and t.pftrace is named otherwise"),
        (
            {"report": "r.html"},
            False,
            "--report tells of a run, and no inputs are given\nhint: -i NAME=FILE",
        ),
        (
            {"report": "r.html", "window": "0:9"},
            True,
            "--window is for a trace, and none is asked for\nhint: --trace FILE",
        ),
    ],
)
def test_mistakes(given, runs, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        require_pages(asked(**given), runs)
    assert str(caught.value) == error
