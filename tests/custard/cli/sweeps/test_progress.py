"""Progress where there is no terminal: lines on stderr, now and then."""

import time

from custard.cli.sweeps import progress
from custard.cli.sweeps.progress import SweepProgress


def test_lines_say_how_far_the_sweep_is():
    shown = SweepProgress("depths", 100, 20)
    assert shown.line(10) == "depths: 20 of 100 points (10 s so far)"
    for _ in range(10):
        shown.ran += 1
    shown.failed = 3
    # 70 are left, at a second each
    assert shown.line(10) == "depths: 30 of 100 points, 3 failed, about 70 s left (10 s so far)"
    assert (
        shown.line(600) == "depths: 30 of 100 points, 3 failed, about 70 min left (10 min so far)"
    )
    assert shown.line(60_000).endswith("about 116.7 h left (16.7 h so far)")


def test_lines_come_while_a_point_runs(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.05)
    with SweepProgress("long", 2, 0) as shown:
        shown.advance(failed=0)
        deadline = time.monotonic() + 10
        err = ""
        while err.count("\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            err += capsys.readouterr().err
        assert err.startswith("long: 1 of 2 points, about 0 s left (0 s so far)\nlong: 1 of 2")
    assert not shown.lines.is_alive()


def test_a_short_sweep_says_nothing(capsys):
    with SweepProgress("short", 1, 0) as shown:
        shown.advance(failed=0)
    assert capsys.readouterr().err == ""
