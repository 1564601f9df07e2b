"""The compiled engine agrees with the SimPy engine, to the last cycle."""

import re
from ast import literal_eval
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import custard
import sim
from experiments.dense import evaluate
from sam.blocks import StreamError
from sam.graph import Edge, End, Graph, Node
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sam.tensor import Tensor
from sim.binding import bind
from sim.compiled import engine as compiled_engine
from sim.compiled import parts
from sim.compiled.kernel.source import PATHS
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from sim.endless import OutOfCycles
from tests.custard.to_c.test_levels import LEVELS, RESULT_LEVELS, chained, in_words, skipping
from tests.support.compiler import needs_compiler
from tests.support.profiles import PROFILE, examples
from tests.support.programs import programs

pytestmark = needs_compiler

relaxed = settings(suppress_health_check=list(HealthCheck))

depths = st.sampled_from([1, 2, 3, 4, 8, 64, "unbounded"])
cycles = st.sampled_from([1, 1, 1, 2, 5])
configs = st.fixed_dictionaries(
    {},
    optional={
        "queues.depth": depths,
        "queues.latency_cycles": cycles,
        "queues.kinds.val.depth": depths,
        "queues.kinds.ref.depth": depths,
        "queues.kinds.crd.latency_cycles": cycles,
        "blocks.latency_cycles": cycles,
        "blocks.initiation_interval_cycles": cycles,
        "blocks.word_bits": st.sampled_from([1, 2, 3, 64]),
        "blocks.kinds.level_scanner.initiation_interval_cycles": cycles,
        "blocks.kinds.reducer.latency_cycles": cycles,
        "blocks.names.write_X_vals.initiation_interval_cycles": cycles,
    },
)

rates = st.sampled_from([0.3, 1, 3, 8, 64.0, 68.256, "unbounded"])


@st.composite
def memory_levels(draw, name, **more):
    """A level of memory, as a config has it."""
    return {
        "name": name,
        "bandwidth_gb_per_s": draw(rates),
        "latency_cycles": draw(st.sampled_from([0, 1, 2, 7, 40])),
        "ports": draw(st.sampled_from([1, 2, 3, "per_block"])),
        "line_bytes": draw(st.sampled_from([None, 4, 16, 32, 64])),
        "replacement": draw(st.sampled_from(["lru", "fifo"])),
        **more,
    }


@st.composite
def memories(draw, tensors):
    """The section ``memory`` of a config, with places of some of the tensors."""
    levels = [draw(memory_levels("DRAM"))]
    for name in draw(st.sampled_from([[], ["LLB"], ["LLB"], ["LLB", "L1"]])):
        room = st.sampled_from([64, 64, 100, 150, 300, 1000, "unbounded"])
        levels.append(draw(memory_levels(name, capacity_bytes=draw(room))))
    names = st.sampled_from([level["name"] for level in levels])
    keys = [*tensors, *(f"{t}.{part}" for t in tensors for part in ("crd", "seg", "0")), "val"]
    return {
        "levels": levels,
        "index_bytes": draw(st.sampled_from([4, 8, 3])),
        "outstanding_requests": draw(st.sampled_from([1, 2, 3, 16, "unbounded"])),
        "places": draw(st.dictionaries(st.sampled_from(keys), names, max_size=2)),
    }


@st.composite
def with_memory(draw, *tensors):
    """A config for a program of which some of the tensors have places in memory."""
    memory = draw(memories(tensors))
    return {**draw(configs), **{f"memory.{key}": value for key, value in memory.items()}}


paths_off = st.sampled_from(["", "all", *(path.name for path in PATHS)])
"""Fast paths that are off: none, all, or one of them."""


def outcome(program: custard.Program, inputs: Any, config: Any, engine: str, off: str = "") -> Any:
    """All that a run tells, or the text of its error; some fast paths may be off."""
    try:
        with patch.dict("os.environ", SAM_PATHS_OFF=off):
            run = program.simulate(inputs, overrides=config, engine=engine)
    except UserError as error:
        return str(error)
    values = run.output.to_numpy()
    told = run.cycles, run.blocks, run.streams, run.memory
    return *told, run.output.format, repr(values.tolist())


def agree(program: Any, config: Any, commands: list[str] | None = None, off: str = "") -> None:
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    schedule += commands or []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    inputs = program.tensors
    assert outcome(compiled, inputs, config, "compiled", off) == outcome(
        compiled, inputs, config, "simpy"
    )


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


