"""Points in other processes: the outcomes of points that go wrong, here and on Dask."""

import os
from functools import partial

import pytest

from custard.cli.sweeps import workers
from custard.cli.sweeps.workers import Limits, Together, run_local, run_on_dask
from sam.support.errors import UserError
from tests.support.measures import asked, misbehave, misbehave_together, same_kind, square

MB = 2**20
linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits are for Linux")


def test_outcomes_come_by_name_from_processes_that_measure_many():
    tasks = [(str(n), {"n": n}) for n in range(7)]
    found = dict(run_local(iter(tasks), square, Limits(), jobs=2))
    assert {name: outcome["status"] for name, outcome in found.items()} == {
        name: "done" for name, _ in tasks
    }
    assert [found[str(n)]["record"]["cycles"] for n in range(7)] == [n * n for n in range(7)]
    pids = {outcome["record"]["where"]["pid"] for outcome in found.values()}
    assert len(pids) <= 2
    assert os.getpid() not in pids
    for outcome in found.values():
        assert 0 < outcome["seconds"] < 10
        assert 10 * MB < outcome["peak_memory_bytes"] < 2000 * MB


@pytest.mark.parametrize(("jobs", "threads"), [(1, None), (2, 2), (5, 5)])
def test_a_single_point_may_use_all_processors(jobs, threads):
    [(_, outcome)] = run_local([("0", {"n": 1})], asked, Limits(), jobs=jobs)
    assert outcome["record"].get("threads") == threads


def _measured(*settings, limits=Limits()):  # noqa: B008, which is frozen
    """The outcomes of points that one process measures in turn, if it can."""
    tasks = [(str(n), given) for n, given in enumerate(settings)]
    found = dict(run_local(tasks, misbehave, limits, jobs=1))
    return [found[name] for name, _ in tasks]


@pytest.mark.parametrize("how", ["exit if used", "bug if used"])
def test_a_used_process_that_fails_is_not_the_point_s_fault(how):
    outcomes = _measured({"how": "well"}, {"how": how}, {"how": "tell"})
    assert [outcome["status"] for outcome in outcomes] == ["done"] * 3
    assert outcomes[1]["record"]["before"] == 0
    assert outcomes[2]["record"]["before"] == 1


def test_a_mistake_spends_no_process():
    first, _, last = _measured({"how": "tell"}, {"how": "mistake"}, {"how": "tell"})
    assert last["record"] == {**first["record"], "before": 2}


@linux
def test_peak_memory_is_that_of_the_point():
    small, large, after = _measured(
        {"how": "well"}, {"how": "memory", "bytes": 200 * MB}, {"how": "tell"}
    )
    assert after["record"]["before"] == 2
    assert large["peak_memory_bytes"] - small["peak_memory_bytes"] > 190 * MB
    assert abs(after["peak_memory_bytes"] - small["peak_memory_bytes"]) < 20 * MB


@linux
def test_memory_left_by_a_point_does_not_count_for_the_next():
    limits = Limits(memory_bytes=64 * MB)
    point = {"how": "memory", "bytes": 40 * MB, "keeps": 20 * MB}
    outcomes = _measured(*[point] * 4, {"how": "memory", "bytes": 80 * MB}, limits=limits)
    assert [outcome["status"] for outcome in outcomes] == ["done"] * 4 + ["failed"]
    assert outcomes[4]["error"] == "out of memory: the limit is 67,108,864 bytes"


@linux
def test_a_process_that_keeps_much_memory_measures_no_more():
    first, second, third = _measured(
        {"how": "tell"}, {"how": "tell", "keeps": 300 * MB}, {"how": "tell"}
    )
    assert first["record"]["pid"] == second["record"]["pid"] != third["record"]["pid"]


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("mistake", "the reels are empty\nhint: fill them"),
        ("bug", "ZeroDivisionError: by zero"),
        ("signal", "its process was ended by SIGSEGV"),
        ("exit", "its process ended with status 3"),
    ],
)
def test_a_bad_point_does_not_end_the_others(how, error):
    tasks = [("1", {"how": "well"}), ("2", {"how": how}), ("3", {"how": "well"})]
    found = dict(run_local(tasks, misbehave, Limits(), jobs=1))
    assert [found[name]["status"] for name in "123"] == ["done", "failed", "done"]
    assert found["2"]["error"] == error
    assert ("traceback" in found["2"]) == (how == "bug")


def test_time_is_limited():
    tasks = [("1", {"how": "time"}), ("2", {"how": "time"}), ("3", {"how": "well"})]
    found = dict(run_local(tasks, misbehave, Limits(seconds=2), jobs=2))
    assert [found[name]["status"] for name in "123"] == ["failed", "failed", "done"]
    assert found["1"]["error"] == "over the limit of 2 seconds"
    assert 2 <= found["1"]["seconds"] < 20
    first, late, last = _measured(
        {"how": "tell"}, {"how": "time"}, {"how": "tell"}, limits=Limits(seconds=1)
    )
    assert late["error"] == "over the limit of 1 seconds"
    assert (first["record"]["before"], last["record"]["before"]) == (0, 0)


@linux
def test_memory_is_limited():
    limits = Limits(memory_bytes=64 * MB)
    [small] = _measured({"how": "memory", "bytes": 40 * MB}, limits=limits)
    [large] = _measured({"how": "memory", "bytes": 80 * MB}, limits=limits)
    assert small["record"] == {"cycles": 40 * MB}
    assert small["peak_memory_bytes"] > 40 * MB
    assert large["error"] == "out of memory: the limit is 67,108,864 bytes"
    assert _measured({"how": "memory", "bytes": 80 * MB})[0]["status"] == "done"
    [in_words] = _measured({"how": "memory, in words", "bytes": 80 * MB}, limits=limits)
    assert in_words["error"] == (
        "the reels are full; the limit is 67,108,864 bytes\nhint: empty them"
    )
    [of_thread] = _measured({"how": "memory, of a thread"}, limits=limits)
    assert of_thread["error"] == "out of memory: the limit is 67,108,864 bytes"


