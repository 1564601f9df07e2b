"""A run in legs is the run on one thread, to the last cycle and statistic."""

import time
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
import sim
from sam.support.errors import UserError
from sim.binding import bind
from sim.compiled import engine, legs
from sim.config.hardware import load
from tests.support.compiler import needs_compiler
from tests.support.configs import configs
from tests.support.profiles import examples
from tests.support.programs import programs

pytestmark = needs_compiler

B = scipy.sparse.random(160, 50, 0.1, format="csr", random_state=1)
C = scipy.sparse.random(50, 30, 0.2, format="csr", random_state=2)
SHORT = {"queues.depth": 4}


def product(order, result="ds", lanes=1):
    schedule = [f"reorder({','.join(order)})"]
    schedule += [f"parallelize({order[0]},Lanes,{lanes})"] if lanes > 1 else []
    return custard.compile("X(i,j)=B(i,k)*C(k,j)", {"X": result}, schedule)


def told(program, inputs, config, threads):
    """All that a run tells, or the text of its error."""
    try:
        run = program.simulate(inputs, overrides=config, engine="compiled", threads=threads)
    except UserError as mistake:
        return str(mistake)
    values = None if run.output is None else repr(run.output.to_numpy().tolist())
    return run.cycles, run.blocks, run.streams, values


@pytest.fixture
def cut_early(monkeypatch):
    """Cuts runs of any length, from their first cycles on."""
    for rounds in ("_FIRST_ROUNDS", "_MOST_ROUNDS"):
        monkeypatch.setattr(engine, rounds, 1)
    monkeypatch.setattr(legs, "WARM_UP", 0)
    monkeypatch.setattr(legs, "LEAST", 0)
    monkeypatch.setattr(legs, "LONG", 1)
    return monkeypatch


@pytest.fixture
def joined(monkeypatch):
    """How many legs each run is put together from."""
    counts, join = [], legs.join
    monkeypatch.setattr(legs, "join", lambda parts: counts.append(len(parts)) or join(parts))
    return counts


@settings(max_examples=examples(1000, compiles=True), suppress_health_check=list(HealthCheck))
@given(
    programs(max_operands=4, max_order=3),
    configs,
    st.integers(2, 4),
    st.integers(0, 3),
    st.booleans(),
)
def test_random_programs_in_legs(cut_early, program, config, threads, early, trusting):
    cut_early.setattr(legs, "EARLY", early)
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    config = {"queues.depth": 2, **config}
    one = told(compiled, program.tensors, config, 1)
    with patch.object(legs._Legs, "_forgotten", lambda *_: True) if trusting else nullcontext():
        assert told(compiled, program.tensors, config, threads) == one


@pytest.mark.parametrize("result", ["dd", "ds", "ss"])
@pytest.mark.parametrize(("order", "lanes"), [("ijk", 1), ("ikj", 1), ("ijk", 3)])
@pytest.mark.parametrize("depth", [2, 4])
def test_products_in_legs(cut_early, joined, order, lanes, depth, result):
    program, config = product(order, result, lanes), {"queues.depth": depth}
    one = told(program, {"B": B, "C": C}, config, 1)
    assert joined == []
    assert told(program, {"B": B, "C": C}, config, 3) == one
    assert joined or (order, lanes) != ("ijk", 1)


@pytest.mark.parametrize("values", [True, 1, 1e-100, 1.0, 0.0, 1j])
def test_what_is_added_to_places_of_earlier_legs_is_not_lost(cut_early, values):
    b, c = np.full((5, 150), values), np.full((150, 4), values)
    cut_early.setattr(legs._Legs, "_forgotten", lambda *_: True)
    program = product("kij", "dd")
    found = [told(program, {"B": b, "C": c}, SHORT, threads) for threads in (1, 3)]
    assert found[0] == found[1]


def test_threads_in_any_timing_give_the_same_run(cut_early, joined):
    one = told(product("ijk"), {"B": B, "C": C}, SHORT, 1)
    random, leg = np.random.default_rng(1), legs._Legs._leg

    def late(self, *cuts):
        time.sleep(random.random() / 100)
        return leg(self, *cuts)

    cut_early.setattr(legs._Legs, "_leg", late)
    for n in range(examples(100, compiles=True)):
        assert told(product("ijk"), {"B": B, "C": C}, SHORT, 2 + n % 4) == one
    assert min(joined) > 1


@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("order", ["jki", "kij", "kji", "jik"])
def test_other_orders_in_legs(cut_early, order, depth):
    program, config = product(order, "dd"), {"queues.depth": depth}
    one = told(program, {"B": B, "C": C}, config, 1)
    assert told(program, {"B": B, "C": C}, config, 3) == one


