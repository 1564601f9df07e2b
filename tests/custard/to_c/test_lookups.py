"""Outermost levels whose coordinates are looked up: when, and the values."""

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from custard.to_c.lookups import candidates
from experiments.dense import evaluate
from sam.graph import Slot
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

PRODUCT = "X(i,j) = A(i,k) * B(k,j)"


def slot(name, levels, *variables):
    return Slot(name, name, levels, tuple((n,) for n in range(len(levels))), variables)


def matrix(rows, per_row, extent):
    """A square matrix with some rows, of as many entries each, all in columns of these rows."""
    random = np.random.default_rng(2)
    at = np.sort(random.choice(extent, rows, replace=False))
    places = np.repeat(at, per_row), random.choice(at, rows * per_row)
    found = sp.coo_array((np.ones(rows * per_row), places), shape=(extent, extent))
    return Tensor.of(found.tocsr()).convert("ss")


def test_the_rows_that_an_inner_loop_goes_through_are_candidates():
    A, B = slot("A", "ss", "i", "k"), slot("B", "ss", "k", "j")
    assert candidates([A, B], ["i", "k", "j"]) == {"B": [("A", 1)]}
    # The outermost loop goes through the rows once.
    assert candidates([A, slot("B", "ss", "i", "k")], ["i", "k"]) == {}
    # Nothing lists the coordinates to look up.
    assert candidates([slot("A", "dd", "i", "k"), B], ["i", "k", "j"]) == {}
    assert candidates([A, slot("B", "ds", "k", "j")], ["i", "k", "j"]) == {}


@pytest.mark.parametrize(
    ("A", "B", "due"),
    [
        (matrix(100, 2, 200), matrix(100, 2, 200), True),
        # So many places are not worth it for so few entries.
        (matrix(100, 2, 10**6), matrix(100, 2, 10**6), False),
        # The rows of A are much longer than B has rows.
        (matrix(150, 100, 200), matrix(5, 2, 200), False),
    ],
)
def test_an_array_is_made_where_it_is_worth_it(A, B, due):
    program = custard.compile(PRODUCT, dict.fromkeys("XAB", "DCSR"), target="c")
    bound = program.bind({"A": A, "B": B})
    assert bound.types.looked_up == ({"B"} if due else set())
    note = "for these inputs, k is looked up in an array for B"
    assert (note in bound.notes) == due


@needs_compiler
@pytest.mark.parametrize(
    ("expression", "formats"),
    [
        (PRODUCT, dict.fromkeys("XAB", "DCSR")),
        (PRODUCT, {"X": "dd", "A": "CSR", "B": "DCSR"}),
        ("X(i,j) = A(i,k) * A(k,j)", {"X": "CSR", "A": "DCSR"}),
        ("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "s"}),
        ("y(i) = A(i,j) * x(j) * z(j)", {"y": "s", "A": "DCSR", "x": "s", "z": "s"}),
        ("y(i) = A(i,j) * x(j)", {"y": "d", "A": "COO", "x": "s"}),
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "CSR", "A": "COO", "B": "DCSR"}),
        ("y(i) = A(i,j) * (x(j) + z(j))", {"y": "d", "A": "CSR", "x": "s", "z": "s"}),
        ("y(i) = A(i,j) * (x(j) * z(j) - z(j))", {"y": "d", "A": "CSR", "x": "s", "z": "s"}),
        ("y(i) = A(i,j) * (2 - x(j)) * z(j)", {"y": "s", "A": "DCSR", "x": "s", "z": "s"}),
        ("X(i,j) = A(i,k) * (B(k,j) - C(k,j))", dict.fromkeys("XABC", "DCSR")),
        ("X(i,j) = A(i,j) + A(i,k) * B(k,j)", dict.fromkeys("XAB", "DCSR")),
        ("X(i,j) = A(i,k) * B(k,l) * C(l,j)", dict.fromkeys("XABC", "DCSR")),
    ],
)
def test_values(expression, formats):
    """Also where the first and the last coordinate are there, and where none is."""
    random, looked_up = np.random.default_rng(1), set()
    for share in (0.0, 0.1, 0.6, 1.0):
        tensors = {
            name: random.integers(1, 9, shape) * (random.random(shape) < share) * 1.0
            for name, shape in {**dict.fromkeys("ABC", (12, 12)), "x": 12, "z": 12}.items()
            if f"{name}(" in expression.partition("=")[2]
        }
        bound = custard.compile(expression, formats, target="c").bind(tensors)
        looked_up |= bound.types.looked_up
        np.testing.assert_array_equal(bound.run().to_numpy(), evaluate(expression, tensors))
    assert looked_up
