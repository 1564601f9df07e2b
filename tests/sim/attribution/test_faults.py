"""Whose fault waits are, by hand; walks one by one equal walks all at once."""

import numpy as np
import pytest

import custard
from sim.attribution import faults
from sim.attribution.shares import shares

MEMORY = {
    "memory.levels": [{"name": "DRAM", "latency_cycles": 17, "bandwidth_gb_per_s": 3}],
    "queues.depth": 3,
}


def product(overrides):
    program = custard.compile(
        "X(i,j) = B(i,k) * C(k,j)", {"B": "ss", "C": "ss", "X": "ss"}, ["reorder(i,k,j)"]
    )
    generator = np.random.default_rng(4)
    given = {name: 1.0 * (generator.random((12, 12)) < 0.3) for name in "BC"}
    return program.simulate(given, overrides=overrides, attribution=True)


@pytest.mark.parametrize("overrides", [{}, MEMORY])
def test_walks_one_by_one_equal_walks_all_at_once(monkeypatch, overrides):
    log = product(overrides).log
    monkeypatch.setattr(faults, "_FEW", 0)
    together = shares(log)
    monkeypatch.setattr(faults, "_FEW", 10**9)
    assert shares(log) == together
    monkeypatch.setattr(faults, "_TOGETHER", 3)
    monkeypatch.setattr(faults, "_FEW", 1)
    assert shares(log) == together


def copied(n=20, **overrides):
    """``x(i) = b(i)``: scan, array, write, each as long as the others where none is slow."""
    program = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"})
    return program.simulate({"b": np.ones(n)}, overrides=overrides, attribution=True)


def test_a_slow_reader_is_at_fault_for_blocked_cycles():
    """The writer of values takes one in 10 cycles; all queues before it have two places."""
    slow = {"blocks.names.write_x_vals.initiation_interval_cycles": 10, "queues.depth": 2}
    run = copied(**slow)
    blocked = run.attribution["array_b"].blocked["val"]
    assert max(blocked, key=blocked.get) == "write_x_vals"
    assert blocked["write_x_vals"] > 0.9 * sum(blocked.values())


def test_a_slow_giver_is_at_fault_for_starved_cycles():
    """The array gives a value in 10 cycles: of 20 waits of the writer 19 are the array's, whole."""
    slow = {"blocks.names.array_b.initiation_interval_cycles": 10}
    run = copied(**slow)
    starved = run.attribution["write_x_vals"].starved["in_val"]
    assert starved["array_b"] >= 19 * 9
    assert starved["array_b"] + 3 >= sum(starved.values())


def test_a_slow_block_further_up_is_at_fault_too():
    slow = {"blocks.names.scan_b_i.initiation_interval_cycles": 10}
    run = copied(**slow)
    starved = run.attribution["write_x_vals"].starved["in_val"]
    assert max(starved, key=starved.get) == "scan_b_i"


def test_memory_is_at_fault_at_the_block_that_asked():
    levels = [{"name": "DRAM", "latency_cycles": 200}]
    run = copied(**{"memory.levels": levels, "memory.places": {"b.seg": "DRAM"}})
    starved = run.attribution["write_x_vals"].starved["in_val"]
    assert {"memory of scan_b_i", "memory of array_b"} <= set(starved)
    assert starved["memory of array_b"] >= 199