def test_a_long_run_is_cut(monkeypatch, joined):
    monkeypatch.setattr(legs, "WARM_UP", 0.002)
    monkeypatch.setattr(legs, "LEAST", 0)
    big = scipy.sparse.random(600, 600, 0.01, format="csr", random_state=1)
    run = product("ijk").simulate(
        {"B": big, "C": big}, overrides=SHORT, engine="compiled", threads=2
    )
    assert joined == [2 * legs.LEGS]
    assert not any(note.startswith("one thread") for note in run.notes)
    assert abs(run.output.to_scipy() - big @ big).max() < 1e-12


def noted(threads=2, order="ijk", attribution=False, max_cycles=None, **config):
    bound = bind(product(order).graph, {"B": B, "C": C})
    config = load(None, config or SHORT)
    return legs.run(bound, config, None, max_cycles, attribution, threads).notes


def test_why_a_run_stays_on_one_thread():
    assert noted(threads=1) == ()
    levels = {"memory.levels": [{"name": "DRAM", "bandwidth_gb_per_s": 1}]}
    assert noted(**SHORT, **levels) == ("one thread: scan_B_i asks memory",)
    assert noted(**{"queues.depth": "unbounded"}) == ("one thread: queues are unbounded",)
    assert noted(attribution=True) == ("one thread: the run keeps why its firings wait",)
    assert noted(max_cycles=10**6) == ("one thread: the number of cycles is limited",)


def test_a_run_that_is_too_short_is_not_cut(cut_early):
    cut_early.setattr(legs, "LONG", 100)
    assert noted() == ("one thread: the run is too short to be cut",)


def test_a_run_whose_gate_fires_for_too_long_stays_on_one_thread(cut_early, joined):
    """As a block of a user's may that never ends."""
    cut_early.setattr(legs, "COUNTED", 0)
    assert noted() == ("one thread: scan_B_i fires for too long",)
    assert joined == []


def test_a_run_that_remembers_how_it_began_stays_on_one_thread(cut_early, joined):
    cut_early.setattr(legs, "lead", lambda *_: None)
    cut_early.setattr(legs, "EARLY", 0)
    assert noted(**{"queues.depth": 2}) == ("one thread: how the run began matters for too long",)
    assert joined == []


def test_a_leg_that_is_not_what_the_run_does_is_run_again(cut_early, joined):
    lead, calls = legs.lead, []

    def met(*cuts):
        calls.append(cuts)
        return None if len(calls) in (5, 6) else lead(*cuts)

    found = [told(product("ijk"), {"B": B, "C": C}, SHORT, threads) for threads in (1, 3)]
    cut_early.setattr(legs, "lead", met)
    found.append(told(product("ijk"), {"B": B, "C": C}, SHORT, 3))
    assert found[0] == found[1] == found[2]
    assert joined[1] == joined[0] - 2


def test_a_deadlock_is_told_as_on_one_thread(cut_early):
    config = {"queues.depth": 1}
    found = told(product("ijk"), {"B": B, "C": C}, config, 2)
    assert found == told(product("ijk"), {"B": B, "C": C}, config, 1)
    assert "deadlock" in found


def test_a_deadlock_of_a_later_leg_is_told_as_on_one_thread(cut_early):
    late = scipy.sparse.vstack([B, scipy.sparse.csr_matrix((1, 50)), np.ones((1, 50))]).tocsr()
    program = custard.compile("x = B(i,j) * B(i,j)")
    found = [told(program, {"B": late}, {"queues.depth": 2}, threads) for threads in (1, 2)]
    assert found[0] == found[1]


def test_an_error_of_a_later_leg_is_told_as_on_one_thread(cut_early):
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", {"X": "ds"}, ["reorder(i,k,j)"])
    wide = scipy.sparse.vstack([scipy.sparse.eye(158, 50), np.ones((2, 50))]).tocsr()
    config = {**SHORT, "blocks.capacity": 20}
    found = [told(program, {"B": wide, "C": C}, config, threads) for threads in (1, 2)]
    assert found[0] == found[1]
    assert "20" in found[0]


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_that_is_none(threads):
    with pytest.raises(UserError) as raised:
        sim.simulate(product("ijk").graph, {"B": B, "C": C}, threads=threads)
    assert str(raised.value) == f"threads is {threads!r}, which is not a whole number of at least 1"


def test_simpy_has_one_thread():
    with pytest.raises(UserError) as raised:
        sim.simulate(product("ijk").graph, {"B": B, "C": C}, engine="simpy", threads=2)
    assert str(raised.value) == (
        "the engine simpy runs on one thread\nhint: use engine compiled or auto"
    )


def test_no_more_threads(cut_early):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    cut_early.setattr(legs.ThreadPoolExecutor, "submit", refused)
    with pytest.raises(UserError, match="the system gives no more threads\nhint: threads=1"):
        legs.run(bind(product("ijk").graph, {"B": B, "C": C}), load(None, SHORT), threads=2)
