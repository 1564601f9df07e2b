"""A run on several threads is the run on one, to the last cycle and statistic."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
import sim
from sam.support.errors import UserError
from sim.binding import bind
from sim.compiled import crew, engine
from sim.compiled.division import Passage
from sim.config.hardware import load
from tests.sim.compiled.test_engine import configs
from tests.support.compiler import needs_compiler
from tests.support.profiles import examples
from tests.support.programs import programs

pytestmark = needs_compiler

B = scipy.sparse.random(60, 50, 0.2, format="csr", random_state=1)
C = scipy.sparse.random(50, 70, 0.2, format="csr", random_state=2)
PRODUCT = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,j,k)"])


def told(program, inputs, config, threads):
    """All that a run tells, or the text of its error."""
    try:
        run = program.simulate(inputs, overrides=config, engine="compiled", threads=threads)
    except UserError as mistake:
        return str(mistake)
    values = None if run.output is None else repr(run.output.to_numpy().tolist())
    return run.cycles, run.blocks, run.streams, values


@pytest.fixture
def at_once(monkeypatch):
    """Divides machines at their start, at queues of any depth, however little that brings."""
    monkeypatch.setattr(crew, "WARM_UP", 0)
    monkeypatch.setattr(crew, "LONG", 1)
    monkeypatch.setattr(crew, "WORTHWHILE", float("inf"))
    monkeypatch.setattr(crew, "divided", at_random(7))
    return monkeypatch


def at_random(seed):
    """Divides parts at random, but not where a queue cannot be cut."""
    return lambda weights, passages, threads: _drawn(seed, len(weights), passages, threads)


def _drawn(seed, count, passages: list[Passage], threads):
    found = np.random.default_rng(seed).integers(0, threads, count).tolist()
    for _ in range(count):
        for one in passages:
            if one.cost is None:
                found[one.giver] = found[one.taker] = min(found[one.giver], found[one.taker])
    return found


@settings(max_examples=examples(1000, compiles=True), suppress_health_check=list(HealthCheck))
@given(
    programs(max_operands=4, max_order=3),
    configs,
    st.integers(2, 4),
    st.integers(0, 2**20),
    st.sampled_from([0, 1, 100_000]),
)
def test_random_programs_divided_at_random(at_once, program, config, threads, seed, warm_up):
    at_once.setattr(crew, "WARM_UP", warm_up)
    at_once.setattr(crew, "SEED", seed)
    at_once.setattr(crew, "divided", at_random(seed))
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    one = told(compiled, program.tensors, config, 1)
    assert told(compiled, program.tensors, config, threads) == one


@pytest.mark.parametrize("depth", [1, 2, 40, 600, "unbounded"])
def test_threads_in_any_timing_give_the_same_run(at_once, depth):
    config = {"queues.depth": depth}
    expected = told(PRODUCT, {"B": B, "C": C}, config, 1)
    for seed in range(examples(100, compiles=True)):
        at_once.setattr(crew, "SEED", seed)
        at_once.setattr(crew, "divided", at_random(seed))
        assert told(PRODUCT, {"B": B, "C": C}, config, 2 + seed % 3) == expected


def test_a_long_run_is_divided(monkeypatch):
    monkeypatch.setattr(crew, "WARM_UP", 1_000_000)
    monkeypatch.setattr(crew, "COPY", 0.0)
    monkeypatch.setattr(crew, "WORTHWHILE", 1.0)
    made, make = [], crew.Crew
    monkeypatch.setattr(crew, "Crew", lambda *parts: made.append(0) or make(*parts))
    big = scipy.sparse.random(400, 400, 0.01, format="csr", random_state=1)
    run = sim.simulate(PRODUCT.graph, {"B": big, "C": big}, engine="compiled", threads=2)
    assert made == [0]
    assert abs(run.output.to_scipy() - big @ big).max() < 1e-12
    assert run.notes == ()


def test_why_a_run_stays_on_one_thread():
    run = sim.simulate(
        PRODUCT.graph,
        {"B": B, "C": C},
        {"memory": {"levels": [{"name": "DRAM", "bandwidth_gb_per_s": 1}]}},
        engine="compiled",
        threads=2,
    )
    assert run.notes == ("one thread: scan_B_i asks memory",)


def test_queues_that_are_too_short_are_not_cut(monkeypatch):
    monkeypatch.setattr(crew, "WARM_UP", 0)
    bound = bind(PRODUCT.graph, {"B": B, "C": C})
    run = engine.run(bound, load(None, {"queues.depth": 4}), threads=2)
    assert run.notes == ("one thread: no division of the blocks is worth its cost",)


def test_a_deadlock_is_told_as_on_one_thread(at_once):
    nested = ["parallelize(i,Lanes,2)", "parallelize(j,Lanes,2)"]
    program = custard.compile("X(i,j)=B(i,j)*C(i,j)", schedule=nested)
    config = {"queues.depth": 1}
    found = told(program, {"B": B, "C": B}, config, 2)
    assert found == told(program, {"B": B, "C": B}, config, 1)
    assert "deadlock" in found


def test_a_limit_of_cycles_holds_on_threads(at_once):
    bound = bind(PRODUCT.graph, {"B": B, "C": C})
    with pytest.raises(UserError, match="not done after 10 cycles"):
        engine.run(bound, load(None), max_cycles=10, threads=2)


def test_attribution_is_the_same_on_threads(at_once):
    bound = bind(PRODUCT.graph, {"B": B, "C": C})
    runs = [engine.run(bound, load(None), attribution=True, threads=n) for n in (1, 3)]
    assert runs[0].critical_path == runs[1].critical_path


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_that_is_none(threads):
    with pytest.raises(UserError) as raised:
        sim.simulate(PRODUCT.graph, {"B": B, "C": C}, threads=threads)
    assert str(raised.value) == f"threads is {threads!r}, which is not a whole number of at least 1"


def test_simpy_has_one_thread():
    with pytest.raises(UserError) as raised:
        sim.simulate(PRODUCT.graph, {"B": B, "C": C}, engine="simpy", threads=2)
    assert str(raised.value) == (
        "the engine simpy runs on one thread\nhint: use engine compiled or auto"
    )


def test_no_more_threads(at_once, monkeypatch):
    bound = bind(PRODUCT.graph, {"B": B, "C": C})
    monkeypatch.setattr(crew, "_NO_THREAD", 1)  # as if the status of the end were that
    with pytest.raises(UserError, match="the system gives no more threads"):
        engine.run(bound, load(None), threads=2)
