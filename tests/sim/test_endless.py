"""Runs that would not end: no progress, a limit of cycles, queues that fill the memory."""

from types import SimpleNamespace

import numpy as np
import pytest

import custard
import sim
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, into, out
from sam.graph import Edge, End, Graph, Node
from sam.support import free_memory
from sam.support.errors import UserError
from sam.token import DATA
from tests.support.compiler import needs_compiler

engines = pytest.mark.parametrize(
    "engine",
    [
        "simpy",
        pytest.param(
            "compiled",
            marks=needs_compiler,
        ),
    ],
)


def idle(p, s, m):
    """Looks at its input, and does nothing."""
    p.in_val.peek()
    return None


def gush(p, s, m):
    """Gives the first value again and again."""
    _, value = p.in_val.peek()
    p.val.give(DATA, value)
    return None


def graph(step, monkeypatch) -> Graph:
    kind = Kind(
        "endless",
        None,
        lambda parameters: Block(
            ports=(into("in_val", "val"), out("val", "val")),
            step=step,
            memory=lambda around: SimpleNamespace(),
        ),
    )
    monkeypatch.setitem(KINDS, kind.name, kind)
    tokens = {"tokens": "1.5, S0, D", "stream": "val", "depth": 1}
    nodes = Node("source", "source", tokens), Node("spin", kind.name), Node("sink", "sink")
    edges = (
        Edge(End("source", "val"), End("spin", "in_val")),
        Edge(End("spin", "val"), End("sink", "in_stream")),
    )
    return Graph(nodes, edges)


@engines
def test_a_block_that_makes_no_progress_is_told(engine, monkeypatch):
    with pytest.raises(UserError) as caught:
        sim.simulate(graph(idle, monkeypatch), {}, engine=engine)
    assert str(caught.value).startswith("no progress: spin fires again and again, and neither")


@engines
def test_a_block_that_gives_for_ever_is_ended(engine, monkeypatch):
    """By a limit of cycles, or when the memory is nearly full."""
    endless = graph(gush, monkeypatch)
    with pytest.raises(UserError, match="the run is not done after 5000 cycles"):
        sim.simulate(endless, {}, engine=engine, max_cycles=5000)
    monkeypatch.setattr(free_memory, "available", lambda: 1000)
    with pytest.raises(UserError) as caught:
        sim.simulate(endless, {}, engine=engine)
    assert "there is no memory for the tokens in the queues" in str(caught.value)


@engines
def test_what_a_run_has_reached_at_its_limit(engine):
    """Of y = 2 b with 6 entries: the scanner gives one in each cycle, and all blocks follow."""
    program = custard.compile("y(i) = 2 * b(i)")
    with pytest.raises(sim.OutOfCycles) as caught:
        program.simulate({"b": np.arange(1.0, 7)}, engine=engine, max_cycles=5)
    run = caught.value.reached
    assert run.cycles == 5
    assert run.output is None
    assert run.engine == engine
    assert run.blocks["scan_b_i"].fired == 5
    assert run.blocks["scan_b_i"].done == 0
    assert run.blocks["array_b"].fired == 4
    for block in run.blocks.values():
        waits = sum(block.starved.values()) + sum(block.blocked.values())
        assert block.busy + waits + block.memory + block.done == 5
    assert run.streams["scan_b_i.ref -> array_b.in_ref"].tokens["data"] == 5


@engines
def test_what_a_program_of_two_graphs_has_reached(engine):
    program = custard.compile(
        "y(i) = A(i,j) * x(j) * x(j)", schedule=["precompute(x(j)*x(j),j,j,w)"]
    )
    inputs = {"A": np.eye(4), "x": np.ones(4)}
    parts = program.simulate(inputs, engine=engine).parts
    limit = parts[0].cycles + 2
    with pytest.raises(sim.OutOfCycles, match=f"not done after {limit} cycles") as caught:
        program.simulate(inputs, engine=engine, max_cycles=limit)
    reached = caught.value.reached
    assert reached.cycles == limit
    assert [part.cycles for part in reached.parts] == [parts[0].cycles, 2]
    [failed] = program.simulate_many(
        inputs, [{}], engine=engine, max_cycles=limit, return_errors=True
    )
    assert failed.reached.blocks == reached.blocks


@engines
def test_a_limit_of_cycles(engine):
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule="reorder(i,k,j)")
    inputs = {"B": np.eye(5), "C": np.eye(5)}
    cycles = sim.simulate(program.graph, inputs, engine=engine).cycles
    run = sim.simulate(program.graph, inputs, engine=engine, max_cycles=cycles)
    assert run.cycles == cycles
    with pytest.raises(UserError) as caught:
        program.run(inputs, engine=engine, max_cycles=cycles - 1)
    assert str(caught.value) == (
        f"the run is not done after {cycles - 1} cycles, the limit that it was given\n"
        "hint: raise --max-cycles (max_cycles in Python, limits.cycles in a sweep)"
    )
