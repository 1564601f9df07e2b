"""Calls of kernels with bound inputs."""

import copy
import pickle

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
