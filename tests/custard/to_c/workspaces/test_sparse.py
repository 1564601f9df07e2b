"""Results that scatter through components, which are put in order."""

import numpy as np
import pytest
import scipy.sparse

from benchmarks.memory import measures_memory, with_memory
from sam.support.errors import UserError
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled
from tests.support.workspaces import sparse

pytestmark = needs_compiler

POLICIES = ("coord", "bucket", "hash")


def forced(policy):
    return ["reorder(k,i,j)", f"precompute(B(i,k)*C(k,j),{{i,j}},{{i,j}},W:{policy})"]


@pytest.mark.parametrize("form", ["ss", "ds", "uq", "hh", "bb", "sd", "ss:1,0"])
def test_outer_products(form):
    b, c = sparse(40, 30), sparse(30, 50)
    formats = {"X": form, "B": "CSC", "C": "CSR"}
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, ["reorder(k,i,j)"])
    found = program.run({"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), b @ c)
    found.validate()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex64"])
def test_values_of_every_type(policy, dtype):
    b, c = sparse(40, 30).astype(dtype), sparse(30, 50).astype(dtype)
    formats = {"X": "ss", "B": "CSC", "C": "CSR"}
    found = compiled("X(i,j) = B(i,k) * C(k,j)", formats, forced(policy)).run({"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), b @ c)
    assert found.dtype == dtype
    found.validate()


@pytest.mark.parametrize("policy", POLICIES)
def test_more_components_than_the_first_capacity(policy):
    """More than a hash table keeps, too."""
    b, c = sparse(300, 300), sparse(300, 300)
    formats = {"X": "DCSR", "B": "CSC", "C": "CSR"}
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, forced(policy))
    (note,) = program.notes
    assert note == f"X(i,j) goes through a {policy} workspace over i, j: sparse scattering"
    assert np.count_nonzero(b @ c) > 2**16
    np.testing.assert_array_equal(program.run({"B": b, "C": c}).to_numpy(), b @ c)


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_of_their_own(policy):
    """A workspace of one dimension, which is filled for each row; threads have one each."""
    b, c = sparse(30, 20), sparse(20, 5000)
    schedule = [
        "reorder(i,k,j)",
        f"precompute(B(i,k)*C(k,j),j,j,W:{policy})",
        "parallelize(i,CPUThread,NoRaces)",
    ]
    program = compiled("X(i,j) = B(i,k) * C(k,j)", dict.fromkeys("XBC", "CSR"), schedule)
    assert f"X(i,j) goes through a {policy} workspace over j: dense scattering" in program.notes
    for threads in (1, 3):
        found = program.run({"B": b, "C": c}, threads=threads)
        np.testing.assert_array_equal(found.to_numpy(), b @ c)


@pytest.mark.parametrize("policy", ["dense", *POLICIES])
def test_threads_add_to_one_workspace(policy):
    b, c = sparse(40, 30), sparse(30, 50)
    schedule = [*forced(policy), "parallelize(k,CPUThread,Temporary)"]
    formats = {"X": "ss", "B": "CSC", "C": "CSR"}
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, schedule)
    for threads in (1, 4):
        found = program.run({"B": b, "C": c}, threads=threads)
        np.testing.assert_array_equal(found.to_numpy(), b @ c)


def test_transposition_of_a_result():
    b = sparse(50, 60)
    for form in ("ss:1,0", "CSC", "uq:1,0"):
        found = compiled("X(i,j) = B(i,j)", {"X": form, "B": "CSR"}).run({"B": b})
        np.testing.assert_array_equal(found.to_numpy(), b)
        found.validate()


def test_three_dimensions_in_every_order_of_the_loops():
    b = sparse(7, 8, 9, density=0.3)
    for order in ("i,j,k", "k,j,i", "j,k,i", "k,i,j"):
        program = compiled("X(i,j,k) = B(i,j,k)", {"X": "sss", "B": "sss"}, [f"reorder({order})"])
        np.testing.assert_array_equal(program.run({"B": b}).to_numpy(), b)


@pytest.mark.parametrize("extent", [2**21, 2**22, 2**40, 2**62])
def test_keys_of_more_than_64_bits(extent):
    """Where the product of the extents has more bits than a word, keys have two."""
    rows, columns = np.array([5, extent - 1, 5, 0]), np.array([extent - 1, 0, 7, extent - 1])
    values = np.array([1.0, 2, 3, 4])
    narrow = scipy.sparse.coo_array((values, (rows, columns)), shape=(extent, extent))
    program = compiled(
        "X(i,j,k) = B(j,i) * c(k)", {"X": "sss", "B": "ss", "c": "s"}, ["reorder(k,j,i)"]
    )
    bound = program.bind({"B": narrow, "c": np.array([0, 1.0, 2])}) if extent < 2**61 else None
    if bound is None:
        with pytest.raises(UserError, match="too large for a sparse workspace"):
            compiled(
                "X(i,j,k) = B(j,i) * C(k,k)",
                {"X": "sss", "B": "ss", "C": "ss"},
                ["reorder(k,j,i)"],
            ).bind({"B": narrow, "C": narrow})
        return
    assert bound.types.wide == (extent > 2**30)
    found, due = bound.run().to_coo(), []
    for k, factor in ((1, 1.0), (2, 2.0)):
        due += [(c, r, k, factor * v) for r, c, v in zip(rows, columns, values, strict=True)]
    got = [(*at, value) for at, value in zip(found[0].T.tolist(), found[1].tolist(), strict=True)]
    assert got == sorted(due)


@pytest.mark.skipif(not measures_memory(), reason="needs a Linux that tells the most memory")
@pytest.mark.parametrize("policy", POLICIES)
def test_memory_grows_with_the_result(policy):
    """Five times the memory of the result is enough; by the extents it would be 320 GB and more."""
    random = np.random.default_rng(1)
    formats = {"X": "ss", "B": "CSC", "C": "CSR"}
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, forced(policy))
    for n, entries in ((200_000, 400_000), (1_000_000, 100_000)):
        b, c = (scipy.sparse.random_array((n, n), density=entries / n**2, format=form, rng=random)
                for form in ("csc", "csr"))  # fmt: skip
        bound = program.bind({"B": b, "C": c})
        due = (b @ c).nnz
        assert bound.run().nnz == due
        assert due > 9_000
        _, megabytes = with_memory(bound.run)
        assert 2**20 * megabytes < 5 * 16 * due + 2e6


def test_a_workspace_inside_a_loop_is_used_again():
    b, c = sparse(6, 7, 8, density=0.4), sparse(8, 5, density=0.5)
    program = compiled(
        "X(h,i,j) = B(h,i,k) * C(k,j)", {"X": "sss", "B": "sss", "C": "ss"}, ["reorder(h,k,i,j)"]
    )
    found = program.run({"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), np.einsum("hik,kj->hij", b, c))
