"""Configs whose memory takes time are timed from shared firings, as each is alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import custard
import sim
from sim.binding import bind
from sim.config.hardware import load
from sim.retiming import batch
from sim.retiming.serving import Serving
from tests.sim.retiming.test_batch import PRODUCT, ROWS, THREE, agree, compiled, matrices, relaxed
from tests.support.compiler import needs_compiler
from tests.support.configs import memory_levels, with_memory
from tests.support.profiles import PROFILE, examples
from tests.support.programs import programs

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Batches of any size are run as such."""
    monkeypatch.setattr(batch, "FEW", 0)


@settings(relaxed, max_examples=1000 if PROFILE == "full" else 16)
@given(programs(), st.data())
def test_random_programs_with_memory(program, data):
    one = with_memory(*program.tensors, "X")
    agree(compiled(program), program.tensors, data.draw(st.lists(one, min_size=1, max_size=8)))


LANES = custard.compile(
    "X(i,j)=B(i,k)*C(k,j)", {"B": "ss", "C": "ss"}, ["reorder(i,k,j)", "parallelize(i,Lanes,3)"]
)


WINDOWS = custard.compile("X(i,j)=B(i+k,j)*C(k,j)", {"B": "ss", "C": "ss"}, ["reorder(i,k,j)"])


@settings(relaxed, max_examples=examples(300, compiles=True))
@given(
    st.sampled_from([PRODUCT, ROWS, LANES, WINDOWS]),
    st.integers(0, 2**32),
    st.sampled_from([0.1, 0.5, 1.0]),
    st.lists(with_memory("B", "C", "X"), min_size=1, max_size=12),
)
def test_products_with_memory(program, seed, density, settings):
    inputs = matrices(seed, 12, density)
    if program is WINDOWS:
        inputs["C"] = inputs["C"][:3]
    agree(program, inputs, settings, ("compiled",))


@st.composite
def with_tiles(draw):
    """Configs whose tiles come into one memory or two, through ports that blocks share."""
    names, buffers = ["m1", "m2"][: draw(st.integers(1, 2))], draw(st.sampled_from([2, 3]))
    levels = [draw(memory_levels(name, line_bytes=None)) for name in ("dram", *names)]
    tiles = [{"memory": name, "tile": 4, "buffers": buffers} for name in names]
    section = {"memory.levels": levels, "tiling.levels": tiles}
    depths = draw(st.lists(st.sampled_from([2, 4, 8, 20, "unbounded"]), min_size=1, max_size=5))
    return [{**section, "queues.depth": depth} for depth in depths]


TILED = {
    levels: custard.compile(
        "X(i,j)=B(i,k)*C(k,j)", dict.fromkeys("XBC", "ss"), ["reorder(i,k,j)", tile]
    )
    for levels, tile in ((1, "tile(4)"), (2, "tile(4,2)"))
}


@settings(relaxed, max_examples=examples(300, compiles=True))
@given(with_tiles(), st.integers(0, 2**32), st.sampled_from([0.1, 0.5, 1.0]))
def test_products_with_tiles(settings, seed, density):
    program = TILED[len(settings[0]["tiling.levels"])]
    agree(program, matrices(seed, 9, density), settings, ("compiled",))


def test_outer_ports_that_take_no_time_keep_the_order_of_requests():
    """The inner level asks DRAM late for B, and C, which asks after B, waits for that."""
    program = custard.compile("X=B(i)+(C(i)+D(i))", {"B": "d", "C": "d", "D": "s"})
    dram = {"name": "DRAM", "bandwidth_gb_per_s": "unbounded"}
    buffer = {"name": "LLB", "bandwidth_gb_per_s": 0.3, "ports": 2, "capacity_bytes": 64}
    settings = [{"memory.levels": [dram, buffer], "memory.outstanding_requests": 1}]
    agree(program, dict.fromkeys("BCD", np.zeros(1)), settings, ("simpy", "compiled"))
    run = program.simulate(dict.fromkeys("BCD", np.zeros(1)), load(None, settings[0]))
    assert run.blocks["reduce_i_2"].starved["in_val"] > 20


@pytest.mark.parametrize("depth", [2, 4])
def test_requests_out_of_order_hold_up_no_other(depth):
    """Ports of the inner level take no time; parts ask early for lines that they know."""
    program = custard.compile("y(i)=x(i+j)*w(j)", {"x": "s", "w": "s"})
    inputs = {"x": np.ones(20), "w": np.ones(3)}
    settings = [{"memory.levels": [DRAM, {"name": "LLB", "line_bytes": 64}], "queues.depth": depth}]
    agree(program, inputs, settings, ("simpy", "compiled"))


