"""Results whose levels are those of one tensor are copied, and one loop goes over the values."""

import re

import numpy as np
import pytest
import scipy.sparse

import custard
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

RANDOM = np.random.default_rng(0)


def given(shape, dtype=float, density=0.3):
    """Whole numbers, some rows of which are empty."""
    found = np.where(RANDOM.random(shape) < density, RANDOM.integers(1, 9, shape), 0)
    found[:: max(2, shape[0] // 3)] = 0
    return found.astype(dtype)


def is_copied(program):
    """Whether one loop sets all values."""
    return bool(re.search(r"Y->values\[p(_\d+)?\] = ", program.source))


FORMATS = ("ds", "ds:1,0", "ss", "ss:1,0", "uq", "sd", "dss", "sss", "dsd", "ssd", "ucq", "sdd")
VALUES = {
    "A(I)": lambda a: a,
    "2 * A(I)": lambda a: 2 * a,
    "-A(I)": lambda a: -a,
    "A(I) * s / 4": lambda a: a * 3.0 / 4,
    "(s + 1) * A(I)": lambda a: 4.0 * a,
    "A(I) * A(I)": lambda a: a * a,
    "A(I) - 3 * A(I) * A(I)": lambda a: a - 3 * a * a,
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("expression", VALUES)
def test_values_and_storage(form, expression):
    order = len(form.partition(":")[0])
    dense = given((40, 30, 9)[:order])
    stored = Tensor.from_coo(np.stack(np.nonzero(dense)), dense[np.nonzero(dense)], dense.shape)
    text = f"Y(I) = {expression}".replace("I", ",".join("ijk"[:order]))
    program = custard.compile(text, {"Y": form, "A": form}, target="c")
    assert is_copied(program)
    found = program.run({"A": stored} | ({"s": 3.0} if "s" in expression else {}))
    found.validate()
    due = VALUES[expression](dense)
    np.testing.assert_array_equal(found.to_numpy(), due)
    (coordinates, _), (there, _) = found.to_coo(), stored.to_coo()
    if "d" not in form[order - 1 : order]:
        np.testing.assert_array_equal(coordinates, there)


@pytest.mark.parametrize(
    ("expression", "formats"),
    [
        ("Y(i,j) = A(i,j) + s", {"Y": "CSR", "A": "CSR"}),
        ("Y(i,j) = A(i,j) + 2 * s", {"Y": "CSR", "A": "CSR"}),
        ("Y(i,j) = A(i,j)", {"Y": "ss", "A": "CSR"}),
        ("Y(i,j) = A(j,i)", {"Y": "CSR", "A": "CSR"}),
        ("Y(i,j) = A(i,j) + B(i,j)", {"Y": "CSR", "A": "CSR", "B": "CSR"}),
        ("Y(i,j) = A(i,j) * B(i,j)", {"Y": "CSR", "A": "CSR", "B": "CSR"}),
        ("Y(i,j) = A(i,j) / B(i,j)", {"Y": "CSR", "A": "CSR", "B": "CSR"}),
        ("Y(i,j) = A(i,k)", {"Y": "CSR", "A": "CSR"}),
    ],
)
def test_results_with_other_levels_are_not_copied(expression, formats):
    program = custard.compile(expression, formats, target="c", dims={"j": 3})
    assert not is_copied(program)


def test_explicit_zeros_are_kept_unless_they_are_dropped():
    matrix = scipy.sparse.csr_array(([1.0, 0.0, 2.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    formats = {"Y": "CSR", "A": "CSR"}
    kept = custard.compile("Y(i,j) = 2 * A(i,j)", formats, target="c")
    dropped = custard.compile("Y(i,j) = 2 * A(i,j)", formats, target="c", drop_zeros=True)
    assert kept.run({"A": matrix}).nnz == 3
    assert dropped.run({"A": matrix}).nnz == 2


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.float32, np.complex128])
def test_types(index, dtype):
    matrix = scipy.sparse.csr_array(given((50, 40), dtype))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    program = custard.compile("Y(i,j) = A(i,j) * A(i,j)", {"Y": "CSR", "A": "CSR"}, target="c")
    found = program.run({"A": matrix})
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.to_numpy(), matrix.toarray() * matrix.toarray())


def test_empty_tensors():
    program = custard.compile("Y(i,j) = 2 * A(i,j)", {"Y": "CSR", "A": "CSR"}, target="c")
    for shape in ((0, 3), (3, 0), (0, 0), (4, 5)):
        found = program.run({"A": scipy.sparse.csr_array(shape)})
        assert (found.shape, found.nnz) == (shape, 0)
