"""Results that scatter through an array of all values, of one dimension or of more."""

import numpy as np
import pytest
import scipy.sparse

from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled
from tests.support.workspaces import sparse

pytestmark = needs_compiler


@pytest.mark.parametrize("form", ["ds", "ss", "du", "sh", "db", "uq", "dd", "sd"])
@pytest.mark.parametrize("columns", [1, 63, 64, 65, 5000])
def test_rows_by_rows(form, columns):
    """Each row of the result is the sum of some rows, in the order of the columns in the end."""
    b, c = sparse(30, 20), sparse(20, columns)
    program = compiled("X(i,j) = B(i,k) * C(k,j)", {"X": form, "B": "CSR", "C": "CSR"})
    if form not in ("dd", "sd"):
        assert program.notes[-1] == "X(i,j) goes through a dense workspace over j: dense scattering"
    found = program.run({"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), b @ c)
    found.validate()


def test_a_vector_is_empty_again_for_the_next_row():
    """Also where a row has nothing, and where values come out as 0."""
    b = np.array([[1, 1], [0, 0], [1, -1], [0, 2]])
    c = np.array([[3, 0, 0, 4], [3, 5, 0, 4]])
    found = compiled("X(i,j) = B(i,k) * C(k,j)", dict.fromkeys("XBC", "CSR")).run({"B": b, "C": c})
    assert found.to_coo()[0].T.tolist() == [
        *([0, 0], [0, 1], [0, 3]),
        *([2, 0], [2, 1], [2, 3]),
        *([3, 0], [3, 1], [3, 3]),
    ]
    np.testing.assert_array_equal(found.to_numpy(), b @ c)
    dropped = compiled(
        "X(i,j) = B(i,k) * C(k,j)", dict.fromkeys("XBC", "CSR"), drop_zeros=True
    ).run({"B": b, "C": c})
    assert dropped.nnz == 7


def test_two_vectors_at_once():
    b, c, d = sparse(20, 20), sparse(20, 20), sparse(20, 20)
    formats = dict.fromkeys("XBCD", "CSR")
    found = compiled("X(i,j) = B(i,k) * C(k,j) + C(i,k) * D(k,j)", formats)
    np.testing.assert_array_equal(found.run({"B": b, "C": c, "D": d}).to_numpy(), b @ c + c @ d)


def test_a_product_of_sums_of_products():
    b, c, d = sparse(20, 20), sparse(20, 20), sparse(20, 20)
    formats = dict.fromkeys("XBCD", "CSR")
    found = compiled("X(i,j) = sum(k, B(i,k) * C(k,j)) * sum(k, D(i,k) * B(k,j))", formats)
    due = (b @ c) * (d @ b)
    np.testing.assert_array_equal(found.run({"B": b, "C": c, "D": d}).to_numpy(), due)


@pytest.mark.parametrize("result", ["ss", "ds", "hh", "ss:1,0", "dd"])
def test_a_block(result):
    b, c = sparse(70, 30), sparse(30, 65)
    schedule = ["reorder(k,i,j)", "precompute(B(i,k)*C(k,j),{i,j},{i,j},W:dense)"]
    program = compiled("X(i,j) = B(i,k) * C(k,j)", {"X": result, "B": "CSC", "C": "CSR"}, schedule)
    assert any("goes through a dense workspace" in note for note in program.notes)
    found = program.run({"B": b, "C": c})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), b @ c)


@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0), (6, 5, 70)])
def test_a_block_of_three_dimensions(shape):
    k, i, j = shape
    b, c = sparse(k, i, j, density=0.4), sparse(k, 5, density=0.5)
    schedule = ["reorder(k,i,j,l)", "precompute(B(k,i,j)*C(k,l),{i,j,l},{i,j,l},W:dense)"]
    formats = {"X": "sss", "B": "sss", "C": "ss"}
    found = compiled("X(i,j,l) = B(k,i,j) * C(k,l)", formats, schedule).run({"B": b, "C": c})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), np.einsum("kij,kl->ijl", b, c))


def test_a_block_that_no_memory_holds_is_refused():
    schedule = ["reorder(k,i,j)", "precompute(b(i,k)*c(k,j),{i,j},{i,j},W:dense)"]
    program = compiled("X(i,j) = b(i,k) * c(k,j)", {"X": "ss", "b": "ss", "c": "ss"}, schedule)
    b = scipy.sparse.coo_array(([1.0], ([0], [0])), shape=(2**40, 2))
    c = scipy.sparse.coo_array(([1.0], ([0], [0])), shape=(2, 2**40))
    with pytest.raises(UserError, match=r"for the dense workspace over i, j that X\(i,j\) goes"):
        program.run({"b": b, "c": c})


FAR = 10**12
HERE = np.array([[0, 1], [5, FAR - 1]])


@pytest.mark.parametrize(
    ("schedule", "shapes", "told"),
    [
        # A sum over j, a block of a factor, and both loops; on threads, too.
        ("precompute(B(i,k)*C(k,j),j,jw,W:dense)", [(9, 9), (9, FAR)], "over j that"),
        ("precompute(B(i,k),k,kw,W:dense)", [(9, FAR), (FAR, 9)], "over k that"),
        (
            "precompute(B(i,k)*C(k,j),j,jw,W:dense);parallelize(i,CPUThread,NoRaces)",
            [(9, 9), (9, FAR)],
            "over j that",
        ),
    ],
)
def test_a_workspace_that_does_not_fit_is_told(schedule, shapes, told):
    def stored(shape):
        coordinates = HERE[::-1] if shape[0] == FAR else HERE
        return Tensor.from_coo(np.minimum(coordinates, np.array([shape]).T - 1), [1.0, 2.0], shape)

    program = compiled(
        "Z(i,j) = B(i,k) * C(k,j)",
        dict.fromkeys("ZBC", "ss"),
        ["reorder(i,k,j)", *schedule.split(";")],
    )
    bound = program.bind(dict(zip("BC", map(stored, shapes), strict=True)))
    for call in (bound.run, bound.seconds):
        with pytest.raises(UserError) as caught:
            call()
        assert str(caught.value) == (
            f"there is no memory for the dense workspace {told} Z(i,j) goes through: it takes "
            "7.28 TiB\nhint: one that takes as much as its values: coord, bucket, hash, as in "
            "precompute(..., W:hash)"
        )
    assert len(program.kernels) == 1  # larger indices do not help
