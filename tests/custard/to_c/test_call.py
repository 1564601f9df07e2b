"""Calls of kernels with bound inputs."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from custard import UserError
from tests.support.compiler import needs_compiler

A = sp.csr_array(np.array([[0, 1.0], [2.0, 3.0]]))
X = np.array([10.0, 1.0])


def bound():
    formats = {"y": "d", "A": "CSR", "x": "d"}
    program = custard.compile("y(i) = A(i,j) * x(j)", formats, target="c")
    return program.bind({"A": A, "x": X})


@needs_compiler
def test_a_bound_program_runs_again_on_new_values():
    found = bound()
    assert found.run().to_numpy().tolist() == [1.0, 23.0]
    assert found.run(x=np.array([0.0, 1.0])).to_numpy().tolist() == [1.0, 3.0]
    assert found.run().to_numpy().tolist() == [1.0, 3.0]


@needs_compiler
def test_bound_programs_that_have_run_are_copied_and_pickled():
    found = bound()
    found.run()
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert other.run().to_numpy().tolist() == [1.0, 23.0]
        assert other.run(x=np.array([0.0, 1.0])).to_numpy().tolist() == [1.0, 3.0]
    assert found.run().to_numpy().tolist() == [1.0, 23.0]


@needs_compiler
def test_time_is_that_of_the_kernel():
    assert 0 <= bound().seconds() < 1


@needs_compiler
@pytest.mark.parametrize("new", [{"x": np.ones(3)}, {"z": X}])
def test_new_inputs_must_fit(new):
    with pytest.raises(UserError):
        bound().run(**new)


def _wide(matrix):
    """A CSR matrix whose indices have 64 bits."""
    wide = matrix.copy()
    wide.indptr, wide.indices = (one.astype(np.int64) for one in (wide.indptr, wide.indices))
    return wide


@needs_compiler
@pytest.mark.parametrize("text", ["C(i,j) = A(i,j) + A(j,i)", "C(i,j) = A(i,k) * A(j,k)"])
def test_new_inputs_have_indices_of_the_width_that_the_kernel_reads(text):
    program = custard.compile(text, dict.fromkeys("AC", "CSR"), target="c")
    first, second = program.run({"A": A}).to_numpy(), program.run({"A": 2 * A}).to_numpy()
    narrow, wide = program.bind({"A": A}), program.bind({"A": _wide(A)})
    with pytest.raises(UserError, match="A is bound with values or indices of another type"):
        narrow.run(A=_wide(2 * A))
    np.testing.assert_array_equal(narrow.run().to_numpy(), first)
    for new in (2 * A, _wide(2 * A), (2 * A).tocoo(), (2 * A).toarray()):
        np.testing.assert_array_equal(wide.run().to_numpy(), first)
        np.testing.assert_array_equal(wide.run(A=new).to_numpy(), second)
        wide.run(A=A)


@needs_compiler
def test_either_all_new_inputs_are_taken_or_none():
    found = bound()
    with pytest.raises(UserError, match="x is bound with the shape"):
        found.run(A=3 * A, x=np.ones(3))
    assert found.run().to_numpy().tolist() == [1.0, 23.0]
    assert found.run(A=3 * A, x=2 * X).to_numpy().tolist() == [6.0, 138.0]


@needs_compiler
def test_what_lies_off_a_diagonal_is_taken_from_the_new_tensor():
    program = custard.compile("X(i,i) += a(i)", {"X": "CSR", "a": "d"}, target="c")
    found = program.bind({"X": A, "a": X})
    assert found.run().to_numpy().tolist() == [[10, 1], [2, 4]]
    assert found.run(X=5 * A).to_numpy().tolist() == [[10, 5], [10, 16]]


@needs_compiler
def test_threads_that_call_a_bound_program_for_the_first_time():
    n = 200
    matrix = sp.random_array((n, n), density=0.3, rng=np.random.default_rng(1)).tocsr()
    program = custard.compile("C(i,j) = A(i,k) * A(k,j)", dict.fromkeys("AC", "CSR"), target="c")
    due = (matrix @ matrix).toarray()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            found = program.bind({"A": matrix})
            calls = [pool.submit(found.run, A=matrix.copy()) for _ in range(8)]
            calls += [pool.submit(found.run) for _ in range(8)]
            for call in calls:
                np.testing.assert_allclose(call.result().to_numpy(), due)


def test_conversions_of_inputs_are_noted():
    program = custard.compile("y(i) = A(i,j)", {"y": "d", "A": "CSR"}, target="c")
    (note,) = program.bind({"A": sp.coo_array(A)}).notes
    assert note == "A is converted from coo on each call, as the kernel reads another format"


SQUARE = np.ones((70, 70))
HALF = sp.csr_array(np.triu(SQUARE))
PRODUCT = "X(i,j) = A(i,k) * B(k,j)"


@pytest.mark.parametrize(
    ("text", "formats", "inputs", "named"),
    [
        (PRODUCT, {}, (SQUARE, SQUARE), "X:dd"),
        (PRODUCT, {}, (sp.csr_array(SQUARE), SQUARE), "A:dd, X:dd"),
        (PRODUCT, {"B": "CSR"}, (SQUARE, sp.csr_array(SQUARE)), "X:dd"),
        (PRODUCT, {}, (HALF, SQUARE), ""),  # the result may lack places
        (PRODUCT, {"X": "CSR"}, (SQUARE, SQUARE), ""),  # as it was asked for
        (PRODUCT, {"X": "dd"}, (SQUARE, SQUARE), ""),
        (PRODUCT, {}, (SQUARE[:60, :60], SQUARE[:60, :60]), ""),  # which hardly takes any time
        ("X(i,i,j) = A(i,k) * B(k,j)", {}, (SQUARE, SQUARE), ""),  # nothing beside the diagonal
        ("X(i+1,j) = A(i,k) * B(k,j)", {}, (SQUARE, SQUARE), ""),  # no first row
        ("a = A(i,j) * B(i,j)", {}, (SQUARE, SQUARE), ""),
    ],
)
def test_formats_that_would_take_less_time_are_named(text, formats, inputs, named):
    program = custard.compile(text, formats, target="c")
    notes = program.bind(dict(zip("AB", inputs, strict=True))).notes
    told = [one for one in notes if "less time" in one]
    assert told == ([f"{named} would take less time: every place has a value"] if named else [])