def served(monkeypatch):
    """The configs that are timed from given firings from here on."""
    found = []
    run = Serving.run

    def record(serving):
        run(serving)
        found.append(serving.finished)

    monkeypatch.setattr(Serving, "run", record)
    return found


DRAM = {"name": "DRAM", "bandwidth_gb_per_s": 8, "latency_cycles": 20}


def test_configs_of_other_memories_share_their_firings(monkeypatch):
    found = served(monkeypatch)
    buffers = [{"name": "LLB", "capacity_bytes": 256 << n, "line_bytes": 16} for n in range(4)]
    settings = [
        {"memory.levels": [DRAM, buffer], "queues.depth": depth, "clock.clock_ghz": clock}
        for buffer in buffers
        for depth, clock in ((2, 1.0), (8, 0.5))
    ]
    agree(ROWS, matrices(9, 12), settings, ("compiled",))
    assert found == [True] * 8


@pytest.mark.parametrize("order", ["i,k,j", "i,j,k"])
def test_levels_that_locate_are_served(monkeypatch, order):
    found = served(monkeypatch)
    program = custard.compile(
        "X(i,j)=B(i,k)*C(k,j)",
        {"B": "CSR", "C": "CSR" if order == "i,k,j" else "CSC", "X": "CSR"},
        [f"reorder({order})"],
    )
    settings = [{"memory.levels": [DRAM], "queues.depth": depth} for depth in (4, 8, 16)]
    agree(program, matrices(11, 9), settings, ("compiled",))
    assert found == [True] * 3


def test_deadlocks_and_memories_that_are_too_small_run_alone(monkeypatch):
    found = served(monkeypatch)
    inputs = {name: 1.0 * (np.arange(40) % (n + 2) == 0) for n, name in enumerate("bcde")}
    small = {"name": "LLB", "capacity_bytes": 8, "line_bytes": 64}
    holds_no_result = {
        "memory.levels": [DRAM, {**small, "capacity_bytes": 300}],
        "memory.places": {"x": "LLB"},
    }
    settings = [
        {"memory.levels": [DRAM, small]},
        {"memory.levels": [DRAM]},
        {"memory.levels": [DRAM], "queues.depth": 1},
        holds_no_result,
    ]
    agree(THREE, inputs, settings, ("compiled",))
    assert len(found) == 3
    loaded = [load(None, one) for one in settings]
    runs = THREE.simulate_many(inputs, loaded, engine="compiled", return_errors=True)
    assert [isinstance(run, sim.Run) for run in runs] == [False, True, True, False]


def test_a_deadlock_before_memory_runs_alone(monkeypatch):
    found = served(monkeypatch)
    settings = [{"memory.levels": [DRAM], "queues.depth": depth} for depth in (1, 4, 8)]
    agree(ROWS, matrices(6), settings, ("compiled",))
    assert found == [False, True, True]


def test_tiles_are_served(monkeypatch):
    found = served(monkeypatch)
    buffer = {"name": "LLB", "capacity_bytes": 2000}
    tiled = {
        "memory.levels": [DRAM, buffer],
        "tiling.levels": [{"memory": "LLB", "tile": 4, "buffers": 2}],
    }
    settings = [{**tiled, "queues.depth": depth} for depth in (4, 8, 16, "unbounded")]
    formats = {"B": "ss", "C": "ss"}
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", formats, ["reorder(i,k,j)", "tile(4)"])
    agree(program, matrices(10, 12), settings, ("compiled",))
    assert found == [True] * 4


def test_too_many_codes_are_not_served(monkeypatch):
    found = served(monkeypatch)
    bound = bind(ROWS.graph, matrices(4, size=40))
    loaded = [load(None, {"memory.levels": [DRAM], "queues.depth": n}) for n in (2, 4, 8, 16)]
    left = batch.run(bound, loaded, [None] * 4, lambda *_: None, most_bytes=2000)
    assert (left, found) == ([0, 1, 2, 3], [])


def test_a_limit_of_cycles_holds_where_memory_takes_time():
    loaded = [load(None, {"memory.levels": [DRAM], "queues.depth": n}) for n in (16, 8, 5, 4)]
    cycles = [ROWS.simulate(matrices(6), one).cycles for one in loaded]
    runs = ROWS.simulate_many(
        matrices(6), loaded, engine="compiled", max_cycles=cycles[1], return_errors=True
    )
    expected = [n if n <= cycles[1] else None for n in cycles]
    assert [getattr(run, "cycles", None) for run in runs] == expected
    assert None in expected
