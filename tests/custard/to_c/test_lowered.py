"""What lowering tells of a kernel."""

import numpy as np
import scipy.sparse

import custard
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled


def lowered(expression, formats, schedule=()):
    return custard.compile(expression, formats, schedule, "c").lowered


def test_slots_are_in_the_order_of_the_parameters():
    found = lowered("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"})
    assert [slot.name for slot in found.slots] == ["A", "x"]
    assert [struct.name for struct in found.kernel.structs] == ["y", "A", "x"]
    assert found.result.levels == "d"


def test_workspaces_are_told_by_their_variables():
    formats = {"X": "CSR", "B": "CSR", "C": "CSR"}
    found = lowered("X(i,j) = B(i,k) * C(k,j)", formats, ["reorder(i,k,j)"])
    assert [(one.variables, one.policy) for one in found.fillings] == [(("j",), None)]
    found = lowered("X(j,i) = B(i,k) * C(k,j)", formats, ["reorder(i,k,j)"])
    assert [set(one.variables) for one in found.fillings] == [{"i", "j"}]


def test_extents_that_no_tensor_has_are_numbers():
    assert lowered("y = sum(i, a)", {}).numbers == ("i",)


def test_threads_and_vectors_are_told():
    formats = {"y": "d", "A": "CSR", "x": "d"}
    plain = lowered("y(i) = A(i,j) * x(j)", formats)
    assert (plain.threaded, plain.has_vectors) == (False, False)
    schedule = ["parallelize(i,CPUThread,NoRaces)"]
    shared = lowered("y(i) = A(i,j) * x(j)", formats, schedule)
    assert (shared.threaded, shared.has_vectors) == (True, False)
    vectors = ["parallelize(i,CPUVector,NoRaces)"]
    vector = lowered("y(i) = 2 * x(i)", {"y": "d", "x": "d"}, vectors)
    assert (vector.threaded, vector.has_vectors) == (False, True)


def test_kernels_that_gather():
    """Only these look at the lengths of the fibers of their inputs."""
    formats = {"y": "d", "A": "CSR", "x": "d"}
    assert custard.compile("y(i) = A(i,j) * x(j)", formats, target="c").lowered.gathers
    formats = {"Y": "CSR", "A": "CSR"}
    assert not custard.compile("Y(i,j) = 2 * A(i,j)", formats, target="c").lowered.gathers


@needs_compiler
def test_a_bound_program_gives_zeros_to_a_kernel_that_adds_to_them():
    text, formats = "X(i,j) = A(i,j)", {"X": "dd", "A": "CSR"}
    program = compiled(text, formats)
    assert "] = 0.0;" in program.source
    assert "It sets all of X->values" in " ".join(program.source.split("\n// "))
    a = np.array([[0.0, 2, 0], [0, 0, 0], [1, 0, 3]])
    bound = program.bind({"A": scipy.sparse.csr_array(a)})
    assert "] = 0.0;" not in bound.kernel.source
    assert "It adds to the zeros of X->values" in " ".join(bound.kernel.source.split("\n// "))
    for _ in range(3):
        full = np.full((3, 3), 7.0)
        del full  # its memory may be that of the result
        np.testing.assert_array_equal(bound.run().to_numpy(), a)


def test_a_kernel_that_sets_all_values_itself_stays():
    lowered = compiled("X(i,j) = A(i,j)", {"X": "dd", "A": "dd"}).lowered
    assert lowered.zeroing is None
    assert lowered.for_zeros() is lowered
