"""Iterations of loops, counted: by hand, by brute force, and of a sample."""

from itertools import product

import numpy as np
import pytest

from custard.autoscheduling.fibers import FiberStatistics, InputFibers
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from sam.tensor import Tensor

# 1 1 . .
# . . . .
# 1 . 1 1
MATRIX = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]])


def walked(text, inputs, order, levels=None, extents=None):
    """The counts of the right side of an expression, by variable."""
    program = concretize(notation.parse(text))
    tensors = {name: Tensor.of(array).convert("s" * array.ndim) for name, array in inputs.items()}
    codes, sizes = {}, dict(extents or {})
    for node in cin.walk(program.value):
        if isinstance(node, cin.Access):
            letters = (levels or {}).get(node.tensor, "s" * len(node.variables))
            stored = sorted(node.variables, key=order.index)
            codes[node] = dict(zip(stored, letters, strict=True))
            sizes.update(zip(node.variables, tensors[node.tensor].shape, strict=True))
    counts = InputFibers(tensors, sizes).count(program.value, list(order), codes)
    return {one.variable: one for one in counts}


def test_statistics_of_the_levels():
    fibers = InputFibers({"B": Tensor.from_numpy(MATRIX, "ss")}, {"i": 3, "j": 4})
    access = cin.Access("B", ("i", "j"))
    assert fibers.statistics(access, "ij") == [
        FiberStatistics(1, 2.0, 2),
        FiberStatistics(2, 2.5, 3),
    ]
    assert fibers.statistics(access, "ji") == [
        FiberStatistics(1, 4.0, 4),
        FiberStatistics(4, 1.25, 2),
    ]


def test_a_matrix_times_a_sparse_vector():
    found = walked("y(i) = B(i,j) * x(j)", {"B": MATRIX, "x": np.array([1, 0, 1, 0])}, "ij")
    assert (found["i"].entered, found["i"].points) == (1, 2)
    # Row 0 has 0, 1 and the vector 0, 2: three coordinates, one of them in both. Row 2 has 0, 2, 3.
    assert (found["j"].entered, found["j"].steps, found["j"].points) == (2, 6, 3)
    assert sorted(found["j"].scanned.values()) == [4, 5]


def test_a_matrix_times_a_dense_vector():
    inputs = {"B": MATRIX, "x": np.ones(4)}
    found = walked("y(i) = B(i,j) * x(j)", inputs, "ij", {"B": "ds", "x": "d"})
    # Row 1 is there, and has nothing.
    assert (found["i"].steps, found["i"].points) == (3, 3)
    assert (found["j"].entered, found["j"].steps, found["j"].points) == (3, 5, 5)


def test_a_sum_of_two_matrices():
    other = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    found = walked("X(i,j) = B(i,j) + C(i,j)", {"B": MATRIX, "C": other}, "ij")
    assert (found["i"].points, found["j"].points) == (3, 3 + 1 + 3)


def test_missing_rows_have_no_dense_level_below_them():
    other = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    inputs = {"B": MATRIX, "C": other}
    found = walked("X(i,j) = B(i,j) + C(i,j)", inputs, "ij", {"B": "sd"})
    # Rows 0 and 2 are whole; row 1 has what C has.
    assert (found["i"].points, found["j"].points) == (3, 4 + 1 + 4)


def test_an_absent_operand_stays_absent_further_in():
    c = np.zeros((2, 2, 3))
    c[1, 1, 0] = 1
    inputs = {"B": np.array([[1, 1], [0, 0]]), "b": np.ones(3), "C": c}
    found = walked("X(i,j,k) = B(i,j) * b(k) + C(i,j,k)", inputs, "ijk", {"B": "sd"})
    # Row 0 has all of b at both columns, row 1 the entry of C.
    assert [found[v].points for v in "ijk"] == [2, 3, 7]


def test_a_variable_that_only_the_result_has():
    found = walked("X(i,j) = b(i)", {"b": np.array([0, 1, 1])}, "ij", extents={"j": 5})
    assert (found["i"].points, found["j"].points) == (2, 10)


def test_a_diagonal():
    found = walked("y(i) = B(i,i)", {"B": MATRIX[[0, 1, 2]][:, [0, 1, 2]]}, "i")
    assert found["i"].points == 2


def test_empty_inputs_have_no_iterations():
    found = walked(
        "X(i,j) = B(i,k) * C(k,j)", {"B": np.zeros((3, 2)), "C": np.zeros((2, 3))}, "ikj"
    )
    assert [found[v].points for v in "ikj"] == [0, 0, 0]
    found = walked("y(i) = B(i,j) * x(j)", {"B": np.zeros((0, 4)), "x": np.ones(4)}, "ij")
    assert [found[v].points for v in "ij"] == [0, 0]