TOGETHER = Together(same_kind, misbehave_together)


def _together(*settings, limits=Limits(), jobs=1):  # noqa: B008, which is frozen
    tasks = [(str(n), given) for n, given in enumerate(settings)]
    found = dict(run_local(tasks, misbehave, limits, jobs, TOGETHER))
    assert len(found) == len(tasks)
    return [found[name] for name, _ in tasks]


def _numbers(outcomes):
    """How many points were measured together with each; 1 if it was alone, None if it failed."""
    return [outcome.get("record", {"together": None}).get("together", 1) for outcome in outcomes]


def test_points_of_a_kind_are_measured_together():
    a, b = {"how": "tell", "kind": "a"}, {"how": "tell", "kind": "b"}
    outcomes = _together(a, b, a, b, a)
    assert _numbers(outcomes) == [3, 2, 3, 2, 3]
    for outcome in outcomes:
        assert 0 < outcome["seconds"] < 10
        assert outcome["peak_memory_bytes"] > 10 * MB
    assert _numbers(_together(a, a, a, a, jobs=2)) == [2, 2, 2, 2]
    assert _numbers(_together(a, b, jobs=2)) == [1, 1]
    many = _numbers(_together(*[a] * 33))
    assert sorted(many) == [16] * 16 + [17] * 17


def test_points_measured_together_fail_one_by_one():
    well, mistake = {"how": "tell"}, {"how": "tell mistake"}
    first, failed, last = _together(well, mistake, well)
    assert failed["error"] == "the reels are empty\nhint: fill them"
    assert _numbers([first, last]) == [3, 3]
    assert last["record"]["pid"] == first["record"]["pid"]


@pytest.mark.parametrize("how", ["exit", "signal", "bug", "memory", "time"])
def test_points_that_fail_together_are_measured_alone(how):
    limits = Limits(memory_bytes=64 * MB) if how == "memory" else Limits()
    limits = Limits(seconds=0.6) if how == "time" else limits
    bad = {"how": f"alone {how}", "bytes": 80 * MB}  # which is well when it is alone
    outcomes = _together({"how": "well"}, bad, {"how": "tell"}, limits=limits)
    assert [outcome["status"] for outcome in outcomes] == ["done"] * 3
    assert _numbers(outcomes)[1:] == [1, 1]


def test_a_mistake_in_a_whole_group_fails_each_point():
    well, bad = {"how": "well"}, {"how": "alone mistake"}
    outcomes = _together(well, bad, well)
    assert [outcome["status"] for outcome in outcomes] == ["done", "failed", "failed"]
    assert {outcome["error"] for outcome in outcomes[1:]} == {
        "the reels are empty\nhint: fill them"
    }


def test_the_point_with_a_bug_is_found_by_measuring_alone():
    outcomes = _together({"how": "tell"}, {"how": "tell bug"}, {"how": "tell"})
    assert _numbers(outcomes) == [3, 1, 3]


def test_memory_is_limited_on_linux_only(monkeypatch):
    monkeypatch.setattr(workers.sys, "platform", "darwin")
    with pytest.raises(UserError, match="memory can be limited on Linux only"):
        Limits(memory_bytes=1)


def test_a_closed_iterator_leaves_no_process():
    tasks = [("1", {"how": "well"}), ("2", {"how": "time"})]
    outcomes = run_local(tasks, misbehave, Limits(), jobs=2)
    assert next(outcomes)[0] == "1"
    workers = [*outcomes.gi_frame.f_locals["busy"], *outcomes.gi_frame.f_locals["idle"]]
    processes = [worker.process.pid for worker in workers]
    assert processes
    outcomes.close()
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_finished_run_leaves_no_process():
    [(_, outcome)] = run_local([("1", {"how": "tell"})], misbehave, Limits(), jobs=3)
    with pytest.raises(ProcessLookupError):
        os.kill(outcome["record"]["pid"], 0)


def test_a_dask_cluster_does_the_same():
    distributed = pytest.importorskip("distributed")
    tasks = [("1", {"how": "well"}), ("2", {"how": "exit"}), ("3", {"how": "time"})]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=3, processes=True, dashboard_address=None
    ) as cluster:
        start = partial(run_on_dask, address=cluster.scheduler_address)
        found = dict(start(tasks, misbehave, Limits(seconds=3)))
        alike = [(str(n), {"how": "tell"}) for n in range(4)]
        together = dict(start(alike, misbehave, Limits(), together=TOGETHER))
    assert _numbers(together.values()) == [4] * 4
    assert found["1"]["record"] == {"cycles": 7}
    assert found["2"]["error"] == "its process ended with status 3"
    assert found["3"]["error"] == "over the limit of 3 seconds"


def test_a_dask_cluster_that_is_not_there():
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match="no Dask scheduler answers at nowhere:at-all"):
        next(run_on_dask([], square, Limits(), "nowhere:at-all"))


def test_without_dask(monkeypatch):
    monkeypatch.setitem(workers.sys.modules, "distributed", None)
    with pytest.raises(UserError) as refusal:
        next(run_on_dask([], square, Limits(), "tcp://localhost:8786"))
    assert str(refusal.value) == (
        '--dask needs the package distributed\nhint: pip install "sparse-abstract-machine[dask]"'
    )
