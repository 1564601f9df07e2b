"""How configs are called."""

import json

import numpy as np
import pytest

import custard
import sim
from sam.support.errors import UserError
from sim.config.hardware import load
from sim.config.naming import called, ran_on

DRAM = {"name": "DRAM", "latency_cycles": 3}


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({}, "finite"),
        ({"queues.depth": 8}, "finite with queues.depth=8"),
        ({"queues.depth": np.int64(8)}, "finite with queues.depth=8"),
        ({"queues.depth": 4}, "finite"),  # as it is
        (
            {"queues.depth": "unbounded", "clock.clock_ghz": 1.5},
            "finite with queues.depth=unbounded, clock.clock_ghz=1.5",
        ),
        (
            {"queues.names.a.x -> b.in_y.depth": 2},
            "finite with queues.names.a.x -> b.in_y.depth=2",
        ),
        ({"clock.clock_ghz": 2}, "finite with clock.clock_ghz=2"),
        ({"memory.levels": [DRAM]}, "finite with memory.levels=[DRAM]"),
        ({"queues.kinds.val": {"depth": 2}}, "finite with queues.kinds.val={depth: 2}"),
        ({"description": "mine"}, "finite"),
        ({"name": "mine", "queues.depth": 2}, "mine with queues.depth=2"),
    ],
)
def test_changes_are_told_with_the_name(overrides, name):
    assert load("finite", overrides).called == name


def test_of_many_changes_the_first_are_told():
    changes = {f"blocks.kinds.{kind}.latency_cycles": 2 for kind in ("alu", "array", "reducer")}
    changes |= {"queues.depth": 1, "queues.latency_cycles": 2}
    kinds = ", ".join(f"blocks.kinds.{kind}.latency_cycles=2" for kind in ("alu", "array"))
    told = load("ideal", changes).called
    assert told.startswith(f"ideal with {kinds}, ")
    assert told.endswith("queues.depth=1, queues.latency_cycles=2")
    more = load("ideal", changes | {"clock.clock_ghz": 2}).called
    assert more.endswith("queues.depth=1 and 2 more")


def test_a_config_is_changed_twice():
    once = load("ideal", {"queues.depth": 8, "memory.levels": [DRAM]})
    twice = load(once, {"queues.depth": 2, "memory.levels.DRAM.latency_cycles": 7})
    assert twice.called == (
        "ideal with queues.depth=2, memory.levels=[DRAM], memory.levels.DRAM.latency_cycles=7"
    )
    gone = load(twice, {"memory.levels": []})
    assert gone.called == "ideal with queues.depth=2, memory.levels=[]"
    assert once.called == "ideal with queues.depth=8, memory.levels=[DRAM]"


def test_a_saved_config_keeps_its_changes():
    config = load("ideal", {"queues.depth": 8})
    saved = json.loads(json.dumps(config.resolved()))
    assert load(saved) == config
    assert load(saved).called == called(saved) == "ideal with queues.depth=8"
    assert "changed" not in load("ideal").resolved()


def test_a_run_tells_what_was_changed():
    program = custard.compile("y(i) = a(i) * b(i)", {"a": "d", "b": "d"})
    inputs = {"a": np.ones(3), "b": np.ones(3)}
    for run in (
        program.simulate(inputs, "finite", overrides={"queues.depth": 2}),
        sim.simulate(program.graph, inputs, "finite", {"queues.depth": 2}),
        program.simulate(inputs, load("finite", {"queues.depth": 2})),
        *sim.simulate_many(program.graph, inputs, ["finite"], {"queues.depth": 2}),
    ):
        assert called(run.config) == "finite with queues.depth=2"
        assert "cycles on finite with queues.depth=2, engine" in repr(run)
        assert "on finite with queues.depth=2, engine" in run._repr_html_()
        machine = f"config finite with queues.depth=2, engine {run.engine}"
        assert run.explain().lines()[1] == f"  {machine}"
        assert run.explain().as_json()["machine"] == machine == ran_on(run.config, run.engine)
        assert "<dd>finite with queues.depth=2</dd>" in run.to_html(explained=False)


@pytest.mark.parametrize("keys", [3, "queues.depth", [1], {"queues": 2}])
def test_keys_are_texts(keys):
    with pytest.raises(UserError, match="it must be a list of keys"):
        load({"changed": keys})


@pytest.mark.parametrize("keys", [3, "queues.depth", [1, "nothing", "queues.depth.x", ""], None])
def test_records_that_people_change_are_told_all_the_same(keys):
    assert called({"name": "mine", "changed": keys, "queues": {"depth": 2}}) == "mine"