TEXTS = {
    "X(i,j) = B(i,k) * C(k,j)": ("ijk", "ikj", "kij", "jki"),
    "X(i,j) = B(i,j) * C(i,k) * D(k,j)": ("ijk", "kji"),
    "X(i,j) = B(i,j) + C(i,j) * D(i,j)": ("ij", "ji"),
    "y(i) = (B(i,j) + C(i,j)) * x(j)": ("ij", "ji"),
    "y(i) = b(i) * B(i,j) + c(i)": ("ij", "ji"),
    "y(i) = 2 * (b(i) - B(i,j))": ("ij",),
}


def has_value(node, point, inputs):
    """Whether a node may have a value where some variables are bound."""
    match node:
        case cin.Access(tensor, variables):
            at = tuple(point.get(v, slice(None)) for v in variables)
            return bool(np.any(inputs[tensor][at]))
        case cin.Literal():
            return True
        case cin.Multiply(factors):
            return all(has_value(one, point, inputs) for one in factors)
    return any(has_value(one, point, inputs) for one in cin.children(node))


@pytest.mark.parametrize(("text", "order"), [(t, o) for t in TEXTS for o in TEXTS[t]])
def test_points_equal_those_of_brute_force(text, order):
    random = np.random.default_rng(1)
    program = concretize(notation.parse(text))
    for density in (0.1, 0.4, 1.0):
        inputs = {
            node.tensor: random.random((4,) * len(node.variables)) < density
            for node in cin.walk(program.value)
            if isinstance(node, cin.Access)
        }
        found = walked(text, inputs, order)
        for depth in range(1, len(order) + 1):
            points = product(range(4), repeat=depth)
            due = sum(
                has_value(program.value, dict(zip(order, point, strict=False)), inputs)
                for point in points
            )
            assert found[order[depth - 1]].points == due


def test_a_sample_estimates_the_counts_of_all_points():
    """A product whose rows are of very unequal lengths: B(i,k) * B(k,j), for all i, k, j."""
    random = np.random.default_rng(2)
    lengths = (300 / (1 + np.arange(400))).astype(int) + 1
    matrix = np.zeros((400, 400))
    for row, length in enumerate(lengths):
        matrix[row, random.choice(400, length, replace=False)] = 1
    dense = (matrix != 0).astype(int)
    due = {"i": 400, "k": dense.sum(), "j": (dense @ dense).sum()}
    found = walked("X(i,j) = B(i,k) * C(k,j)", {"B": matrix, "C": matrix}, "ikj")
    assert due["j"] > 4_000
    for variable, points in due.items():
        assert found[variable].points == pytest.approx(points, rel=0.1)
    merged = walked("X(i,j) = B(i,k) * C(k,j)", {"B": matrix, "C": matrix}, "ijk")
    assert merged["k"].points == pytest.approx(due["j"], rel=0.2)


@pytest.mark.parametrize(("kept", "looked_at"), [(300, 200_000), (4_000, 500), (300, 500)])
def test_a_smaller_sample_estimates_them_too(kept, looked_at, monkeypatch):
    monkeypatch.setattr("custard.autoscheduling.fibers._KEPT", kept)
    monkeypatch.setattr("custard.autoscheduling.fibers._LOOKED_AT", looked_at)
    random = np.random.default_rng(3)
    a, b = random.random((60, 50)) < 0.3, random.random((50, 70)) < 0.3
    found = walked("X(i,j) = B(i,k) * C(k,j)", {"B": a, "C": b}, "ikj")
    assert found["k"].points == pytest.approx(a.sum(), rel=0.25)
    assert found["j"].points == pytest.approx((a.astype(int) @ b.astype(int)).sum(), rel=0.25)


def test_shares_of_a_loop():
    fibers = InputFibers({"B": Tensor.from_numpy(MATRIX, "ss")}, {"i": 3, "j": 4})
    access = cin.Access("B", ("i", "j"))
    # Rows 0 and 1, or columns 0 and 1, are the first half; the other rows have 3 of 5 entries.
    assert fibers.largest_share(access, "i", 2) == 3 / 5
    assert fibers.largest_share(access, "j", 2) == 3 / 5


def test_shares_of_lanes():
    """Rows have 3, 1 and 2 entries; the lanes of each row get its entries in turns."""
    matrix = np.array([[1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 1, 0]])
    fibers = InputFibers({"B": Tensor.from_numpy(matrix, "ss")}, {"i": 3, "j": 4})
    access = cin.Access("B", ("i", "j"))
    compressed = {"i": "s", "j": "s"}
    # Rows 0 and 2 go to one lane; and of the rows 2, 1 and 1 entries.
    assert fibers.largest_lane(access, "i", 2, compressed) == 5 / 6
    assert fibers.largest_lane(access, "j", 2, compressed) == (2 + 1 + 1) / 6
    # Dealt by all columns, 0 and 2 go to one lane.
    assert fibers.largest_lane(access, "j", 2, {"i": "s", "j": "d"}) == (2 + 1 + 2) / 6
    assert fibers.largest_lane(access, "k", 2, compressed) == 0
