"""The process that measures: its peak of memory where the system does not reset that."""

import resource

from custard.cli.sweeps import measuring
from custard.cli.unfinished import UnfinishedRun
from sam.support.errors import UserError


def test_a_peak_that_is_not_reset_is_told_where_it_grows(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "_CLEAR_REFS", tmp_path / "no" / "clear_refs")
    peaks = iter([5000, 5000, 7000, 7000])
    monkeypatch.setattr(measuring.sys, "platform", "darwin")  # which counts bytes
    monkeypatch.setattr(
        resource, "getrusage", lambda _: resource.struct_rusage([0, 0, next(peaks), *[0] * 13])
    )
    peak = measuring._Peak()
    found = []
    for _ in range(4):
        peak.begin()
        found.append(peak.so_far())
    assert found == [5000, None, 7000, None]


def test_a_run_that_is_not_done_is_kept_with_its_first_cycles():
    answers = measuring._Answers(asker=None, peak=None, limit="")
    late = UnfinishedRun(UserError("it is not done", hint="wait"), lambda: {"cycles": 7})
    assert answers._outcome(late) == {
        "status": "failed",
        "error": "it is not done\nhint: wait",
        "reached": {"cycles": 7},
    }
