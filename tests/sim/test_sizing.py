"""The smallest queues: none can be a place shorter without more cycles."""

import json
from pathlib import Path

import numpy as np
import pytest

import custard
from custard.language import notation
from sam.support.errors import UserError
from sim.config.hardware import load
from tests.support.compiler import needs_compiler
from tests.support.profiles import PROFILE

ROOT = Path(__file__).parents[2]
TABLE_1 = json.loads((ROOT / "experiments/data/sam_paper_tables.json").read_text())["table1"]
PROGRAMS = {name: row[0] for name, row in TABLE_1["rows"].items()}


def inputs_of(expression, size=5, seed=1):
    generator = np.random.default_rng(seed)
    _, _, right = expression.partition("=")
    return {
        access.tensor: generator.random((size,) * len(access.indices))
        * (generator.random((size,) * len(access.indices)) < 0.6)
        for access in notation.accesses(notation.parse(expression))
        if f"{access.tensor}(" in right or (not access.indices and access.tensor in right)
    }


def cycles(program, inputs, config):
    """The cycles on SimPy, or none in a deadlock."""
    try:
        return program.simulate(inputs, config, engine="simpy", validate=False).cycles
    except UserError as mistake:
        if "deadlock" in str(mistake):
            return float("inf")
        raise


def lowered(config, queue):
    """A config with one place less in a queue."""
    names = config["queues"]["names"]
    return load(config, {f"queues.names.{queue}.depth": names[queue]["depth"] - 1})


@needs_compiler
@pytest.mark.parametrize("name", sorted(PROGRAMS) if PROFILE == "full" else ["SpMV", "SpM*SpM"])
@pytest.mark.parametrize("slack", [0, 0.05])
def test_table_1(name, slack):
    """Each run that this compares is one of SimPy alone."""
    program = custard.compile(PROGRAMS[name])
    inputs = inputs_of(PROGRAMS[name])
    sizing = program.size_queues(inputs, slack=slack, engine="compiled")
    fewest = cycles(program, inputs, "ideal")
    assert sizing.fewest == fewest
    assert cycles(program, inputs, sizing.config) == sizing.cycles <= fewest * (1 + slack)
    assert sizing.words == sum(sizing.depths.values()) <= sizing.unbounded_words
    for queue, depth in sizing.depths.items():
        if depth > 1:
            assert cycles(program, inputs, lowered(sizing.config, queue)) > fewest * (1 + slack)


def test_latencies_of_the_config_are_kept():
    program = custard.compile("x(i)=b(i)*c(i)", {"b": "s", "c": "s"})
    inputs = {name: np.ones(7) for name in "bc"}
    slow = {"queues.latency_cycles": 3, "queues.kinds.val.depth": 1, "queues.depth": 2}
    sizing = program.size_queues(inputs, load(None, slow), engine="simpy")
    assert sizing.config["queues"]["latency_cycles"] == 3
    assert "kinds" not in sizing.config["queues"] or not sizing.config["queues"]["kinds"]["val"]
    assert sizing.fewest == cycles(program, inputs, load(None, {"queues.latency_cycles": 3}))
    assert sizing.cycles == sizing.fewest
    edges = {str(edge) for edge in program.graph.edges if edge.source.node != "root"}
    assert sizing.depths.keys() == edges


def test_memory_that_takes_time_is_no_hindrance():
    program = custard.compile("x(i)=b(i)*c(i)", {"b": "s", "c": "s"})
    inputs = {name: np.ones(5) for name in "bc"}
    memory = {"memory.levels": [{"name": "DRAM", "latency_cycles": 4, "bandwidth_gb_per_s": 8}]}
    sizing = program.size_queues(inputs, load(None, memory), engine="simpy")
    assert cycles(program, inputs, sizing.config) == sizing.cycles <= sizing.fewest
    for queue, depth in sizing.depths.items():
        if depth > 1:
            shorter = lowered(sizing.config, queue)
            assert cycles(program, inputs, shorter) > sizing.fewest


def test_mistakes():
    program = custard.compile(
        "X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)", "precompute(B(i,k)*C(k,j),j,j,T)"]
    )
    with pytest.raises(UserError) as caught:
        program.size_queues({"B": np.eye(2), "C": np.eye(2)})
    assert str(caught.value) == (
        "the program has 2 graphs, for T, X, and queues are sized for one\n"
        "hint: leave out precompute, or size each statement by itself"
    )
    program = custard.compile("x=y")
    for slack in (-1, "1%", float("nan"), None):
        with pytest.raises(UserError, match=rf"^the slack is {slack!r}, not a number of 0 or more"):
            program.size_queues({"y": 2.0}, slack=slack)
