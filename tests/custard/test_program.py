"""Programs: formats that nobody gave, empty modes, what a run tells."""

import numpy as np
import scipy.sparse

import custard
from sam.tensor import Tensor

MATRIX = scipy.sparse.csr_array(np.array([[0.0, 2, 0], [0, 0, 0], [3, 0, 4]]))
VECTOR = np.array([1.0, 0, 2])


def test_a_dense_array_without_a_format_is_stored_as_one():
    run = custard.compile("y(i) = A(i,j) * x(j)").simulate({"A": MATRIX, "x": VECTOR})
    assert run.notes == ("x is a dense array, stored as d:0",)
    assert run.graph.counts()["locator"] == 1
    np.testing.assert_array_equal(run.output.to_numpy(), MATRIX @ VECTOR)


def test_a_format_that_is_given_holds():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"x": "s"})
    run = program.simulate({"A": MATRIX, "x": VECTOR})
    assert run.notes == ()
    assert run.graph == program.graph


def test_sparse_inputs_are_compressed():
    for sparse in (scipy.sparse.coo_array(VECTOR), Tensor.of(VECTOR)):
        run = custard.compile("y(i) = A(i,j) * x(j)").simulate({"A": MATRIX, "x": sparse})
        assert "locator" not in run.graph.counts()


def test_an_empty_mode_is_lowered_for():
    program = custard.compile("y(i) = A(i,j) + z(i)", {"A": "dd", "z": "d", "y": "d"})
    run = program.simulate({"A": np.ones((3, 0)), "z": np.arange(3.0)})
    np.testing.assert_array_equal(run.output.to_numpy(), [0, 1, 2])
    assert program.graph.nonempty
    assert dict(run.graph.dims) == {"j": 0}
