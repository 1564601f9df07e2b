"""Results that scatter: through a vector of all values, or through sorted components."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import custard
from custard.to_c.program import LIBRARY
from sam.support import c_compiler as cc
from sam.support.errors import UserError

pytestmark = pytest.mark.skipif(not cc.available(), reason="needs a C compiler")

RANDOM = np.random.default_rng(3)


def compiled(expression, formats, schedule=(), **options):
    program = custard.compile(expression, formats, schedule, target="c", **options)
    return replace(program, flags=(*LIBRARY, "-O1"))


def sparse(*shape, density=0.1):
    """Whole numbers, so that sums are exact in any order."""
    return RANDOM.integers(1, 9, shape) * (RANDOM.random(shape) < density)


# One dimension is out of order: a vector


@pytest.mark.parametrize("form", ["ds", "ss", "du", "sh", "db", "uq", "dd", "sd"])
@pytest.mark.parametrize("columns", [1, 63, 64, 65, 5000])
def test_rows_by_rows(form, columns):
    """Each row of the result is the sum of some rows, in the order of the columns in the end."""
    b, c = sparse(30, 20), sparse(20, columns)
    program = compiled("X(i,j) = B(i,k) * C(k,j)", {"X": form, "B": "CSR", "C": "CSR"})
    if form not in ("dd", "sd"):
        assert program.notes[-1] == "X(i,j) goes through a dense workspace over j"
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


# More dimensions are: components


@pytest.mark.parametrize("form", ["ss", "ds", "uq", "hh", "bb", "sd", "ss:1,0"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex64"])
def test_outer_products(form, dtype):
    b, c = sparse(40, 30).astype(dtype), sparse(30, 50).astype(dtype)
    formats = {"X": form, "B": "CSC", "C": "CSR"}
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, ["reorder(k,i,j)"])
    found = program.run({"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), b @ c)
    assert found.dtype == dtype
    found.validate()


def test_more_components_than_the_first_capacity():
    b, c = sparse(200, 300), sparse(300, 200)
    formats = {"X": "DCSR", "B": "CSC", "C": "CSR"}
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, ["reorder(k,i,j)"])
    assert program.notes == ("X(i,j) goes through a sparse workspace over i, j",)
    assert (b != 0).sum(axis=0) @ (c != 0).sum(axis=1) > 10 * 4096
    np.testing.assert_array_equal(program.run({"B": b, "C": c}).to_numpy(), b @ c)


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


def test_a_workspace_inside_a_loop_is_used_again():
    b, c = sparse(6, 7, 8, density=0.4), sparse(8, 5, density=0.5)
    program = compiled(
        "X(h,i,j) = B(h,i,k) * C(k,j)", {"X": "sss", "B": "sss", "C": "ss"}, ["reorder(h,k,i,j)"]
    )
    found = program.run({"B": b, "C": c})
    np.testing.assert_array_equal(found.to_numpy(), np.einsum("hik,kj->hij", b, c))
