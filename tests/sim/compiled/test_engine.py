"""The compiled engine agrees with the SimPy engine, to the last cycle."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import custard
import sim
from sam.blocks import StreamError
from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sim.endless import OutOfCycles
from tests.custard.to_c.test_levels import LEVELS, RESULT_LEVELS, chained, in_words, skipping
from tests.support.compiler import needs_compiler
from tests.support.configs import configs, memories, with_memory
from tests.support.engines import agree, outcome, paths_off, relaxed
from tests.support.profiles import PROFILE, examples
from tests.support.programs import programs

pytestmark = needs_compiler


@settings(relaxed, max_examples=examples(1000, compiles=True))
@given(programs(), configs, paths_off)
def test_random_programs_and_configs(program, config, off):
    agree(program, config, off=off)


larger = programs(max_operands=4, max_order=4, explicit_sums=True, operators="+-*/")


@settings(relaxed, max_examples=examples(1000, compiles=True))
@given(larger, configs, paths_off)
def test_larger_programs_and_configs(program, config, off):
    agree(program, config, off=off)


deep = st.sampled_from([10, 17, 20, 40, 100, "unbounded"])
slow = st.sampled_from([1, 2, 3, 30])
_SPARSE = ["ss", "sd"]  # which have a block write_X_i
_ALL = [*_SPARSE, "dd"]


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(
    st.sampled_from(["X(i,j)=B(i,k)*C(k,j)", "X(i,j)=B(i,k)+C(i,j)", "X(i,j)=B(i,j)*d(i)-C(i,j)"]),
    st.fixed_dictionaries(
        {
            name: st.sampled_from(levels)
            for name, levels in [("X", _SPARSE), ("B", _ALL), ("C", _ALL)]
        }
    ),
    st.integers(0, 2**32),
    st.sampled_from([0.1, 0.3, 1.0]),
    st.fixed_dictionaries(
        {"queues.depth": deep},
        optional={
            **{f"queues.kinds.{stream}.depth": deep for stream in ("crd", "ref", "val")},
            **{
                f"blocks.kinds.{kind}.initiation_interval_cycles": slow
                for kind in ("array", "alu", "reducer", "repeater", "level_scanner", "level_writer")
            },
            **{f"blocks.names.write_X_{n}.initiation_interval_cycles": slow for n in ("i", "vals")},
        },
    ),
    paths_off,
)
def test_long_fibers(expression, formats, seed, density, config, off):
    """Many like firings of each block in a row, with room for some or for all."""
    generator = np.random.default_rng(seed)
    shape = generator.integers(1, 9), 30
    inputs = {"B": shape, "C": (30, 40) if "k,j" in expression else shape, "d": shape[:1]}
    inputs = {
        name: generator.random(size) for name, size in inputs.items() if f"{name}(" in expression
    }
    inputs = {name: one * (generator.random(one.shape) < density) for name, one in inputs.items()}
    schedule = ["reorder(i,k,j)"] if "k" in expression else []
    program = custard.compile(expression, formats, schedule)
    found = outcome(program, inputs, config, "compiled", off)
    assert found == outcome(program, inputs, config, "simpy")


@settings(relaxed, max_examples=examples(300, compiles=True))
@given(st.data())
def test_programs_in_all_formats(data):
    program = data.draw(programs(levels=LEVELS, result_levels=RESULT_LEVELS))
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    agree(replace(program, formats=formats), data.draw(configs), off=data.draw(paths_off))


PRODUCT = custard.compile(
    "X(i,j)=B(i,k)*C(k,j)", {"B": "ss", "C": "ss", "X": "ss"}, ["reorder(i,k,j)"]
)


@settings(relaxed, max_examples=examples(200))
@given(st.data(), st.integers(1, 9), st.floats(0.2, 1))
def test_a_product_with_memory_of_any_kind(data, size, density):
    """One program, so that many machines take few kernels."""
    generator = np.random.default_rng(size)
    inputs = {name: 1.0 * (generator.random((size, size)) < density) for name in "BC"}
    config = {f"memory.{key}": value for key, value in data.draw(memories("XBC")).items()}
    config["queues.depth"] = data.draw(st.sampled_from([1, 2, 8, "unbounded"]))
    assert outcome(PRODUCT, inputs, config, "compiled") == outcome(PRODUCT, inputs, config, "simpy")


@pytest.mark.parametrize("bandwidth", [1, 8])
def test_writers_with_many_tokens_before_them_share_a_port(bandwidth):
    """More tokens than one stretch of a queue holds: at its end a writer may still ask first."""
    b = np.arange(1, 3001.0)
    program = custard.compile("X(i) = b(i) * c(i)", {"X": "s", "b": "s", "c": "s"})
    config = {
        "memory.levels": [{"name": "DRAM", "bandwidth_gb_per_s": bandwidth}],
        "blocks.kinds.level_writer.initiation_interval_cycles": 30,
        "blocks.kinds.value_writer.initiation_interval_cycles": 40,
    }
    slow, fast = (
        outcome(program, {"b": b, "c": b}, config, engine) for engine in ("simpy", "compiled")
    )
    assert fast == slow


@settings(relaxed, max_examples=500 if PROFILE == "full" else 4)
@given(st.data())
def test_programs_whose_tensors_lie_in_memory(data):
    program = data.draw(programs(levels=LEVELS, result_levels=RESULT_LEVELS))
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    config = data.draw(with_memory("X", *program.tensors))
    agree(replace(program, formats=formats), config, off=data.draw(paths_off))


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(st.data())
def test_hash_tables_are_located_and_inserted_into(data):
    program = data.draw(programs(levels="h", max_order=2))
    located = [
        f"locate({name},{variable})"
        for name, variables in re.findall(r"(\w)\(([\w,]+)\)", program.expression)
        for variable in variables.split(",")
    ]
    agree(program, data.draw(configs | with_memory("X", *program.tensors)), located)


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(st.data())
def test_bitvectors_are_merged_by_words(data):
    program = data.draw(programs(levels="bbs", max_extent=9))
    agree(
        program,
        data.draw(configs | with_memory("X", *program.tensors)),
        data.draw(in_words(program)),
    )


def reached(program: custard.Program, inputs: Any, config: Any, engine: str, cycles: int) -> Any:
    """The record of a run limited to some cycles, or the text of its error."""
    try:
        run = program.simulate(
            inputs, overrides=config, engine=engine, max_cycles=cycles, validate=False
        )
    except OutOfCycles as late:
        run = late.reached
    except UserError as error:
        return str(error)
    return run.cycles, run.blocks, run.streams, run.memory


@settings(relaxed, max_examples=examples(400, compiles=True))
@given(st.data(), st.floats(0, 1))
def test_runs_are_ended_in_any_cycle(data, share):
    program = data.draw(programs(levels="dsubr", result_levels="dsub", operators="**+-/"))
    order = [f"reorder({','.join(program.order)})"] if program.order else []
    skips = data.draw(skipping(program.expression, program.formats, order, program.dims))
    compiled = custard.compile(
        program.expression, program.formats, [*order, *skips], dims=program.dims
    )
    config = data.draw(st.one_of(configs, with_memory("X", *program.tensors)))
    try:
        run = compiled.simulate(program.tensors, overrides=config, engine="compiled")
        cycles = int(share * run.cycles)
    except UserError:
        cycles = int(share * 100)
    found = [reached(compiled, program.tensors, config, e, cycles) for e in ("compiled", "simpy")]
    assert found[0] == found[1]


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(st.integers(0, 200), st.just(64) | st.integers(1, 64), st.floats(0, 1), st.booleans())
def test_long_bitvectors_in_words_of_any_width(length, width, density, together):
    generator = np.random.default_rng(length)
    inputs = {name: 1.0 * (generator.random(length) < density) for name in "BC"}
    program = custard.compile(
        f"X(i) = B(i) {'*' if together else '-'} C(i)", dict.fromkeys("XBC", "b")
    )
    config = {"blocks.word_bits": width}
    found = outcome(program, inputs, config, "compiled")
    assert found == outcome(program, inputs, config, "simpy")
    due = inputs["B"] * inputs["C"] if together else inputs["B"] - inputs["C"]
    assert found[-1] == repr(due.tolist())


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("expression", ["X(i,j)=B(i,k)*C(k,j)", "X(i,j)=B(i,j)+C(i,j)"])
def test_values_of_every_type(dtype, expression):
    generator = np.random.default_rng(3)
    inputs = {
        name: (generator.integers(-9, 9, (7, 7)) * (generator.random((7, 7)) < 0.5)).astype(dtype)
        for name in "BC"
    }
    program = custard.compile(expression)
    assert outcome(program, inputs, {}, "compiled") == outcome(program, inputs, {}, "simpy")


def test_whole_numbers_wrap_around():
    a = np.array([2**31 - 1, 2**30], "int32")
    found = custard.compile("x(i)=A(i)*A(i)+A(i)").run({"A": a}, engine="compiled")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found.to_numpy(), a * a + a)


@pytest.mark.parametrize("depth", [1, 2, "unbounded"])
@pytest.mark.parametrize(("order", "size"), [("k,i,j", "2 dimensions"), ("i,k,j", "1 dimension")])
def test_a_full_reducer_is_refused_in_the_same_words(order, size, depth):
    """Also where it has given something before, and its reader lets it go on."""
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=[f"reorder({order})"])
    inputs = {"B": np.tri(4), "C": np.tri(4)}
    few = {"blocks.capacity": 3, "queues.depth": depth}
    text = outcome(program, inputs, few, "compiled")
    assert text.startswith(f"a reducer of {size} has room for 3 entries")
    assert text == outcome(program, inputs, few, "simpy")


def test_streams_that_do_not_fit_are_found():
    sources = [
        Node(name, "source", {"stream": "val", "depth": 1, "tokens": tokens})
        for name, tokens in (("a", "1, 2, S0, D"), ("b", "1, S0, D"))
    ]
    graph = Graph(
        nodes=(*sources, Node("add", "alu", {"operation": "add"}), Node("out", "sink")),
        edges=(
            Edge(End("a", "val"), End("add", "in_val0")),
            Edge(End("b", "val"), End("add", "in_val1")),
            Edge(End("add", "val"), End("out", "in_stream")),
        ),
    )
    with pytest.raises(StreamError, match="different shapes"):
        sim.simulate(graph, engine="compiled")