def told_after(program, latencies):
    """A config in which the wires of a program have some latencies."""
    ends = [e.target for e in program.graph.edges if e.target.port == "in_skip"]
    names = zip(map(str, ends), latencies, strict=False)
    return {f"queues.names.{name}.latency_cycles": latency for name, latency in names}


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(st.data(), st.lists(cycles, max_size=4))
def test_scanners_skip(data, latencies):
    program = data.draw(programs(levels="dsubr", result_levels="dsub", operators="**+"))
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    order = [f"reorder({','.join(program.order)})"] if program.order else []
    skips = data.draw(skipping(program.expression, formats, order, program.dims))
    compiled = custard.compile(program.expression, formats, [*order, *skips], dims=program.dims)
    config = {
        **data.draw(configs | with_memory("X", *program.tensors)),
        **told_after(compiled, latencies),
    }
    found = outcome(compiled, program.tensors, config, "compiled", data.draw(paths_off))
    assert found == outcome(compiled, program.tensors, config, "simpy")
    if not isinstance(found, str):
        due = evaluate(program.expression, program.tensors, program.dims)
        assert literal_eval(found[-1]) == due.tolist()


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


@st.composite
def in_runs(draw, names, length):
    """Matrices in whose rows there is nothing for long, and then much."""
    ends = st.lists(st.integers(0, length), max_size=6)
    inputs = {name: np.zeros((3, length)) for name in names}
    for matrix in inputs.values():
        for row in matrix:
            for end in draw(ends):
                row[end:] = 1 - row[end:]
    return inputs


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(in_runs("BC", 200), configs, st.integers(2, 200), st.sampled_from("sb"))
@example({"B": np.tri(3, 200, 150), "C": np.eye(3, 200, 197)}, {}, 9, "b")
@example({"B": np.tri(3, 200, 150), "C": np.eye(3, 200, 197)}, {}, 200, "s")
def test_coordinates_of_only_one_operand_are_dropped(inputs, config, distance, level):
    """Several firings at once, as long as none has to wait for a token after a gap."""
    inputs["B"][:, ::distance] = 0
    program = custard.compile("X(i,j) = B(i,j) * C(i,j)", {"B": f"s{level}", "C": "ss", "X": "ss"})
    found = outcome(program, inputs, config, "compiled")
    assert found == outcome(program, inputs, config, "simpy")
    if not isinstance(found, str):
        assert found[-1] == repr((inputs["B"] * inputs["C"]).tolist())


shares = st.floats(0, 1) | st.sampled_from([0.05, 0.1, 0.2])


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(st.integers(0, 2**32), shares, shares, configs, st.sampled_from(["B", "(B+D)", "(B-C.T)"]))
@example(0, 0.3, 0.3, {}, "B")
@example(1, 0.1, 0.1, {"blocks.initiation_interval_cycles": 2}, "B")
@example(2, 0.3, 0.2, {}, "(B+D)")
@example(2, 0.5, 0.5, {"queues.depth": 20}, "B")
@example(3, 0.2, 0.9, {"queues.depth": 64}, "(B-C.T)")
def test_operands_are_dropped_in_alternation(seed, share, other, config, left):
    """Short fibers and long ones, of which few coordinates are the same."""
    rng = np.random.default_rng(seed)
    shapes = {"B": (12, 60), "C": (60, 12), "D": (12, 60)}
    inputs = {
        name: rng.integers(1, 9, shape) * (rng.random(shape) < (other if name == "C" else share))
        for name, shape in shapes.items()
        if name == "C" or name in left
    }
    accesses = left.replace("C.T", "C(k,i)").replace("B", "B(i,k)").replace("D", "D(i,k)")
    program = custard.compile(
        f"X(i,j) = {accesses} * C(k,j)",
        {"X": "ss", **{name: "ss:1,0" if name == "C" else "ss" for name in inputs}},
        ["reorder(i,j,k)"],
    )
    found = outcome(program, inputs, config, "compiled")
    assert found == outcome(program, inputs, config, "simpy")
    if not isinstance(found, str):
        assert found[-1] == repr((eval(left, inputs) @ inputs["C"]).tolist())


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(st.data(), st.integers(2, 4), st.lists(cycles, max_size=4), st.sampled_from("sdbu"))
def test_long_runs_are_skipped(data, operands, latencies, level):
    """Fibers in which one operand has nothing for long, where others have much."""
    names = "BCDE"[:operands]
    inputs = data.draw(in_runs(names, 60))
    expression = "X(i,j) = " + " * ".join(f"{name}(i,j)" for name in names)
    formats = {name: data.draw(st.sampled_from("ds")) + level for name in names}
    chosen = data.draw(st.sets(st.sampled_from(names), min_size=1))
    commands = [f"coiterate({n},j)" for n in names] + [f"skip({n},j)" for n in sorted(chosen)]
    program = custard.compile(expression, formats, commands)
    config = {**data.draw(configs | with_memory("X", *names)), **told_after(program, latencies)}
    found = outcome(program, inputs, config, "compiled")
    assert found == outcome(program, inputs, config, "simpy")
    if not isinstance(found, str):
        assert found[-1] == repr(np.prod(list(inputs.values()), axis=0).tolist())


