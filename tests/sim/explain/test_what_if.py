"""Changes that make a resource ideal."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from sam.support.errors import UserError
from sim.explain.what_if import changes
from tests.sim.compiled.test_engine import configs
from tests.support.profiles import examples
from tests.support.programs import programs

relaxed = settings(suppress_health_check=list(HealthCheck))


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
    never_slower(run)


@settings(relaxed, max_examples=examples(100))
@given(
    st.integers(1, 400),
    st.sampled_from([0.3, 2, 8, "unbounded"]),
    st.sampled_from([1, 2, "per_block"]),
    st.sampled_from([1, 4, "unbounded"]),
)
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
