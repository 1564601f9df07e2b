"""Kernels that are compiled for the extents of small dense blocks."""

import numpy as np
import pytest

import custard
from custard.to_c import blocks
from custard.to_c.blocks import block_extents
from experiments.dense import evaluate
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled

SPMV = "y(i,k) = A(i,j,k,l) * x(j,l)", {"y": "dd", "A": "dsdd", "x": "dd"}


def found(form, shape):
    """The extents for a matrix, or a tensor, of ones."""
    variables = "ijklm"[: len(shape)]
    text = f"y = A({','.join(variables)})"
    program = custard.compile(text, {"A": form}, target="c")
    stored = program.bind({"A": np.ones(shape)}).stored
    return block_extents(program.slots, stored, dict(zip(variables, shape, strict=True)))


@pytest.mark.parametrize(
    ("form", "shape", "due"),
    [
        ("dsdd", (4, 5, 2, 3), {"k": 2, "l": 3}),
        ("dsdd", (4, 5, 2, 8), {"k": 2}),  # eight elements take whole vectors
        ("dsdd:2,3,0,1", (2, 3, 4, 5), {"i": 2, "j": 3}),
        ("dsds", (4, 5, 2, 3), {}),  # not below all others
        ("ddd", (4, 5, 2), {"j": 5, "k": 2}),  # a list of matrices
        ("dd:1,0", (4, 5), {"i": 4}),
        ("d", (4,), {}),
        ("ds", (2, 3), {}),
    ],
)
def test_extents_are_those_of_small_full_levels_below_all_others(form, shape, due, monkeypatch):
    monkeypatch.setattr(blocks, "_MANY", 1)
    assert found(form, shape) == due


def test_few_values_are_not_worth_a_kernel(monkeypatch):
    monkeypatch.setattr(blocks, "_MANY", 4 * 5 * 2 * 3)
    assert found("dsdd", (4, 5, 2, 3)) == {"k": 2, "l": 3}
    assert found("dsdd", (4, 5, 2, 2)) == {}


@needs_compiler
@pytest.mark.parametrize(
    ("text", "formats"),
    [
        SPMV,
        ("X(i,j,k,l) = A(i,j,k,l) + A(i,j,l,k)", {"X": "dsdd", "A": "dsdd"}),
        ("X(k,i,j) = A(i,j,k,l)", {"X": "dds", "A": "dsdd"}),
        ("X(i,j,k) = A(i,j,k,l) * A(i,j,l,k)", {"X": "ddd", "A": "dddd"}),
    ],
)
def test_blocks_of_one_extent_after_another(text, formats, monkeypatch):
    monkeypatch.setattr(blocks, "_MANY", 0)
    random = np.random.default_rng(1)
    program = compiled(text, formats)
    for rows in (2, 3, 9):
        there = random.random((6, 4, 1, 1)) < 0.4
        A = there * random.integers(1, 9, (6, 4, rows, 3 if "l,k" not in text else rows))
        given = {"A": A, "x": random.integers(1, 9, (4, A.shape[3]))}
        given = {name: given[name] for name in formats if name in given}
        np.testing.assert_array_equal(program.run(given).to_numpy(), evaluate(text, given))


@needs_compiler
def test_the_kernel_knows_the_extents_and_linked_c_does_not(monkeypatch):
    monkeypatch.setattr(blocks, "_MANY", 0)
    program = custard.compile(*SPMV, target="c")
    bound = program.bind({"A": np.ones((4, 5, 2, 3)), "x": np.ones((5, 3))})
    assert bound.types.extents == {"k": 2, "l": 3}
    assert "l < 3" in bound.kernel.source
    assert "l < l_size" in program.linkable(types=bound.types).source
