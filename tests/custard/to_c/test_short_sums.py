"""Sums of a few terms: which are added up first, and their values."""

import numpy as np
import pytest

import custard
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

FORMATS = {"y": "dd", "A": "dsdd", "x": "dd"}
BLOCKS = "y(i,k) = A(i,j,k,l) * x(j,l)"


def blocks(count, extent, dtype):
    """A matrix of so many rows of blocks with a block in each, and of as many columns."""
    random = np.random.default_rng(4)
    dense = random.integers(-4, 5, (count, extent, extent)).astype(dtype)
    columns = random.permutation(count)
    places = np.indices(dense.shape).reshape(3, -1)
    coordinates = np.stack((places[0], columns[places[0]], *places[1:]))
    shape = (count, count, extent, extent)
    return Tensor.from_coo(coordinates, dense.ravel(), shape, "dsdd"), dense, columns


def bound(expression, extent, dtype, count=20_000):
    matrix, dense, columns = blocks(count, extent, dtype)
    x = np.random.default_rng(5).integers(-4, 5, (count, extent)).astype(dtype)
    program = custard.compile(expression, FORMATS, target="c")
    return program.bind({"A": matrix, "x": x}), np.einsum("ikl,il->ik", dense, x[columns])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("extent", [2, 3, 4, 7])
def test_rows_of_blocks_are_added_up_before_they_are_added_to_the_result(extent, dtype):
    found, due = bound(BLOCKS, extent, dtype, count=2**16 // extent**2 + 1)
    assert "+= apart(sum);" in found.kernel.source
    np.testing.assert_array_equal(found.run().to_numpy(), due)


@pytest.mark.parametrize(
    ("expression", "extent", "dtype"),
    [
        (BLOCKS, 8, np.float64),  # whose extent the kernel does not know
        (BLOCKS, 4, np.int64),
        (BLOCKS, 4, np.complex128),
    ],
)
def test_other_sums_go_on_from_the_result(expression, extent, dtype):
    found, due = bound(expression, extent, dtype, count=2**12)
    assert "apart" not in found.kernel.source
    np.testing.assert_array_equal(found.run().to_numpy(), due)


def test_terms_with_a_number_are_left_to_the_compiler():
    found, due = bound("y(i,k) = 2 * A(i,j,k,l) * x(j,l)", 4, np.float64, count=2**12)
    assert "apart" not in found.kernel.source
    np.testing.assert_array_equal(found.run().to_numpy(), 2 * due)


def test_sums_of_bracketed_products_have_pragmas_instead():
    found, _ = bound("y(i,k) = A(i,j,k,l) * (x(j,l) * x(j,l))", 4, np.float64, count=2**12)
    assert "apart" not in found.kernel.source
    assert "#pragma omp simd reduction" in found.kernel.source
