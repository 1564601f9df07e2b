"""The critical path: parts that add up to the cycles, the same on both engines."""

from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from sam.support.errors import UserError
from tests.custard.to_c.test_levels import LEVELS, RESULT_LEVELS, chained
from tests.support.compiler import needs_compiler
from tests.support.configs import configs, memories, with_memory
from tests.support.profiles import examples
from tests.support.programs import programs

relaxed = settings(suppress_health_check=list(HealthCheck))

PRODUCT = custard.compile(
    "X(i,j)=B(i,k)*C(k,j)", {"B": "ss", "C": "ss", "X": "ss"}, ["reorder(i,k,j)"]
)


def simulate(program, inputs, config, engine):
    """A run that keeps its log; None where the program cannot run."""
    try:
        return program.simulate(inputs, overrides=config, engine=engine, attribution=True)
    except UserError:
        return None


def compiled(program):
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    return custard.compile(program.expression, program.formats, schedule, dims=program.dims)


def adds_up(run):
    """Whether the parts of the path, and the shares of blocks, add up and equal BlockStats."""
    assert sum(part.cycles for part in run.critical_path) == run.cycles
    assert all(part.cycles > 0 for part in run.critical_path)
    for one in run.parts or (run,):
        assert set(one.attribution) == set(one.blocks)
        for name, shares in one.attribution.items():
            block = one.blocks[name]
            assert shares.total == one.cycles
            assert (shares.busy, shares.done) == (block.busy, block.done)
            for found, told in ((shares.starved, block.starved), (shares.blocked, block.blocked)):
                sums = {port: sum(faults.values()) for port, faults in found.items()}
                assert sums == {port: cycles for port, cycles in told.items() if cycles}
            assert sum(shares.memory.values()) == block.memory


def agree(program, inputs, config):
    simpy, fast = (simulate(program, inputs, config, e) for e in ("simpy", "compiled"))
    if simpy is None:
        assert fast is None
        return
    adds_up(simpy)
    adds_up(fast)
    assert simpy.critical_path == fast.critical_path
    assert simpy.attribution == fast.attribution


@needs_compiler
def test_parts_that_are_equally_long_are_in_one_order():
    """Queues into one block delay tokens by the same cycles on both ways."""
    program = custard.compile(
        "X(l) = B(j) + B(j) - C(j,l)", {"X": "s", "B": "d", "C": "dd"}, ["reorder(l,j)"]
    )
    config = {"queues.latency_cycles": 5, "queues.depth": 3, "blocks.latency_cycles": 5}
    config |= {"queues.kinds.crd.latency_cycles": 1, "queues.kinds.ref.depth": 1}
    inputs = {"B": np.array([2.0]), "C": np.array([[0.0, -3, 4, 1, -1]])}
    agree(program, inputs, {**config, "queues.kinds.val.depth": 4})


@needs_compiler
@settings(relaxed, max_examples=examples(500, compiles=True))
@given(programs(), configs)
def test_random_programs_and_configs(program, config):
    agree(compiled(program), program.tensors, config)


@needs_compiler
@settings(relaxed, max_examples=examples(200, compiles=True))
@given(programs(max_operands=4, max_order=4, explicit_sums=True, operators="+-*/"), configs)
def test_larger_programs(program, config):
    agree(compiled(program), program.tensors, config)


@needs_compiler
@settings(relaxed, max_examples=examples(200))
@given(st.data(), st.integers(1, 9), st.floats(0.2, 1))
def test_a_product_with_memory_of_any_kind(data, size, density):
    generator = np.random.default_rng(size)
    inputs = {name: 1.0 * (generator.random((size, size)) < density) for name in "BC"}
    config = {f"memory.{key}": value for key, value in data.draw(memories("XBC")).items()}
    config["queues.depth"] = data.draw(st.sampled_from([1, 2, 8, "unbounded"]))
    config |= data.draw(configs) if data.draw(st.booleans()) else {}
    agree(PRODUCT, inputs, config)


@needs_compiler
@settings(relaxed, max_examples=examples(100, compiles=True))
@given(st.data())
def test_programs_in_all_formats_whose_tensors_lie_in_memory(data):
    program = data.draw(programs(levels=LEVELS, result_levels=RESULT_LEVELS))
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    program = replace(program, formats=formats)
    agree(compiled(program), program.tensors, data.draw(with_memory("X", *program.tensors)))


@settings(relaxed, max_examples=examples(500))
@given(programs(), configs)
def test_the_reference_engine_alone(program, config):
    run = simulate(compiled(program), program.tensors, config, "simpy")
    if run is not None:
        adds_up(run)
