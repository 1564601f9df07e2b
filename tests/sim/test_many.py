"""Many machines at one go give what each of them gives alone."""

from functools import partial

import numpy as np
import pytest

import custard
import sim
from sam.support.errors import UserError
from sim import many
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

IKJ = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)"])
DENSE = np.arange(30).reshape(5, 6) % 4 * 1.0
INPUTS = {"B": DENSE, "C": DENSE.T}
CONFIGS = [
    "ideal",
    {"queues.depth": 2},
    {"queues.depth": 8, "queues.latency_cycles": 3},
    {"blocks.initiation_interval_cycles": 2, "queues.kinds.val.depth": 2},
]


def overridden(settings):
    """The ideal config with some settings by dotted key."""
    return load(None, settings)


def facts(run):
    """All that a run tells, but for the engine."""
    return (
        run.cycles,
        run.blocks,
        run.streams,
        run.memory,
        run.config,
        run.notes,
        run.sinks,
        None if run.output is None else run.output.to_numpy().tolist(),
    )


@pytest.mark.parametrize("engine", ["auto", "simpy", "compiled"])
def test_each_run_is_that_of_its_config(engine):
    loaded = [overridden(one) if isinstance(one, dict) else one for one in CONFIGS]
    told = {}
    runs = sim.simulate_many(IKJ.graph, INPUTS, loaded, engine=engine, finished=told.__setitem__)
    alone = [sim.simulate(IKJ.graph, INPUTS, one, engine=engine) for one in loaded]
    assert [*map(facts, runs)] == [*map(facts, alone)]
    assert [told[n] for n in range(len(runs))] == runs


def test_a_config_that_deadlocks_leaves_the_others_alone():
    program = custard.compile("x=b(i)*c(i)*d(i)")
    inputs = dict.fromkeys("bcd", np.ones(5))
    loaded = [overridden({"queues.depth": depth}) for depth in (1, 4)]
    wide = [*loaded, overridden({"queues.names.nobody.depth": 3})]
    found = sim.simulate_many(program.graph, inputs, wide, return_errors=True)
    expected = []
    for one in wide:
        try:
            expected.append(sim.simulate(program.graph, inputs, one).cycles)
        except UserError as mistake:
            expected.append(str(mistake))
    assert [one.cycles if isinstance(one, sim.Run) else str(one) for one in found] == expected
    with pytest.raises(UserError) as caught:
        sim.simulate_many(program.graph, inputs, wide)
    assert str(caught.value) == next(one for one in expected if isinstance(one, str))


@needs_compiler
def test_runs_of_some_milliseconds_take_kernels_that_are_at_hand(monkeypatch, tmp_path):
    """SimPy has them as long as kernels would have to be compiled first."""
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))
    monkeypatch.setattr(many, "FEW_EVENTS", 10)
    graph = custard.compile("x(i) = 0.3125 * b(i) + 0.0625 * c(i)").graph
    inputs = {"b": np.arange(4.0), "c": np.ones(4)}
    loaded = [overridden({"queues.depth": depth}) for depth in range(1, 6)]

    def engines(engine):
        return {run.engine for run in sim.simulate_many(graph, inputs, loaded, engine=engine)}

    assert engines("auto") == {"simpy"}
    assert engines("compiled") == {"compiled"}
    assert engines("auto") == {"compiled"}


def test_programs_of_several_graphs():
    program = custard.compile(
        "X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)", "precompute(B(i,k)*C(k,j),j,j,T)"]
    )
    loaded = [overridden({"queues.depth": depth}) for depth in (4, 16, "unbounded")]
    runs = program.simulate_many(INPUTS, loaded)
    alone = [program.simulate(INPUTS, one) for one in loaded]
    assert [*map(facts, runs)] == [*map(facts, alone)]
    limits = [run.cycles for run in runs]
    found = program.simulate_many(INPUTS, loaded, max_cycles=min(limits), return_errors=True)
    assert {type(one) for one in found} <= {sim.Run, sim.OutOfCycles}


def test_mistakes_come_at_once():
    with pytest.raises(UserError, match=r"^unknown engine fast\b"):
        sim.simulate_many(IKJ.graph, INPUTS, ["ideal"], engine="fast")
    with pytest.raises(UserError, match=r"^there is no config"):
        sim.simulate_many(IKJ.graph, INPUTS, ["ideal", "idael"])
    for run_each in (partial(sim.simulate_many, IKJ.graph), IKJ.simulate_many):
        for one, name in (("finite", "str"), ({"queues": {}}, "dict"), (None, "NoneType")):
            with pytest.raises(UserError, match=f"^configs is {name}, not a list of configs"):
                run_each(INPUTS, one)
    with pytest.raises(UserError, match=r"is not a graph\b"):
        sim.simulate_many(IKJ, INPUTS, ["ideal"])
