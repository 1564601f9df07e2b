"""Batches give what each config gives alone, to the last cycle, deadlocks included."""

from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
import sim
from sam.blocks import KINDS, StreamError
from sam.blocks.base import Block, Kind, into, out
from sam.graph import Node
from sam.support.c_compiler import NotAtHand
from sam.support.errors import UserError
from sam.token import DONE
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import elaborate
from sim.retiming import batch
from sim.retiming.firings import Firings
from sim.retiming.timing import Timing
from tests.support.compiler import needs_compiler
from tests.support.configs import configs, cycles
from tests.support.profiles import PROFILE, examples
from tests.support.programs import programs

pytestmark = needs_compiler

relaxed = settings(suppress_health_check=list(HealthCheck))

times = st.fixed_dictionaries(
    {},
    optional={
        "queues.depth": st.sampled_from([1, 2, 3, 5, 17, 100, "unbounded"]),
        "queues.latency_cycles": cycles,
        "queues.kinds.ref.depth": st.sampled_from([1, 2, 40]),
        "queues.kinds.crd.depth": st.sampled_from([1, 3, "unbounded"]),
        "blocks.latency_cycles": cycles,
        "blocks.kinds.level_scanner.initiation_interval_cycles": st.sampled_from([1, 2, 7]),
        "blocks.kinds.array.latency_cycles": st.sampled_from([1, 9]),
    },
)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Batches of any size are run as such."""
    monkeypatch.setattr(batch, "FEW", 0)


def told(run: Any) -> Any:
    """All that is known of a run, or the text of an error."""
    if isinstance(run, UserError | StreamError):
        return str(run)
    values = None if run.output is None else repr(run.output.to_numpy().tolist())
    facts = run.cycles, run.blocks, run.streams, run.memory, run.config, run.notes, run.sinks
    return *facts, values


def alone(program: Any, inputs: Any, config: Any, engine: str) -> Any:
    try:
        return told(program.simulate(inputs, config, engine=engine, validate=False))
    except (UserError, StreamError) as mistake:
        return str(mistake)


def agree(program: Any, inputs: Any, settings: Any, engines: Any = ("simpy",)) -> None:
    loaded = [load(None, one) for one in settings]
    runs = program.simulate_many(inputs, loaded, engine="compiled", return_errors=True)
    for engine in engines:
        assert [*map(told, runs)] == [alone(program, inputs, one, engine) for one in loaded]


def compiled(program: Any) -> Any:
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    return custard.compile(program.expression, program.formats, schedule, dims=program.dims)


@settings(relaxed, max_examples=700 if PROFILE == "full" else 12)
@given(programs(), st.lists(configs, min_size=1, max_size=16))
def test_random_programs_and_configs(program, settings):
    agree(compiled(program), program.tensors, settings)


@settings(relaxed, max_examples=300 if PROFILE == "full" else 3)
@given(
    programs(max_operands=4, max_order=4, explicit_sums=True, operators="+-*/"),
    st.lists(times, min_size=1, max_size=16),
)
def test_larger_programs_and_configs(program, settings):
    agree(compiled(program), program.tensors, settings)


PRODUCT = custard.compile("X(i,j)=B(i,k)*C(k,j)", {"B": "ss", "C": "ss"}, ["reorder(i,j,k)"])
ROWS = custard.compile("X(i,j)=B(i,k)*C(k,j)", {"B": "ss", "C": "ss"}, ["reorder(i,k,j)"])
DEPTHS = [2, 3, 4, 8, "unbounded"]
THREE = custard.compile("x(i)=b(i)*c(i)*d(i)+e(i)")


def matrices(seed, size=6, density=0.4):
    generator = np.random.default_rng(seed)
    return {n: 1.0 * (generator.random((size, size)) < density) for n in "BC"}


@settings(relaxed, max_examples=examples(300, compiles=True))
@given(
    st.sampled_from([PRODUCT, ROWS]),
    st.integers(0, 2**32),
    st.sampled_from([0.1, 0.5, 1.0]),
    st.lists(times, min_size=1, max_size=20),
)
def test_products_under_many_configs(program, seed, density, settings):
    agree(program, matrices(seed, density=density), settings)


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(st.lists(times, min_size=1, max_size=16), st.integers(0, 2**32))
def test_configs_that_deadlock_leave_the_others_alone(settings, seed):
    generator = np.random.default_rng(seed)
    inputs = {name: 1.0 * (generator.random(40) < 0.5) for name in "bcde"}
    agree(THREE, inputs, settings)


def timed(monkeypatch):
    """Counts the configs that are timed together from here on."""
    found = []
    run = Timing.run

    def record(timing):
        run(timing)
        found.append(int(timing.live.sum()))

    monkeypatch.setattr(Timing, "run", record)
    return found


def test_a_batch_finds_the_firings_once(monkeypatch):
    found = timed(monkeypatch)
    loaded = [load(None, {"queues.depth": depth}) for depth in DEPTHS]
    runs = sim.simulate_many(PRODUCT.graph, matrices(1), loaded, engine="compiled")
    assert found == [5]
    assert [run.config["queues"]["depth"] for run in runs] == DEPTHS


def test_the_code_that_times_a_batch_is_at_hand_with_its_kernels(monkeypatch, tmp_path):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))
    program = custard.compile("x(i) = b(i) * c(i)")
    bound = bind(program.graph, {"b": np.ones(3), "c": np.ones(3)})
    many = [load(None, {"queues.depth": depth}) for depth in (2, 4, 8)]
    with closing(Firings(elaborate(bound, many[0]), 1 << 20)):
        made = len(list(tmp_path.rglob("*.so")))  # the kernels alone
    found: dict[int, Any] = {}
    with pytest.raises(NotAtHand):
        batch.run(bound, many, [None] * 3, found.__setitem__, at_hand=True)
    assert not found
    assert len(list(tmp_path.rglob("*.so"))) == made
    assert batch.run(bound, many, [None] * 3, found.__setitem__) == []
    batch.run(bound, many, [None] * 3, found.__setitem__, at_hand=True)
    assert sorted(found) == [0, 1, 2]


def test_more_configs_than_lanes(monkeypatch):
    """Firings are found once for all of them."""
    found, made = timed(monkeypatch), []
    monkeypatch.setattr(batch, "Firings", lambda *given: made.append(given) or Firings(*given))
    settings = [
        {"queues.depth": 2 + n % 50, "queues.latency_cycles": 1 + n // 50} for n in range(70)
    ]
    agree(PRODUCT, matrices(2), settings)
    assert found == [64, 6]
    assert len(made) == 1


def test_lanes_that_need_different_orders_are_timed_apart(monkeypatch):
    """Each queue is short in one config alone; together they could not go on."""
    found = timed(monkeypatch)
    inputs = matrices(3, density=1.0)
    graph = PRODUCT.graph
    edges = [str(edge) for edge in graph.edges]
    settings = [{f"queues.names.{edge}.depth": 1} for edge in edges]
    agree(PRODUCT, inputs, settings)
    assert sum(found) <= len(edges)


def test_large_results():
    """One library frees an array that another has grown to more than a large page."""
    copy = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"})
    loaded = [load(None, {"queues.depth": depth}) for depth in (2, 3)]
    runs = copy.simulate_many({"b": np.ones(2**18 + 1)}, loaded, engine="compiled")
    assert [run.output.nnz for run in runs] == [2**18 + 1] * 2


def test_codes_are_read_as_they_come(monkeypatch):
    """So few bytes of codes are kept that firings and times are found in turns."""
    bound = bind(PRODUCT.graph, matrices(4, size=40))
    loaded = [load(None, {"queues.depth": depth}) for depth in DEPTHS]
    found: dict[int, Any] = {}
    left = batch.run(bound, loaded, [None] * 5, found.__setitem__, most_bytes=2000)
    assert left == []
    expected = [sim.simulate(PRODUCT.graph, bound.given, one, engine="compiled") for one in loaded]
    assert [told(found[n]) for n in range(5)] == [*map(told, expected)]


@pytest.mark.parametrize("at_once", [batch._AT_ONCE, 50])
@pytest.mark.parametrize("key", ["queues.latency_cycles", "blocks.initiation_interval_cycles"])
def test_cycles_that_32_bits_do_not_tell(key, at_once, monkeypatch):
    """Where codes have been dropped by then, they are found again."""
    monkeypatch.setattr(batch, "_AT_ONCE", at_once)
    settings = [{key: 2**20}, {key: 1}, {key: 2**19, "queues.depth": 3}, {key: 5}]
    agree(ROWS, matrices(5, size=9), settings)


def test_a_limit_of_cycles_holds_for_each():
    loaded = [load(None, {"queues.latency_cycles": n}) for n in (1, 2, 3, 4)]
    cycles = [PRODUCT.simulate(matrices(6), one).cycles for one in loaded]
    runs = PRODUCT.simulate_many(
        matrices(6), loaded, engine="compiled", max_cycles=cycles[1], return_errors=True
    )
    assert [getattr(run, "cycles", None) for run in runs] == [*cycles[:2], None, None]
    assert str(runs[2]).startswith(f"the run is not done after {cycles[1]} cycles, the limit")


def test_wires_run_one_by_one(monkeypatch, caplog):
    found = timed(monkeypatch)
    skips = custard.compile("x(i) = b(i) * c(i)", {"b": "s", "c": "s", "x": "s"}, ["skip(b,i)"])
    inputs = {"b": np.arange(9) % 2 * 1.0, "c": np.arange(9) % 3 * 1.0}
    agree(skips, inputs, [{"queues.depth": n} for n in (2, 3, 4)])
    assert found == []
    assert "the 3 configs run one by one: a block reads a wire" in caplog.messages


def test_failures_are_told_in_the_words_of_a_run_alone(caplog):
    caplog.set_level("INFO")
    settings = [{"blocks.capacity": 1, "queues.depth": n} for n in (1, 2, 3, 4, "unbounded")]
    agree(ROWS, matrices(8), settings)
    assert "the 5 configs run one by one: a block fails" in caplog.messages


def test_peaks_of_all_sizes():
    """Some queues hold thousands of tokens; some of these are bounded, and some never full."""
    program = custard.compile("X(i,j)=B(i,j)*c", {"B": "ss"})
    inputs = {"B": np.ones((3, 2000)), "c": 2.0}
    settings = [
        {
            "queues.depth": depth,
            "blocks.kinds.array.initiation_interval_cycles": slow,
            "queues.latency_cycles": latency,
        }
        for depth in ("unbounded", 300, 700, 5000)
        for slow, latency in ((1, 1), (2, 3), (3, 1), (7, 2))
    ]
    agree(program, inputs, settings, ["compiled"])
    runs = program.simulate_many(inputs, [load(None, one) for one in settings], engine="compiled")
    peaks = [max(stream.peak for stream in run.streams.values()) for run in runs]
    assert max(peaks) > 3000
    assert sum(peak in (300, 700) for peak in peaks) >= 4


def one_after_the_other(p: Any, s: Any, m: Any) -> bool | None:
    """Passes the tokens of one input on, and takes those of the other afterwards."""
    if s.first:
        kind, value = p.in_val1.peek()
        p.in_val1.take()
        p.val.give(kind, value)
        if kind == DONE:
            s.first = 0
        return None
    kind, _ = p.in_val0.peek()
    p.in_val0.take()
    return True if kind == DONE else None


def test_a_port_that_is_waited_for_late(monkeypatch):
    """Where its first code is found after others have been timed, all waits are told as alone."""
    monkeypatch.setattr(batch, "_AT_ONCE", 100)
    ports = into("in_val0", "val"), into("in_val1", "val"), out("val", "val")
    late = Kind("late", None, lambda _: Block(ports, one_after_the_other, {"first": 1}))
    monkeypatch.setitem(KINDS, "late", late)
    graph = custard.compile("x(i) = b(i) * c(i)", dict.fromkeys("bcx", "d")).graph
    nodes = [Node(n.name, "late", {}) if n.name == "multiply" else n for n in graph.nodes]
    graph = replace(graph, nodes=tuple(nodes))
    inputs = {"b": np.ones(9000), "c": np.arange(9000.0)}
    loaded = [load(None, {"queues.latency_cycles": n}) for n in (1, 2, 3)]
    runs = sim.simulate_many(graph, inputs, loaded, engine="compiled")
    expected = [sim.simulate(graph, inputs, one, engine="compiled") for one in loaded]
    assert runs[0].blocks["multiply"].starved.keys() == {"in_val1"}
    assert [*map(told, runs)] == [*map(told, expected)]
