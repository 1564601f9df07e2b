"""Sweeps: points that have a result are not run again, whatever ended the run before."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custard.cli.sweeps.points import Point, Results, run, shard
from custard.cli.sweeps.table import table, to_csv
from custard.cli.sweeps.workers import Limits, run_local
from sam.support.errors import UserError
from tests.support.measures import misbehave, slow_points, sweep_slowly

ROOT = Path(__file__).parents[4]


def _point(**settings) -> Point:
    return Point(settings, settings)


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "deep" / "results", {"versions": {"here": "1"}})


def test_the_hash_is_that_of_the_settings():
    assert _point(a=1, b="x").hash == _point(b="x", a=1).hash
    assert _point(a=1).hash != _point(a=2).hash
    assert Point({"a": 1}, {"label": "one"}).hash == _point(a=1).hash
    # printf '{"a": 1}' | sha256sum
    assert _point(a=1).hash == "f9d86028c6e0d64e"


def test_what_overrides_have_changed_is_not_in_the_hash():
    kept, changed = {"name": "finite"}, {"name": "finite", "changed": ["queues.depth"]}
    assert _point(config=kept).hash == _point(config=changed).hash
    assert _point(config=kept).hash != _point(config={"name": "ideal"}).hash


def _run(points, results, retry=False, jobs=2):
    started = []

    def start(tasks):
        started.extend(settings["how"] for _, settings in tasks)
        return run_local(tasks, misbehave, Limits(), jobs)

    run(points, results, start, retry)
    return started


def test_each_point_is_run_once_and_failures_on_request(results):
    points = [_point(how="well"), _point(how="mistake"), _point(how="well")]
    assert sorted(_run(points, results)) == ["mistake", "well"]
    assert _run(points, results) == []
    assert _run(points, results, retry=True) == ["mistake"]
    assert [results.status(point) for point in points] == ["done", "failed", "done"]


def test_a_result_file_is_whole(results):
    well, mistake, other = _point(how="well"), _point(how="mistake"), _point(how="exit")
    _run([well, mistake], results)
    document = json.loads(results.path(well).read_text())
    assert document.pop("seconds") > 0
    assert document.pop("peak_memory_bytes") > 0
    assert document == {
        "hash": well.hash,
        "point": {"how": "well"},
        "versions": {"here": "1"},
        "status": "done",
        "record": {"cycles": 7},
    }
    assert results.read(mistake)["error"] == "the reels are empty\nhint: fill them"
    assert results.status(other) == "not run"
    assert sorted(results.folder.iterdir()) == sorted(map(results.path, (well, mistake)))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hash": "0123456789abcdef"}', '{"hash": "%s"}'])
def test_a_file_that_is_no_result_is_run_again(results, text):
    point = _point(how="well")
    results.folder.mkdir(parents=True)
    results.path(point).write_text(text.replace("%s", point.hash))
    assert _run([point], results) == ["well"]
    assert results.status(point) == "done"


def test_a_run_clears_what_one_that_was_killed_has_left(results):
    _run([_point(how="well")], results)
    left = results.folder / f".{'0' * 32}.tmp"
    left.write_text('{"half')
    _run([_point(how="well")], results)
    assert not left.exists()
    assert len([*results.folder.iterdir()]) == 1


def test_a_folder_that_cannot_be_made_is_a_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot make .*file/results: Not a directory"):
        _run([_point(how="well")], Results(tmp_path / "file" / "results", {}))


COUNT, JOBS = 8, 2


def test_a_run_that_is_killed_loses_at_most_the_points_under_way(tmp_path):
    ended, whole = tmp_path / "ended", tmp_path / "whole"
    ended.mkdir()
    whole.mkdir()
    points, kept = slow_points(ended, COUNT), Results(ended / "results", {})
    command = f"from tests.support.measures import *; sweep_slowly(Path({str(ended)!r}), {COUNT})"
    process = subprocess.Popen(
        [sys.executable, "-c", command],
        cwd=ROOT,
    )
    deadline = time.monotonic() + 20
    while sum(kept.path(point).exists() for point in points) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = {p.axes["n"]: kept.path(p).stat().st_mtime_ns for p in points if kept.read(p)}
    assert 3 <= len(before) < COUNT
    _wait_for_the_end_of([int(line.split()[1]) for line in _log(ended)])
    started = [int(line.split()[0]) for line in _log(ended)]
    assert len(started) - len(before) <= JOBS

    sweep_slowly(ended, COUNT)
    after = {p.axes["n"]: kept.path(p).stat().st_mtime_ns for p in points}
    assert {n: after[n] for n in before} == before
    started_again = [int(line.split()[0]) for line in _log(ended)][len(started) :]
    assert sorted(started_again) == sorted(set(range(COUNT)) - set(before))

    sweep_slowly(whole, COUNT)
    assert _table(ended) == _table(whole)


def _log(folder):
    return (folder / "log").read_text().splitlines()


def _wait_for_the_end_of(pids):
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a point goes on without the sweep"
        time.sleep(0.01)


def _table(folder):
    """The table without the hash, which has the log's path in it."""
    columns = table(slow_points(folder, COUNT), Results(folder / "results", {}), ["cycles"])
    del columns["hash"]
    return to_csv(columns)


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 7))
def test_shards_together_are_the_whole(numbers, count):
    points = [_point(n=n) for n in numbers]
    shards = [shard(points, f"{number}/{count}") for number in range(1, count + 1)]
    together = Counter(point.hash for part in shards for point in part)
    assert together == Counter(point.hash for point in points)
    hashes = [{point.hash for point in part} for part in shards]
    assert sum(map(len, hashes)) == len({*numbers})
    assert max(map(len, hashes)) - min(map(len, hashes)) <= 1


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/2/3", "-1/2", "a/b"])
def test_a_malformed_shard_is_a_mistake(text):
    with pytest.raises(UserError) as refusal:
        shard([], text)
    assert str(refusal.value) == f'"{text}" is not a shard\nhint: I/N with I from 1 to N, as in 1/4'