@pytest.mark.parametrize("depth", ["unbounded", 2])
@pytest.mark.parametrize("latencies", [(1, 1), (2, 1), (3, 5)])
def test_messages_come_in_the_right_cycle(depth, latencies):
    """Of vectors of random runs; one cycle too early or too late is one coordinate less or more."""
    generator = np.random.default_rng(5)
    program = custard.compile("x(i)=b(i)*c(i)", schedule=["skip(b,i)", "skip(c,i)"])
    config = {"queues.depth": depth, **told_after(program, latencies)}
    for _ in range(12):
        inputs = {}
        for name in "bc":
            inputs[name] = np.zeros(300)
            for end in generator.integers(0, 300, generator.integers(1, 12)):
                inputs[name][end:] = 1 - inputs[name][end:]
        stored = {name: Tensor.of(vector, "s") for name, vector in inputs.items()}
        found = outcome(program, stored, config, "compiled")
        assert found == outcome(program, stored, config, "simpy")
        assert found[-1] == repr((inputs["b"] * inputs["c"]).tolist())


def test_a_deadlock_of_skipping_scanners_is_told_alike():
    """A dropper has room for one coordinate, and the token that it waits for needs the next."""
    commands = ["reorder(i,j,k)", "skip(B,k)", "skip(C,k)"]
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", {"C": "ss:1,0"}, commands)
    inputs = {"B": np.triu(np.ones((4, 4))), "C": np.eye(4)}
    text = outcome(program, inputs, {"queues.depth": 1}, "compiled")
    assert text == outcome(program, inputs, {"queues.depth": 1}, "simpy")
    assert text.startswith("deadlock after cycle 8: 7 blocks wait for each other")
    assert "  scan_C_k waits for a token on scan_C_j.ref -> scan_C_k.in_ref (empty)\n" in text


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


def test_compiled_code_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))
    source = "int answer(void) { return 42; }"
    [library] = cc.build([source], {})
    assert library.answer() == 42
    [kept] = tmp_path.glob("*.so")
    written = kept.stat().st_ino
    cc.build([source], {})
    assert [path.stat().st_ino for path in tmp_path.glob("*.so")] == [written]


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    with pytest.raises(UserError) as caught:
        cc.compiler()
    assert str(caught.value) == ("the C compiler no-such-compiler, which CC names, is not found")


def stepped(step, tokens, state, engine):
    """The stream that a block of one's own gives: one input, one output, of values."""
    from sam.blocks import KINDS
    from sam.blocks.base import Block, Kind, into, out
    from sam.token import format_stream

    ports = (into("in_val", "val"), out("val", "val"))
    KINDS["one's own"] = Kind("one's own", None, lambda parameters: Block(ports, step, state))
    try:
        graph = Graph(
            nodes=(
                Node("from", "source", {"stream": "val", "depth": 1, "tokens": tokens}),
                Node("block", "one's own"),
                Node("to", "sink"),
            ),
            edges=(
                Edge(End("from", "val"), End("block", "in_val")),
                Edge(End("block", "val"), End("to", "in_stream")),
            ),
        )
        run = sim.simulate(graph, engine=engine, validate=False)
        return format_stream(run.sinks["to"])
    finally:
        del KINDS["one's own"]


