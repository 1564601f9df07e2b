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


def test_files_that_can_be_written_pass_the_check(tmp_path):
    require_pages(asked())
    trace = str(tmp_path / "t.pftrace")
    require_pages(asked(trace=trace, window="0:9"))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"trace": "t.json"}, "--trace writes .pftrace files, and t.json has another suffix"),
        ({"report": "r.pdf"}, "--report writes .html files, and r.pdf has another suffix"),
        ({"vcd": "t.pftrace"}, "--vcd writes .vcd files, and t.pftrace has another suffix"),
    ],
)
def test_mistakes(given, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        require_pages(asked(**given))
    assert str(caught.value) == error
