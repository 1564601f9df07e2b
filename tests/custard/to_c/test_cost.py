"""The cost of programs in C: by hand, and in comparison."""

import numpy as np
import pytest

import custard
from custard.autoscheduling.fibers import InputFibers
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.formats import parse_format
from custard.to_c.cost import cost, turned
from sam.tensor import Tensor


def costs(text, formats, inputs, order):
    program = cin.reordered(concretize(notation.parse(text)), order)
    resolved = {name: parse_format(form) for name, form in formats.items()}
    made = custard.compile(text, formats, target="c")
    tensors = {name: Tensor.of(value) for name, value in inputs.items()}
    return cost(program, resolved, InputFibers(tensors, made.bind(tensors).extents))


def test_costs_worked_out_by_hand():
    matrix = Tensor.from_numpy(np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0]]), "ds")
    formats = {"y": "d", "A": "ds", "x": "d"}
    found = costs("y(i) = A(i,j) * x(j)", formats, {"A": matrix, "x": np.ones(3)}, "ij")
    # Three rows, and three entries that are gathered and summed up, for 1.5 each.
    assert found == pytest.approx(3 + 3 * 1.5)


def test_a_result_is_transposed_where_that_is_worth_it():
    text, forms = "X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "dd", "B": "ds"}
    program = cin.reordered(concretize(notation.parse(text)), "kji")
    formats = {name: parse_format(form) for name, form in forms.items()}
    found, accesses = turned(program, formats)
    # Extents of 10,000 and fibers of 8 coordinates: each of 8e8 points costs 0.5, and each of the
    # 1e8 elements of A and X 3; two pairs of levels are the other way round.
    assert found == pytest.approx((1e4 + 8e4 + 4e8 + 6e8) * 1.02)
    assert set(map(str, accesses)) == {"A(i,k)", "X(i,j)"}
    dearer, inputs = turned(program, formats, turns="inputs")
    assert dearer > 2 * found
    assert set(map(str, inputs)) == {"A(i,k)"}
    assert turned(program, formats, turns="none")[1] == set()


def test_a_merge_is_dear():
    """Coordinates 0, 1, 2 and 1, 2, 3: four steps, two of which have both."""
    inputs = {"a": Tensor.from_numpy(np.array([1, 1, 1, 0]), "s")}
    inputs["b"] = Tensor.from_numpy(np.array([0, 1, 1, 1]), "s")
    found = costs("x = a(i) * b(i)", {"x": "", "a": "s", "b": "s"}, inputs, "i")
    assert found == pytest.approx(4 * (1 + 8) + 2 * 0.5)


def test_a_sparse_result_in_another_order_is_sorted():
    random = np.random.default_rng(1)
    a, b = (np.where(random.random((50, 50)) < 0.2, 1.0, 0.0) for _ in range(2))
    text = "X(i,j) = A(i,k) * B(k,j)"
    csr = {"A": Tensor.from_numpy(a, "ds"), "B": Tensor.from_numpy(b, "ds")}
    by_rows = costs(text, dict.fromkeys("XAB", "ds"), csr, "ikj")
    outer = costs(text, {"X": "ds", "A": "ds:1,0", "B": "ds"}, csr, "kij")
    assert 2 * by_rows < outer
