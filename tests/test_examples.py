"""A block of one's own, on both engines; and one that the compiled engine cannot have."""

import sys
from pathlib import Path

import numpy as np
import pytest

import custard
import sim
from examples import custom_block
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, into, out
from sam.io import read as load
from sam.support.errors import UserError
from sam.token import DONE, format_stream, parse_stream
from tests.support.compiler import needs_compiler
from tests.support.streams import around

ROOT = Path(__file__).parents[1]

engines = pytest.mark.parametrize(
    "engine", ["simpy", pytest.param("compiled", marks=needs_compiler)]
)


@engines
def test_a_stream_through_the_pruner(engine):
    """It fires for each of the 11 tokens, from cycle 0 on; the sinks have the last in cycle 11."""
    inputs = {
        "in_crd": "0, 2, 5, S0, 1, S0, 0, 1, 2, S1, D",
        "in_val": "0.5, -2.0, 3.0, S0, N, S0, 4.0, 1.0, 1.5, S1, D",
    }
    graph = around("pruner", {"limit": 1.0, "most": 2}, inputs, {}, {})
    run = sim.simulate(graph, engine=engine)
    assert run.sinks["crd"] == parse_stream("2, 5, S0, S0, 0, 1, S1, D")
    assert run.sinks["val"] == parse_stream("-2.0, 3.0, S0, S0, 4.0, 1.0, S1, D")
    assert run.cycles == 12
    assert (run.blocks["block"].fired, run.blocks["block"].done) == (11, 1)


B = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
C = np.array([[1.0, 0.0, 4.0, 0.5], [0.0, -2.0, 0.1, 0.0], [1.0, 3.0, 0.0, 0.0]])
# B @ C is [[3, 6, 4, 0.5], [0, -6, 0.3, 0]].
PRUNED = [[3, 6, 0, 0], [0, -6, 0, 0]]


@engines
@pytest.mark.parametrize("order", ["i,j,k", "i,k,j", "k,i,j"])
def test_a_pruned_product(engine, order):
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=f"reorder({order})")
    graph = custom_block.with_pruner(program.graph, limit=1.0, most=2)
    run = sim.simulate(graph, {"B": B, "C": C}, engine=engine)
    np.testing.assert_array_equal(run.output.to_numpy(), PRUNED)
    assert run.output.nnz == 3


@needs_compiler
@pytest.mark.parametrize("depth", [2, 4, "unbounded"])
def test_both_engines_count_the_same_cycles(depth):
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule="reorder(i,k,j)")
    graph = custom_block.with_pruner(program.graph, limit=1.0, most=2)
    machine = {"queues.depth": depth, "blocks.kinds.pruner.initiation_interval_cycles": 3}
    one, other = (
        sim.simulate(graph, {"B": B, "C": C}, overrides=machine, engine=engine)
        for engine in ("simpy", "compiled")
    )
    assert (one.cycles, one.blocks, one.streams) == (other.cycles, other.blocks, other.streams)


def test_a_result_that_stores_every_entry_is_not_pruned():
    program = custard.compile("X(i,j)=B(i,j)", {"X": "dd"})
    with pytest.raises(ValueError, match="the last level of the result is not compressed"):
        custom_block.with_pruner(program.graph, limit=1.0, most=2)


@needs_compiler
def test_the_example_runs(capsys):
    assert custom_block.main() == 0
    assert "on compiled: 36 cycles, of which the pruner is busy 13" in capsys.readouterr().out


def magnitude(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    p.val.give(kind, abs(value))
    return True if kind == DONE else None


@pytest.fixture
def untranslatable(monkeypatch):
    """The graph of a block whose step calls abs."""
    kind = Kind(
        "magnitude", None, lambda _: Block((into("in_val", "val"), out("val", "val")), magnitude)
    )
    monkeypatch.setitem(KINDS, kind.name, kind)
    return around(kind.name, {}, {"in_val": "-2.0, 3.0, S0, D"}, {}, {})


@needs_compiler
def test_a_step_without_a_translation_is_refused(untranslatable):
    with pytest.raises(UserError) as refusal:
        sim.simulate(untranslatable, engine="compiled")
    assert str(refusal.value) == (
        "magnitude, in `p.val.give(kind, abs(value))`: the call abs(value) has no "
        "translation to C\nhint: use engine simpy"
    )


def test_a_step_without_a_translation_runs_on_simpy(untranslatable, monkeypatch):
    monkeypatch.setattr(sys.modules["sim.simulation"], "FEW_EVENTS", 0)
    monkeypatch.setattr(sys.modules["sim.simulation"], "_FEWEST_EVENTS", 0)
    run = sim.simulate(untranslatable, engine="auto", validate=False)
    assert run.engine == "simpy"
    assert format_stream(run.sinks["val"]) == "2.0, 3.0, S0, D"


@engines
@pytest.mark.parametrize(
    ("room", "cycles", "read"), [(None, 5944, (4076, 6812)), (2048, 8066, (4076, 16684))]
)
def test_a_machine_with_memory(engine, room, cycles, read):
    """The numbers of the README."""
    matrix = ROOT / "experiments/data/west0067.mtx"
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule="reorder(i,k,j)")
    run = program.simulate(
        {"B": load(matrix), "C": load(matrix)},
        config=ROOT / "examples/memory.yaml",
        overrides={"memory.levels.LLB.capacity_bytes": room} if room else {},
        engine=engine,
    )
    traffic = run.memory["DRAM"].tensors
    assert run.cycles == cycles
    assert (traffic["B"].bytes_read, traffic["C"].bytes_read) == read
