"""One simulation: which engine runs it, and what is refused."""

import numpy as np
import pytest

import custard
import sim
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sim import simulation
from tests.support.compiler import needs_compiler

PROGRAM = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"})
INPUTS = {"b": np.array([1.0, 0, 2])}


@pytest.mark.parametrize("engine", ["simpy", "compiled", "auto"])
def test_every_engine_reports_the_same_run(engine):
    if engine == "compiled" and not cc.available():
        pytest.skip("needs a C compiler")
    run = sim.simulate(PROGRAM.graph, INPUTS, engine=engine)
    due = sim.simulate(PROGRAM.graph, INPUTS, engine="simpy")
    assert run.output.to_numpy().tolist() == [1, 0, 2]
    assert (run.cycles, run.blocks, run.streams) == (due.cycles, due.blocks, due.streams)


def test_a_short_run_is_left_to_simpy(monkeypatch):
    monkeypatch.setenv("SAM_VALIDATE", "0")
    assert sim.simulate(PROGRAM.graph, INPUTS).engine == "simpy"


@needs_compiler
def test_a_longer_run_is_left_to_the_compiled_engine(monkeypatch):
    monkeypatch.setenv("SAM_VALIDATE", "0")
    monkeypatch.setattr(simulation, "FEW_EVENTS", 10)
    monkeypatch.setattr(simulation, "_FEWEST_EVENTS", 10)
    monkeypatch.setattr(simulation, "MANY_EVENTS", 10)
    assert sim.simulate(PROGRAM.graph, INPUTS).engine == "compiled"


@needs_compiler
def test_a_run_of_some_milliseconds_takes_kernels_that_are_at_hand(monkeypatch, tmp_path):
    """SimPy has it as long as they would have to be compiled first."""
    monkeypatch.setenv("SAM_VALIDATE", "0")
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))
    monkeypatch.setattr(simulation, "FEW_EVENTS", 10)
    monkeypatch.setattr(simulation, "_FEWEST_EVENTS", 10)
    assert sim.simulate(PROGRAM.graph, INPUTS).engine == "simpy"
    due = sim.simulate(PROGRAM.graph, INPUTS, engine="compiled")
    run = sim.simulate(PROGRAM.graph, INPUTS)
    assert run.engine == "compiled"
    assert run.cycles == due.cycles
    finite = sim.simulate(PROGRAM.graph, INPUTS, overrides={"queues.depth": 3})
    assert finite.engine == "simpy"


@needs_compiler
def test_kernels_that_are_loaded_are_taken_sooner(monkeypatch):
    monkeypatch.setenv("SAM_VALIDATE", "0")
    monkeypatch.setattr(simulation, "_FEWEST_EVENTS", 10)
    first, second = (custard.compile("x(i) = b(i)", PROGRAM.formats).graph for _ in range(2))
    assert sim.simulate(first, INPUTS).engine == "simpy"
    sim.simulate(first, INPUTS, engine="compiled")
    assert sim.simulate(first, INPUTS).engine == "compiled"
    assert sim.simulate(second, INPUTS).engine == "simpy"


def test_a_longer_run_without_a_compiler_is_left_to_simpy(monkeypatch):
    monkeypatch.setenv("SAM_VALIDATE", "0")
    monkeypatch.setattr(simulation, "FEW_EVENTS", 10)
    monkeypatch.setattr(simulation, "_FEWEST_EVENTS", 10)
    monkeypatch.setattr(simulation, "MANY_EVENTS", 10)
    monkeypatch.setattr(cc, "available", lambda: False)
    assert sim.simulate(PROGRAM.graph, INPUTS).engine == "simpy"


def test_a_run_can_be_repeated_with_other_arguments():
    run = sim.simulate(PROGRAM.graph, INPUTS, engine="simpy")
    slow = run.again(overrides={"queues.latency_cycles": 9})
    assert slow.cycles > run.cycles
    assert slow.output.to_numpy().tolist() == [1, 0, 2]


def test_each_token_with_its_cycles():
    run = sim.simulate(PROGRAM.graph, INPUTS, tokens=True)
    passed = run.log.tokens["array_b.val -> write_x_vals.in_val"]
    assert [token.value for token in passed[:2]] == [1.0, 2.0]
    assert all(token.given < token.visible <= token.taken for token in passed)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"engine": "sympy"}, "unknown engine sympy\nhint: did you mean simpy?"),
        (
            {"engine": "compiled", "validate": True},
            "the engine compiled does not validate streams\nhint: use engine simpy",
        ),
        ({"max_cycles": 3}, None),
    ],
)
def test_mistakes(arguments, text):
    with pytest.raises(UserError) as caught:
        sim.simulate(PROGRAM.graph, INPUTS, **arguments)
    assert text is None or str(caught.value) == text


def test_other_objects_than_graphs_are_refused():
    with pytest.raises(UserError) as caught:
        sim.simulate(PROGRAM, INPUTS)
    assert str(caught.value) == (
        "SamProgram is not a graph\nhint: program.graph, or sam.dot.from_dot(text)"
    )


def test_a_graph_that_needs_another():
    program = custard.compile(
        "y(i) = A(i,j) * x(j)", {"w": "ds"}, ["precompute(A(i,j) * x(j), j, jw, w)"]
    )
    second = program.graphs[-1]
    with pytest.raises(UserError) as caught:
        sim.simulate(second, {"A": np.eye(2), "x": np.ones(2)})
    assert str(caught.value).startswith("w is computed by another graph of the program\nhint: ")


@pytest.mark.parametrize("limit", [-1, 2.5, "9", True])
def test_a_limit_is_a_whole_number(limit):
    said = f"^max_cycles is {limit!r}, which is not a whole number of at least 0$"
    for simulate, configs in (
        (PROGRAM.simulate, []),
        (PROGRAM.simulate_many, [["ideal"]]),
        (lambda *given, **more: sim.simulate_many(PROGRAM.graph, *given, **more), [["ideal"]]),
    ):
        with pytest.raises(UserError, match=said):
            simulate(INPUTS, *configs, max_cycles=limit)
    assert PROGRAM.simulate(INPUTS, max_cycles=np.int64(99)).cycles < 99
