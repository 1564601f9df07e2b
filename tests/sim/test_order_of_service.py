"""Runs that keep the order of service of another run, on both engines."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
import sim
from sam.support.errors import UserError
from sim.explain.what_if import changes
from sim.order_of_service import firings_of, in_bytes, in_runs, one_by_one
from tests.custard.to_c.test_levels import chained, skipping
from tests.sim.test_tiling import machine, product
from tests.support.compiler import needs_compiler
from tests.support.configs import configs, cycles, memory_levels, with_memory
from tests.support.engines import told_after
from tests.support.profiles import examples
from tests.support.programs import programs
from tests.support.runs import copied, in_two, spmv

relaxed = settings(suppress_health_check=list(HealthCheck))


@st.composite
def attributed(draw, engine):
    """A run of a random program, of scanners that skip among others, on a machine with memory."""
    program = draw(programs(levels="dsubr", result_levels="dsub", operators="**+"))
    formats = {name: draw(chained(form)) for name, form in program.formats.items()}
    order = [f"reorder({','.join(program.order)})"] if program.order else []
    skips = draw(skipping(program.expression, formats, order, program.dims))
    compiled = custard.compile(program.expression, formats, [*order, *skips], dims=program.dims)
    config = {
        **draw(with_memory("X", *program.tensors) | configs),
        **told_after(compiled, draw(st.lists(cycles, max_size=4))),
    }
    try:
        return compiled.simulate(program.tensors, overrides=config, engine=engine, attribution=True)
    except UserError:
        return None


_CSR = {"B": "ss", "C": "ss", "X": "ss"}
_COLUMNS = {"B": "ss", "C": "ss:1,0", "X": "ss"}
_SKIPPED = ["reorder(i,j,k)", "skip(B,k)", "skip(C,k)"]
LARGER = [
    custard.compile("X(i,j) = B(i,k) * C(k,j)", _CSR, ["reorder(i,k,j)"]),
    custard.compile("X(i,j) = B(i,k) * C(k,j)", _COLUMNS, _SKIPPED),
    custard.compile("X(i,j) = B(i,j) + C(i,j)", _CSR),
    custard.compile("X(i,j) = B(i,j) * C(i,j)", _CSR, ["skip(B,j)"]),
]


@st.composite
def larger(draw):
    """A run on machines of few kinds, so that few kernels are compiled, with many conflicts."""
    program = draw(st.sampled_from(LARGER))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape, density = (
        (draw(st.sampled_from([4, 8, 12])),) * 2,
        draw(st.sampled_from([0.1, 0.4, 0.7])),
    )
    inputs = {name: 1.0 * (numbers.random(shape) < density) for name in "BC"}
    rooms = [{}, {"capacity_bytes": 400}, {"capacity_bytes": 1000}]
    names = draw(st.sampled_from([[], ["DRAM"], ["DRAM", "LLB"], ["DRAM", "LLB"]]))
    levels = [
        draw(memory_levels(name, **(draw(st.sampled_from(rooms)) if n else {})))
        for n, name in enumerate(names)
    ]
    slow = st.sampled_from([1, 1, 2, 5])
    config = {
        "queues.depth": draw(st.sampled_from([2, 20, "unbounded"])),
        "queues.latency_cycles": draw(st.sampled_from([1, 1, 4])),
        "blocks.initiation_interval_cycles": draw(slow),
        "blocks.kinds.level_scanner.initiation_interval_cycles": draw(slow),
        "blocks.kinds.intersecter.initiation_interval_cycles": draw(slow),
        "memory.levels": levels,
        "memory.outstanding_requests": draw(st.sampled_from([1, 4, "unbounded"])),
    }
    return program.simulate(inputs, overrides=config, engine="compiled", attribution=True)


def statistics(run):
    return run.cycles, run.blocks, run.streams, run.memory, repr(run.output.to_numpy().tolist())


def kept(run, overrides=None, **more):
    """The run on a changed machine, in its own order of service."""
    return run.again(config=run.config, overrides=overrides, orders=run.orders, **more)


def ideal(run):
    """The changes of the machine that make a cause of the run ideal."""
    return [change.overrides for change in changes(run) if change.is_ideal]


@settings(relaxed, max_examples=examples(500))
@given(attributed("simpy"))
def test_an_ideal_cause_never_costs_cycles_in_the_same_order(run):
    if run is None:
        return
    assert statistics(kept(run)) == statistics(run)
    for overrides in ideal(run):
        assert kept(run, overrides).cycles <= run.cycles, overrides


@needs_compiler
@settings(relaxed, max_examples=examples(500))
@given(larger())
def test_nor_on_machines_with_many_conflicts(run):
    assert statistics(kept(run)) == statistics(run)
    for overrides in ideal(run):
        assert kept(run, overrides).cycles <= run.cycles, overrides


@st.composite
def tiled(draw):
    """A run whose tiles come into one memory or two, through ports that blocks share."""
    levels = draw(st.integers(1, 2))
    config = machine(levels, draw(st.sampled_from([2, 3])))
    for level in config["memory"]["levels"]:
        level["latency_cycles"] = draw(st.sampled_from([1, 5, 40]))
        level["bandwidth_gb_per_s"] = draw(st.sampled_from([1, 4, "unbounded"]))
        level["ports"] = draw(st.sampled_from([1, 2, "per_block"]))
    config["queues"] = {"depth": draw(st.sampled_from([2, 8, "unbounded"]))}
    numbers = np.random.default_rng(draw(st.integers(0, 2**32)))
    inputs = {name: 1.0 * (numbers.random((9, 9)) < 0.4) for name in "BC"}
    program = product("reorder(i,k,j)", "tile(4)" if levels == 1 else "tile(4,2)")
    return program.simulate(inputs, config=config, engine="compiled", attribution=True)


@needs_compiler
@settings(relaxed, max_examples=examples(50))
@given(tiled())
def test_nor_where_tiles_come_into_shared_memories(run):
    assert statistics(kept(run)) == statistics(run)
    for overrides in ideal(run):
        assert kept(run, overrides).cycles <= run.cycles, overrides


@needs_compiler
@settings(relaxed, max_examples=examples(200, compiles=True))
@given(attributed("compiled"))
def test_the_engines_note_and_keep_the_same_order(run):
    if run is not None:
        agree(run)


@needs_compiler
@settings(relaxed, max_examples=examples(50))
@given(larger())
def test_and_on_machines_with_many_conflicts(run):
    agree(run)


def agree(run):
    """The reference engine notes the order of a run as well, and keeps it alike."""
    other = run.again(config=run.config, engine="simpy", attribution=True)
    for one, two in zip(run.orders, other.orders, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert (one.askers, [*one.reads]) == (two.askers, [*two.reads])
            np.testing.assert_array_equal(one.requests, two.requests)
            for number, reads in one.reads.items():
                np.testing.assert_array_equal(reads, two.reads[number])
    assert statistics(kept(run)) == statistics(run)
    for overrides in ideal(run)[:3]:
        found = kept(run, overrides)
        assert found.cycles <= run.cycles
        assert statistics(found) == statistics(kept(run, overrides, engine="simpy"))


def test_requests_in_runs():
    """Of block 0 two, of block 1 one: two words. A word counts up to 255."""
    assert in_runs([0, 0, 1]).tolist() == [2, 256 + 1]
    assert in_runs([3] * 256).tolist() == [3 * 256 + 255, 3 * 256 + 1]
    for askers in ([], [0, 0, 1], [2] * 600 + [0] + [2] * 255):
        assert [*one_by_one(in_runs(askers))] == askers


def test_the_firings_of_messages_in_bytes():
    """Each byte is added to the firing before; 255 is followed by more."""
    assert in_bytes([0, 2, 2, 257, 600]).tolist() == [0, 2, 0, 255, 0, 255, 88]
    for firings in ([], [0, 0], [254, 509, 765, 2000]):
        assert [*firings_of(in_bytes(firings))] == firings


MEMORY = {"memory.levels": [{"name": "DRAM", "latency_cycles": 9, "bandwidth_gb_per_s": 4}]}
engines = pytest.mark.parametrize(
    "engine", ["simpy", pytest.param("compiled", marks=needs_compiler)]
)


@engines
def test_a_machine_that_cannot_keep_the_order_says_so(engine):
    """With room for one token, values are written before further ones are loaded."""
    program = custard.compile("x(i) = b(i)", {"b": "d", "x": "d"})
    late = {**MEMORY, "blocks.names.array_b.latency_cycles": 500}
    run = program.simulate({"b": np.ones(40)}, overrides=late, attribution=True)
    with pytest.raises(UserError) as mistake:
        kept(run, {"queues.depth": 1}, engine=engine)
    assert str(mistake.value).startswith(
        "this machine cannot keep the order of service: the next block to be served waits for a "
        "later one"
    )


def test_orders_that_are_kept_by_another_machine_are_refused():
    run, other = copied(overrides=MEMORY), spmv(overrides=MEMORY)
    with pytest.raises(UserError, match="the order of service is that of another machine"):
        other.again(config=other.config, orders=run.orders)
    per_block = {"memory.levels.DRAM.ports": "per_block"}
    alone = run.again(config=run.config, overrides=per_block)
    assert alone.orders == (None,)
    assert kept(run, per_block).cycles <= run.cycles
    skips = custard.compile("x = b(i) * c(i)", {"b": "s", "c": "s"}, ["skip(b,i)"])
    inputs = {"b": np.ones(3), "c": np.ones(3)}
    apart = skips.simulate(inputs, overrides={**MEMORY, **per_block}, attribution=True)
    with pytest.raises(UserError, match="the order of service is that of another machine"):
        apart.again(
            config=apart.config, overrides={"memory.levels.DRAM.ports": 1}, orders=apart.orders
        )


def test_what_a_run_that_keeps_an_order_has_not():
    run = copied(overrides=MEMORY)
    text = "a run that keeps an order of service has no log, tokens or max_cycles"
    for more in ({"attribution": True}, {"tokens": True}, {"max_cycles": 9}):
        with pytest.raises(UserError, match=text):
            kept(run, **more)
    with pytest.raises(UserError, match="one graph has one order of service, not 2"):
        sim.simulate(run.graph, {"b": np.ones(20)}, run.config, orders=(*run.orders, None))
    assert kept(run).again is None


def test_each_graph_of_a_program_keeps_its_own_order():
    run = in_two(overrides=MEMORY, attribution=True)
    assert len(run.orders) == 2
    found = kept(run)
    assert [part.cycles for part in found.parts] == [part.cycles for part in run.parts]
    assert found.blocks == run.blocks
    assert found.again is None


def test_rounding_makes_no_level_slower_where_another_is_ideal():
    """Of a byte's time of 1/9.999991 and 1/3 of a cycle there is no common unit of at least 2^-24,
    so both are rounded. Without the first, a third is exact."""
    program = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"})
    overrides = {
        "memory.levels": [
            {"name": "DRAM", "bandwidth_gb_per_s": 9.999991},
            {"name": "LLB", "bandwidth_gb_per_s": 3},
        ],
        "memory.index_bytes": 3,
        "memory.value_bytes": 3,
        "memory.places": {"b": "LLB", "x": "LLB"},
    }
    unbounded = {"memory.levels.DRAM.bandwidth_gb_per_s": "unbounded"}
    for count in (1, 2, 5):
        run = program.simulate({"b": np.ones(count)}, overrides=overrides, attribution=True)
        assert kept(run, unbounded).cycles <= run.cycles
