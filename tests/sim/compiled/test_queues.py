"""Queues of all depths and their peaks, as on the SimPy engine."""

import numpy as np
import pytest

import custard
from sim.binding import bind
from sim.compiled import engine as compiled_engine
from sim.compiled import parts
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from tests.support.compiler import needs_compiler
from tests.support.engines import outcome

pytestmark = needs_compiler


def test_queues_grow_as_far_as_needed():
    """A reducer holds back the values while the coordinates run ahead: 20,000 wait in a queue."""
    matrix = np.ones((1, 20000))
    program = custard.compile("X(i,j)=B(i,j)*c", {"B": "ss"})
    run = program.simulate({"B": matrix, "c": 2.0}, engine="compiled")
    assert run.output.to_numpy().sum() == 40000
    slow = {"blocks.kinds.array.initiation_interval_cycles": 3}
    held = program.simulate({"B": matrix, "c": 2.0}, overrides=slow, engine="compiled")
    again = program.simulate({"B": matrix, "c": 2.0}, overrides=slow, engine="simpy")
    assert held.streams == again.streams
    assert max(stream.peak for stream in held.streams.values()) > 12000


@pytest.mark.parametrize("slow", ["array", "level_scanner", "reducer"])
@pytest.mark.parametrize("latency", [1, 7])
def test_peaks_of_all_sizes(slow, latency):
    """Few tokens wait, then many, then few again; peaks grow fast, slowly, and in jumps."""
    lengths = [3, 40, 64, 65, 300, 20, 2500, 700, 1, 2600]
    rows = np.array([np.arange(3000) < length for length in lengths]).astype(float)
    config = {
        f"blocks.kinds.{slow}.initiation_interval_cycles": 3,
        "queues.latency_cycles": latency,
    }
    program = custard.compile("x(i)=B(i,j)*C(i,j)*d", {"B": "ss", "C": "ss"})
    inputs = {"B": rows, "C": rows * (np.arange(3000) % 3 > 0), "d": 2.0}
    simpy, compiled = (
        program.simulate(inputs, overrides=config, engine=name) for name in ("simpy", "compiled")
    )
    assert compiled.streams == simpy.streams
    assert compiled.cycles == simpy.cycles


@pytest.mark.parametrize("depth", [1, 2, 3, 12, 16])
@pytest.mark.parametrize("other", [1, 16, 40])
def test_short_queues(depth, other):
    """Blocks take turns token by token, over one queue or over several that fill differently."""
    generator = np.random.default_rng(depth)
    inputs = {name: generator.random((9, 9)) * (generator.random((9, 9)) < 0.4) for name in "BCD"}
    program = custard.compile(
        "X(i,j)=B(i,j)*C(i,k)*D(j,k)", {"B": "ss", "C": "ss", "D": "dd:1,0"}, ["reorder(i,j,k)"]
    )
    config = {
        "queues.depth": depth,
        "queues.kinds.ref.depth": other,
        "queues.latency_cycles": 7,
        "blocks.kinds.array.initiation_interval_cycles": 3,
        "blocks.kinds.level_scanner.initiation_interval_cycles": 1 + depth % 2,
    }
    assert outcome(program, inputs, config, "compiled") == outcome(program, inputs, config, "simpy")


@pytest.mark.parametrize("depth", [20, 40, 100])
@pytest.mark.parametrize(
    "slow", [{"write_X_j": 3}, {"write_X_vals": 3}, {"write_X_i": 3000, "write_X_j": 3}]
)
def test_some_outputs_are_full_for_long(slow, depth):
    """A block without room in one output goes on as long as it gives only to the others."""
    generator = np.random.default_rng(depth)
    inputs = {"B": generator.random((50, 50)), "C": generator.random((50, 50))}
    inputs = {name: one * (one < 0.2) for name, one in inputs.items()}
    program = custard.compile(
        "X(i,j)=B(i,k)*C(k,j)", {"X": "ss", "B": "ss", "C": "ss"}, ["reorder(i,k,j)"]
    )
    config = {
        "queues.depth": depth,
        "queues.names.drop_i.crd -> write_X_i.in_crd.depth": 20,
        "queues.names.drop_i.crd_inner -> write_X_j.in_crd.depth": 20,
        **{f"blocks.names.{name}.initiation_interval_cycles": n for name, n in slow.items()},
    }
    assert outcome(program, inputs, config, "compiled") == outcome(program, inputs, config, "simpy")


@pytest.mark.parametrize("seed", [4, 9, 13, 26, 65])
def test_peaks_of_takings_far_apart(seed):
    """Many tokens wait, and are taken one by one, or in bursts with long waits between them."""
    generator = np.random.default_rng(seed)
    rows, columns = int(generator.integers(2, 6)), 1200
    share = generator.choice([0.01, 0.03, 0.2], (rows, 1))
    here = (generator.random((rows, columns)) < share).astype(float)
    here[:, -1] = 1
    lengths = [int(generator.integers(200, columns)) for _ in range(rows)]
    waiting = np.array([np.arange(columns) < length for length in lengths]).astype(float)
    program = custard.compile("x(i)=B(i,j)*C(i,j)", {"B": "ss", "C": "ss"})
    config = {
        f"blocks.names.{name}.initiation_interval_cycles": int(generator.choice(intervals))
        for name, intervals in (
            ("intersect_i", [1, 2000, 20000, 60000, 100000]),
            ("scan_C_j", [300, 1500, 9000, 20000]),
        )
    }
    depth = int(generator.choice([0, 300, 1000, 2000, 4000]))
    config |= {"queues.depth": depth} if depth else {}
    simpy, compiled = (
        program.simulate({"B": waiting, "C": here}, overrides=config, engine=name)
        for name in ("simpy", "compiled")
    )
    assert compiled.streams == simpy.streams


def test_queues_shrink_back():
    """Stretches of a queue are freed as their tokens are taken."""
    bound = bind(
        custard.compile("X(i,j)=B(i,j)*c", {"B": "ss"}).graph, {"B": np.ones((1, 9000)), "c": 2.0}
    )
    slow = {"blocks.kinds.array.initiation_interval_cycles": 3}
    running = compiled_engine.CompiledRun(CompiledMachine(bound, load(None, slow)))
    try:
        running.run(None)
        running.report()
        queues = [channel.queue for channel in running.machine.channels.values()]
        assert max(queue.peak for queue in queues) > 3 * parts.PLACES
        assert all(queue.from_ == queue.to for queue in queues)
    finally:
        running.close()


def test_queues_as_deep_as_a_config_may_have_them():
    program, inputs = custard.compile("x(i)=A(i,j)"), {"A": np.ones((2, 3))}
    found = outcome(program, inputs, {"queues.depth": 10**6}, "compiled")
    assert found == outcome(program, inputs, {"queues.depth": 10**6}, "simpy")


@pytest.mark.parametrize("key", ["queues.latency_cycles", "blocks.initiation_interval_cycles"])
def test_cycles_that_are_too_far_apart_to_be_told_are_refused(key):
    program = custard.compile("x(i)=A(i,j)")
    config = {"queues.depth": 1, key: 10**9}
    text = outcome(program, {"A": np.ones((2, 2))}, config, "compiled")
    assert text.startswith("the run takes more than 2147483648 cycles, in which no block fires")
    found = program.simulate({"A": np.ones((2, 2))}, overrides=config, engine="simpy")
    assert found.cycles > 2**31
    assert found.output.to_numpy().tolist() == [2, 2]
