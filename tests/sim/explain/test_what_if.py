"""Changes that make a resource ideal."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from sam.support.errors import UserError
from sim.explain.what_if import changes, why_timed
from tests.support.configs import configs
from tests.support.profiles import examples
from tests.support.programs import programs

relaxed = settings(suppress_health_check=list(HealthCheck))

latencies = st.integers(1, 400)
rates = st.sampled_from([0.3, 2, 8, "unbounded"])
outstanding = st.sampled_from([1, 4, "unbounded"])


def never_slower(run):
    for change in changes(run):
        assert run.again(config=run.config, overrides=change.overrides).cycles <= run.cycles, change


@settings(relaxed, max_examples=examples(100))
@given(programs(), configs)
def test_making_a_cause_ideal_never_costs_cycles(program, config):
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    try:
        run = compiled.simulate(program.tensors, overrides=config, attribution=True)
    except UserError:
        return
    assert why_timed(run) == []
    never_slower(run)


@settings(relaxed, max_examples=examples(100))
@given(programs(), configs, latencies, rates, outstanding)
def test_a_memory_with_a_port_for_each_block_never_costs_cycles(
    program, config, latency, rate, outstanding
):
    level = {
        "name": "DRAM",
        "latency_cycles": latency,
        "bandwidth_gb_per_s": rate,
        "ports": "per_block",
        "line_bytes": 16,
    }
    memory = {"memory.levels": [level], "memory.outstanding_requests": outstanding}
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    try:
        run = compiled.simulate(program.tensors, overrides=config | memory, attribution=True)
    except UserError:
        return
    assert why_timed(run) == []
    never_slower(run)


@settings(relaxed, max_examples=examples(100))
@given(latencies, rates, st.sampled_from([1, 2, "per_block"]), outstanding)
def test_the_memory_of_one_block(latency, rate, ports, outstanding):
    """One block alone asks memory, so that no order of requests can change."""
    program = custard.compile("x = b(i)", {"b": "d"})
    level = {
        "name": "DRAM",
        "latency_cycles": latency,
        "bandwidth_gb_per_s": rate,
        "ports": ports,
    }
    overrides = {"memory.levels": [level], "memory.outstanding_requests": outstanding}
    run = program.simulate({"b": np.ones(40)}, overrides=overrides, attribution=True)
    never_slower(run)


def test_work_that_depends_on_time_may_cost_cycles():
    level = {"name": "DRAM", "latency_cycles": 3}
    program = custard.compile("x = b(i) * c(i)", {"b": "s", "c": "s"}, ["skip(b,i)"])
    given = {"b": np.ones(5), "c": np.ones(5)}
    run = program.simulate(given, overrides={"memory.levels": [level]})
    assert why_timed(run) == [
        "a scanner that skips may run ahead of the messages that it skips by",
        "blocks that share a memory may be served in another order",
    ]


def test_a_config_that_has_queues_by_name_is_changed_there_too():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "ss", "x": "s", "y": "s"})
    overrides = {
        "queues.depth": 3,
        "queues.kinds.crd.depth": 1,
        "queues.names.drop_i.in_outer.depth": 1,
    }
    given = {"A": np.ones((6, 9)), "x": np.ones(9)}
    run = program.simulate(given, overrides=overrides, attribution=True)
    [change] = [one for one in changes(run) if one.what == "all queues unbounded"]
    assert change.overrides == {
        "queues.depth": "unbounded",
        "queues.kinds.crd.depth": "unbounded",
        "queues.names.drop_i.in_outer.depth": "unbounded",
    }
    ideal = program.simulate(given).cycles
    assert run.again(config=run.config, overrides=change.overrides).cycles == ideal < run.cycles


def test_queues_from_scanners_that_skip_are_tried_short():
    """b has all of 60 places and c each tenth. The intersecter fires every fourth cycle, so with
    long queues the scanner of b has given most coordinates before it is told to skip them."""
    program = custard.compile("x = b(i) * c(i)", {"b": "s", "c": "s"}, ["skip(b,i)"])
    inputs = {"b": np.ones(60), "c": 1.0 * (np.arange(60) % 10 == 9)}
    slow = {"blocks.names.intersect_i.initiation_interval_cycles": 4}
    run = program.simulate(inputs, overrides=slow, attribution=True)
    words = "the queues from scan_b_i to intersect_i with 2 places"
    [short] = [change for change in changes(run) if change.what == words]
    assert short.overrides == {
        "queues.names.scan_b_i.crd -> intersect_i.in_crd0.depth": 2,
        "queues.names.scan_b_i.ref -> intersect_i.in_ref0_0.depth": 2,
    }
    again = run.again(config=run.config, overrides=short.overrides, attribution=True)
    assert again.cycles < run.cycles / 2
    assert again.output.to_numpy() == run.output.to_numpy() == 6
    assert words not in [change.what for change in changes(again)]
