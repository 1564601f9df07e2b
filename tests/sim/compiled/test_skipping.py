"""Scanners that skip, and operands whose coordinates are dropped, as on the SimPy engine."""

from ast import literal_eval

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import custard
from experiments.dense import evaluate
from sam.tensor import Tensor
from tests.custard.to_c.test_levels import chained, skipping
from tests.support.compiler import needs_compiler
from tests.support.configs import configs, cycles, with_memory
from tests.support.engines import outcome, paths_off, relaxed, told_after
from tests.support.profiles import examples
from tests.support.programs import programs

pytestmark = needs_compiler


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
