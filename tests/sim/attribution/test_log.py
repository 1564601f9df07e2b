"""The logs of the compiled engine: entries of any size, in memory and in a file."""

import numpy as np
import scipy.sparse

import custard
from sim.attribution.log import decoded_waits
from sim.compiled import logs
from tests.support.compiler import needs_compiler

HIGHER, RUN, WAIT, CAUSE = 12, 13, 14, 15


def words(*entries):
    return np.array(entries, np.uint16)


def test_entries_in_one_word():
    """Two cycles after cycle 0 it could fire, waits 3, and then 4 later 1, for the second port."""
    ready, asked, cause = decoded_waits(words(2 << 10 | 3 << 4, 4 << 10 | 1 << 4 | 1))
    assert (ready.tolist(), asked.tolist(), cause.tolist()) == ([2, 9], [5, 10], [0, 1])


def test_entries_with_large_parts():
    parts = words(
        *(1 << 10 | 2 << 4 | HIGHER, 5 << 10 | 6 << 4 | 3),
        *(2 << 4 | RUN, 4095 << 4 | WAIT, 1 << 4 | WAIT, 300 << 4 | CAUSE, 1 << 4),
        1 << 10 | 2 << 4 | 7,
    )
    ready, asked, cause = decoded_waits(parts)
    first, second = 69 + 134, 69 + 134 + 2 * 4096 + 4096 * 4096 + 1
    assert ready.tolist() == [69, first + 8192, second + 1]
    assert asked.tolist() == [first, second, second + 3]
    assert cause.tolist() == [3, 300, 7]


def test_no_entries():
    assert [len(column) for column in decoded_waits(words())] == [0, 0, 0]


PRODUCT = custard.compile(
    "X(i,j) = B(i,k) * C(k,j)", {"B": "ss", "C": "ss", "X": "ss"}, ["reorder(i,k,j)"]
)


def both(overrides, n=12):
    given = {
        name: scipy.sparse.random(n, n, 0.3, random_state=seed) for seed, name in enumerate("BC")
    }
    runs = [
        PRODUCT.simulate(given, overrides=overrides, engine=name, attribution=True)
        for name in ("simpy", "compiled")
    ]
    assert runs[0].critical_path == runs[1].critical_path
    assert runs[0].attribution == runs[1].attribution
    return runs[1]


@needs_compiler
def test_waits_that_do_not_fit_into_a_word():
    slow = {"blocks.names.scan_B_i.initiation_interval_cycles": 9000, "queues.latency_cycles": 5000}
    run = both(slow)
    longest = max((waits.asked - waits.ready).max(initial=0) for waits in run.log.waits)
    assert longest > 4096


@needs_compiler
def test_a_log_goes_on_in_a_file(monkeypatch):
    monkeypatch.setattr(logs, "WORDS_KEPT", 1)
    levels = [{"name": "DRAM", "latency_cycles": 30, "bandwidth_gb_per_s": 3}]
    run = both({"queues.depth": 2, "memory.levels": levels}, n=40)
    assert sum(len(waits.asked) for waits in run.log.waits) > 4 * 2048


@needs_compiler
def test_both_engines_count_the_same_over_time():
    levels = [
        {"name": "DRAM", "latency_cycles": 30, "bandwidth_gb_per_s": 3, "line_bytes": 32},
        {"name": "LLB", "capacity_bytes": 300, "latency_cycles": 2},
    ]
    given = {name: np.eye(20) + np.eye(20, k=3) for name in "BC"}
    runs = [
        PRODUCT.simulate(given, overrides={"memory.levels": levels}, engine=name, attribution=True)
        for name in ("simpy", "compiled")
    ]
    assert runs[0].critical_path == runs[1].critical_path
    simpy, fast = (run.log.over_time for run in runs)
    assert simpy.stretch == fast.stretch > 1
    for edge in simpy.given:
        assert (simpy.given[edge] == fast.given[edge]).all()
        assert (simpy.taken[edge] == fast.taken[edge]).all()
        assert simpy.occupancy(edge)[-1] == 0
    assert all((a == b).all() for a, b in zip(simpy.bytes, fast.bytes, strict=True))
