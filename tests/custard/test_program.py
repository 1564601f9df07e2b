"""Programs: default formats, empty modes, zeros."""

import numpy as np
import pytest
import scipy.sparse

import custard
import sim
from sam.blocks import primitives
from sam.tensor import Tensor

MATRIX = scipy.sparse.csr_array(np.array([[0.0, 2, 0], [0, 0, 0], [3, 0, 4]]))
VECTOR = np.array([1.0, 0, 2])


def test_a_dense_array_without_a_format_is_stored_dense():
    run = custard.compile("y(i) = A(i,j) * x(j)").simulate({"A": MATRIX, "x": VECTOR})
    assert run.notes == (
        "x is a dense array, stored as d:0",
        "A is converted from csr on each run, as the graph reads ss:0,1",
    )
    assert primitives(run.graph)["locator"] == 1
    np.testing.assert_array_equal(run.output.to_numpy(), MATRIX @ VECTOR)


def test_a_format_that_is_given_holds():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "CSR", "x": "s"})
    run = program.simulate({"A": MATRIX, "x": VECTOR})
    assert run.notes == ("x is converted from ndarray on each run, as the graph reads s:0",)
    assert run.graph == program.graph


def test_inputs_that_the_graph_reads_in_another_format_are_noted():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "CSC", "x": "d"})

    def notes(A):
        return program.simulate({"A": A, "x": VECTOR}).notes

    for A, before in ((MATRIX, "csr"), (MATRIX.tocoo(), "coo"), (MATRIX.todia(), "dia")):
        [note] = notes(A)
        assert note == f"A is converted from {before} on each run, as the graph reads ds:1,0"
    assert notes(MATRIX.tocsc()) == notes(Tensor.of(MATRIX)) == ()


def test_sparse_inputs_are_compressed():
    for sparse in (scipy.sparse.coo_array(VECTOR), Tensor.of(VECTOR)):
        run = custard.compile("y(i) = A(i,j) * x(j)").simulate({"A": MATRIX, "x": sparse})
        assert "locator" not in primitives(run.graph)


def test_an_empty_mode_is_lowered_again():
    program = custard.compile("y(i) = A(i,j) + z(i)", {"A": "dd", "z": "d", "y": "d"})
    run = program.simulate({"A": np.ones((3, 0)), "z": np.arange(3.0)})
    np.testing.assert_array_equal(run.output.to_numpy(), [0, 1, 2])
    assert program.graph.nonempty
    assert dict(run.graph.dims) == {"j": 0}


def test_zeros_are_stored_or_dropped():
    """Row 0 cancels whole, row 1 in one place; row 2 has nothing to cancel."""
    a = scipy.sparse.csr_array(np.array([[1.0, 2, 0], [3, 4, 0], [0, 0, 5]]))
    b = scipy.sparse.csr_array(np.array([[1.0, 2, 0], [3, 0, 0], [0, 0, 0]]))
    kept = custard.compile("X(i,j) = A(i,j) - B(i,j)").run({"A": a, "B": b})
    assert kept.nnz == 5
    dropped = custard.compile("X(i,j) = A(i,j) - B(i,j)", drop_zeros=True).run({"A": a, "B": b})
    np.testing.assert_array_equal(dropped.to_numpy(), (a - b).toarray())
    assert dropped.values.tolist() == [4, 5]
    assert dropped.levels[0].coordinates.tolist() == [1, 2]
    dropped.validate()


def test_zeros_of_dense_results_stay():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"y": "d"}, drop_zeros=True)
    run = program.run({"A": MATRIX, "x": VECTOR})
    np.testing.assert_array_equal(run.to_numpy(), MATRIX @ VECTOR)


def test_a_sum_that_is_zero_is_dropped_with_its_row():
    a = scipy.sparse.csr_array(np.array([[1.0, -1], [2, 0]]))
    program = custard.compile("y(i) = A(i,j)", drop_zeros=True)
    found = program.run({"A": a})
    assert (found.levels[0].coordinates.tolist(), found.values.tolist()) == ([1], [2])


def test_an_error_on_one_of_several_graphs_tells_how_to_run_all():
    program = custard.compile(
        "A(i,j) = B(i,j) * C(i,k) * D(k,j)",
        schedule=["reorder(i,k,j)", "precompute(C(i,k)*D(k,j),j,j,T)"],
    )
    inputs = dict.fromkeys("BCD", np.eye(3))
    with pytest.raises(custard.UserError) as caught:
        sim.simulate(program.graph, inputs)
    assert str(caught.value) == (
        "T is computed by another graph of the program\n"
        "hint: program.simulate(inputs, ...) runs all graphs in turn, and takes the arguments "
        "of sim.simulate"
    )
    assert (program.simulate(inputs).output == np.eye(3)).all()
    assert len(repr(program)) < 600
