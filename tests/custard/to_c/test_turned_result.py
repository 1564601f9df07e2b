"""Results that are computed in an array of another order."""

import numpy as np
import pytest
import scipy.sparse

from experiments.dense import evaluate
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled

TEXT, FORMATS = "X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "dd", "B": "CSR"}
NOTE = "X(i,j) is computed in an array of j, i, and transposed behind the loops"


def product(rows=9, inner=7, columns=11, dtype="float64"):
    """Inputs of the product, each entry of which is a whole number, or a bool."""
    random = np.random.default_rng(0)
    a = random.integers(-4, 5, (rows, inner))
    b = np.where(random.random((inner, columns)) < 0.3, random.integers(1, 5, (inner, columns)), 0)
    return {"A": a.astype(dtype), "B": scipy.sparse.csr_array(b.astype(dtype))}


def due(text, given):
    """The result with numpy."""
    return evaluate(text, {**given, "B": given["B"].toarray()})


def test_the_c_takes_and_gives_what_is_declared_but_for_the_array_that_is_read():
    source = compiled(TEXT, FORMATS).source
    assert f"// Note: {NOTE}." in source
    for line in ("//     X:dd:0,1\n", "//     A:dd:1,0\n", "//     B:ds:0,1\n"):
        assert line in source
    assert "X_turned[j * X->size0 + i] += A_values[k * A->size1 + i] * B_values[pB1];" in source
    assert "X_values[i * X->size1 + j] = X_turned[j * X->size0 + i];" in source


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "bool", "complex128"])
def test_the_values_of_all_types(dtype):
    given = product(dtype=dtype)
    program = compiled(TEXT, FORMATS)
    assert NOTE in program.notes
    found = program.run(given)
    assert (found.dtype, found.mode_order) == (np.dtype(dtype), (0, 1))
    np.testing.assert_array_equal(found.to_numpy(), due(TEXT, given))


@needs_compiler
@pytest.mark.parametrize("extents", [(4, 0, 3), (4, 3, 0), (0, 3, 4), (64, 5, 70), (70, 1, 64)])
def test_extents(extents):
    given = product(*extents)
    found = compiled(TEXT, FORMATS).run(given).to_numpy()
    np.testing.assert_array_equal(found, given["A"] @ given["B"].toarray())


@needs_compiler
def test_a_bound_program_takes_new_inputs():
    given = product()
    bound = compiled(TEXT, FORMATS).bind(given)
    np.testing.assert_array_equal(bound.run().to_numpy(), due(TEXT, given))
    given["A"] = given["A"] + 1
    np.testing.assert_array_equal(bound.run(A=given["A"]).to_numpy(), due(TEXT, given))


@needs_compiler
@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("X(i,j) += A(i,k) * B(k,j)", FORMATS),
        ("X(i,j) = A(i,k) * B(k,j) - C(i,j)", {**FORMATS, "C": "dd"}),
        ("X(i,l,j) = A(i,l,k) * B(k,j)", {"X": "ddd", "A": "ddd", "B": "CSR"}),
        ("X(l,i,j) = A(i,k) * B(k,j) * c(l)", {"X": "ddd", "A": "dd", "B": "CSR", "c": "d"}),
    ],
)
def test_sums_and_more_modes(text, formats):
    random = np.random.default_rng(1)
    given = product() | {"C": random.integers(0, 9, (9, 11)), "c": random.integers(0, 9, 5)}
    given["X"] = random.integers(0, 9, (9, 11)).astype(float)
    if "A(i,l,k)" in text:
        given["A"] = random.integers(0, 9, (6, 8, 7))
    given = {n: x for n, x in given.items() if n in formats and (n != "X" or "+=" in text)}
    program = compiled(text, formats)
    assert "X_turned" in program.source
    np.testing.assert_array_equal(program.run(given).to_numpy(), due(text, given))


@pytest.mark.parametrize("given", [{"strict": True}, {"schedule": ["reorder(k,j,i)"]}])
def test_a_schedule_and_strict_compute_the_result_where_it_is_stored(given):
    assert "X_turned" not in compiled(TEXT, FORMATS, **given).source


def test_c_for_other_programs():
    files = compiled(TEXT, FORMATS).linkable("product")
    assert "X:dd:0,1" in files.header
    assert "X_turned" in files.source