def truths(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    if s.count and s.on:
        s.count = s.count - 1
        p.val.give(kind, value)
    elif kind != 0 or not (s.count and value > 100):
        p.val.give(kind, value)
    s.on = s.count > 1 or not s.on
    return True if kind == 3 else None


def whole(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    if kind == 0:
        s.a = s.a - 3
        bits = (s.a + 100 << 33) + (s.a + 100 >> 1 & 12 | 1)
        p.val.give(kind, value + s.a // s.b * 100 + s.a % s.b * 10 + bits % 7 + bits // 8 % 5)
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def divides_by_zero(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    p.val.give(kind, value + (kind + 5) % s.a)
    return True if kind == 3 else None


def swaps(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    s.a, s.b = s.b, s.a
    p.val.give(kind, value + s.a * 100 + bump(s, s.b) if kind == 0 else value)
    return True if kind == 3 else None


def swaps_apart(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    s.a, s.b = s.b, s.a
    total = s.a * 100 + bump(s, s.b)
    if kind == 0:
        p.val.give(kind, value + total)
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def bump(s, amount):
    s.a += 1
    s.b += 1
    return s.a + amount


def widest(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    if kind == 0:
        p.val.give(kind, max(value, 0.25, min(value, 2.75)))
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def one_behind(p, s, m):
    """Mostly it holds a value back, and gives the one before."""
    kind, value = p.in_val.peek()
    if kind != 0 and s.holding:
        p.val.give(0, s.held)
        s.holding = False
        return None
    p.in_val.take()
    if kind == 0:
        if s.holding:
            p.val.give(0, s.held)
        s.held = value
        s.holding = True
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def on_and_off(p, s, m):
    """A state that most firings leave, but not all."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    if not s.on:
        s.on = True
        s.mask = 5
        more = 10
    else:
        more = (0 if s.mask == 5 else 20) + (0 if s.on else 50)
    s.mask = 7 if s.on and value > 3 else s.mask
    more = more + s.mask.bit_count() + s.mask // 2 % 3
    s.on = s.on and value != 3.5
    p.val.give(kind, value + more if kind == 0 else value)
    return True if kind == 3 else None


def loops(p, s, m):
    """A value known ahead of a loop may change in it."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    s.rounds = 0
    total = 0
    while s.rounds < 3:
        total = total + s.rounds
        s.rounds = s.rounds + 1
    s.most = s.rounds > 2
    if s.most:
        total = total + 100
    p.val.give(kind, value + total if kind == 0 else value)
    return True if kind == 3 else None


@pytest.mark.parametrize(
    ("step", "state"),
    [
        (one_behind, {"holding": False, "held": 0.0}),
        (on_and_off, {"on": False, "mask": 0}),
        (loops, {"rounds": 9, "most": False}),
        (truths, {"count": 2, "on": True}),
        (swaps_apart, {"a": 1, "b": 5}),
        (widest, {}),
        (whole, {"a": 0, "b": 4}),
        (whole, {"a": 0, "b": -4}),
    ],
)
def test_steps_mean_in_c_what_they_mean_in_python(step, state):
    many = ", ".join(str(n / 4) for n in range(30))
    tokens = f"1.5, 2.5, 0.125, S0, 3.5, S0, {many}, S0, D"
    assert stepped(step, tokens, state, "compiled") == stepped(step, tokens, state, "simpy")


def test_a_division_by_zero_ends_the_run():
    with pytest.raises(StreamError, match="a division by zero"):
        stepped(divides_by_zero, "1.5, S0, D", {"a": 0}, "compiled")


def test_a_step_that_might_mean_something_else_in_c_is_refused():
    with pytest.raises(UserError) as caught:
        stepped(swaps, "1.5, S0, D", {"a": 1, "b": 5}, "compiled")
    assert str(caught.value) == (
        "swaps, in `p.val.give(kind, value + s.a * 100 + bump(s, s.b) if kind == 0 else value)`: "
        "value + s.a * 100 + bump(s, s.b) in an arm of a conditional expression has no "
        "translation to C\nhint: use engine simpy"
    )


def ends_scaled(p, s, m):
    return scaled(p, factor=s.a)


def scaled(p, factor=1):
    kind, value = p.in_val.peek()
    p.in_val.take()
    p.val.give(kind, value * factor if kind == 0 else value)
    return True if kind == 3 else None


def test_arguments_by_keyword_are_refused_where_a_firing_ends_with_a_call():
    with pytest.raises(UserError) as caught:
        stepped(ends_scaled, "1.5, S0, D", {"a": 2}, "compiled")
    assert str(caught.value) == (
        "ends_scaled, in `return scaled(p, factor=s.a)`: an argument by keyword has no "
        "translation to C\nhint: use engine simpy"
    )
