"""Graphs of the published dialect, written by hand, against numpy and the published simulator."""

from pathlib import Path

import numpy as np
import pytest

import sim
from sam.dot import from_dot
from sam.support.errors import UserError
from sam.validate import validate
from tests.support import published
from tests.support.published_text import dot

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
DRAW = np.random.default_rng(5)


def sparse(*shape):
    return (DRAW.integers(1, 9, shape) * (DRAW.random(shape) < 0.4)).astype(float)


def run(graph, inputs, engine="simpy"):
    """The result of a run, as an array, and its cycles; every stream is watched on simpy."""
    done = sim.simulate(graph, inputs, engine=engine, validate=engine == "simpy")
    return done.output.to_numpy(), done.cycles


FILES = {
    "spmv": (EXAMPLES / "spmv.gv", lambda B, c: B @ c, {"B": (5, 7), "c": (7,)}),
    "residual": (
        HERE / "residual.gv",
        lambda b, C, d: b - C @ d,
        {"b": (5,), "C": (5, 7), "d": (7,)},
    ),
    "sddmm": (
        HERE / "sddmm.gv",
        lambda B, C, D: B * (C @ D),
        {"B": (5, 6), "C": (5, 3), "D": (3, 6)},
    ),
    "mat_trans_mul": (
        HERE / "mat_trans_mul.gv",
        lambda b, C, d, e, f: b * (C.T @ d) + e * f,
        {"b": (), "C": (6, 7), "d": (6,), "e": (), "f": (7,)},
    ),
    "matmul_kij": (HERE / "matmul_kij.gv", lambda B, C: B @ C, {"B": (5, 6), "C": (6, 7)}),
    "tensor_times_vector": (
        HERE / "tensor_times_vector.gv",
        lambda B, c: B @ c,
        {"B": (4, 5, 6), "c": (6,)},
    ),
    "add_three": (
        HERE / "add_three.gv",
        lambda B, C, D: B + C + D,
        {"B": (5, 6), "C": (5, 6), "D": (5, 6)},
    ),
    "matmul_without_zeros": (
        HERE / "matmul_without_zeros.gv",
        lambda B, C: B @ C,
        {"B": (5, 6), "C": (6, 7)},
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_values(name, engine):
    path, right, shapes = FILES[name]
    graph = from_dot(path.read_text())
    inputs = {tensor: sparse(*shape) for tensor, shape in shapes.items()}
    np.testing.assert_array_equal(run(graph, inputs, engine)[0], right(**inputs))


@published.needs_published
@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("spmv", "mat_vecmul_ij_s8_d20"),
        ("spmv", "mat_vecmul_ij_s50_d05"),
        ("residual", "mat_residual_s8_d20"),
        ("residual", "mat_residual_s20_d10"),
        ("sddmm", "paper_sddmm_coiter_fused_ref250x100_K1"),
        ("mat_trans_mul", "mat_mattransmul_s8_d20"),
        ("mat_trans_mul", "mat_mattransmul_s100_d05"),
        ("matmul_kij", "matmul_kij_s8_d20"),
        ("matmul_kij", "matmul_kij_s100_d05"),
        ("tensor_times_vector", "tensor3_ttv_s6"),
        ("tensor_times_vector", "tensor3_ttv_s20"),
        ("add_three", "mat_elemadd3_s20_d10"),
        ("add_three", "mat_elemadd3_s100_d05"),
    ],
)
def test_cycles_are_those_of_the_published_simulator(name, record):
    """Within 1 % and 10 cycles: a repeat-signal generator is no block here, and adds no hop."""
    figures = published.read("cycles.json")
    (known,) = [one for one in figures["records"] if one["name"] == record]
    path, right, _ = FILES[name]
    graph = from_dot(path.read_text())
    inputs = {
        tensor: _dense(stored) for tensor, stored in figures["inputs"][known["inputs"]].items()
    }
    if name == "sddmm":
        rows, columns = inputs["B"].shape
        inputs = {"B": inputs["B"], "C": np.ones((rows, 1)), "D": np.ones((1, columns))}
    if name == "mat_trans_mul":
        inputs |= {"b": 2.0, "e": 3.0}
    values, cycles = run(graph, inputs, "compiled")
    np.testing.assert_array_equal(values, right(**inputs))
    assert abs(cycles - known["cycles"]) <= 0.01 * known["cycles"] + 10


def _dense(stored):
    array = np.zeros(stored["shape"])
    for place, value in zip(stored["coords"], stored["values"], strict=True):
        array[tuple(place)] = value
    return array


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            dot("x=s0,b=s0", "1 fiberlokup index=i", ""),
            'node "1" of type fiberlokup has no counterpart among our blocks\n'
            "hint: did you mean fiberlookup?",
        ),
        (
            dot("x=s0,b=s0", "1 sparsesort index=i", ""),
            'node "1" of type sparsesort has no counterpart among our blocks\n'
            "hint: one of fiberlookup, repeat, intersect, union, arrayvals, mul, add, reduce, "
            "spaccumulator, crddrop, crdhold, fiberwrite, broadcast, repsiggen",
        ),
        (
            dot("x=s0,b=s0", "1 broadcast\n2 broadcast\n3 reduce", "1 2 val\n2 1 val\n2 3 val"),
            'node "2" of type broadcast is in a loop of only such nodes',
        ),
        (
            dot("x=s0,b=s0", "1 mul\n2 reduce", "1 2 vals"),
            'edge "1" -> "2" carries vals\nhint: did you mean val?',
        ),
        ("digraph { 1 [type=mul]; 2 }", 'node "2" has no attribute "type"'),
    ],
)
def test_mistakes(text, error):
    with pytest.raises(UserError) as refusal:
        validate(from_dot(text))
    assert str(refusal.value) == error
