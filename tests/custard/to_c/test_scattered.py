"""Results that are filled in two passes, since the loops find their rows in another order."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from custard.to_c import program as c_program
from custard.to_c.loop_ir import INT, INT32
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled

pytestmark = needs_compiler
NOTE = "is gone through twice: its coordinates are counted, then put in place"


def run(expression, formats, inputs, schedule="reorder(i,j)", **options):
    """The result of a program that takes two passes."""
    program = compiled(expression, formats, schedule, **options)
    assert any(note.endswith(NOTE) for note in program.notes)
    found = program.run(inputs)
    found.validate()
    return found


def matrix(seed=0, shape=(17, 23), density=0.3):
    random = np.random.default_rng(seed)
    return np.where(random.random(shape) < density, random.integers(1, 9, shape), 0.0)


@pytest.mark.parametrize("form", ["CSR", "ss", "uq", "dd", "sh", "hh", "bb", "du", "sb"])
@pytest.mark.parametrize("result", ["ds", "db"])
@pytest.mark.parametrize("name", ["some", "none", "all", "one", "no rows", "no columns"])
def test_transpositions(form, result, name):
    a = {
        "some": matrix(),
        "none": np.zeros((3, 4)),
        "all": matrix(density=1),
        "one": np.ones((1, 1)),
        "no rows": np.zeros((0, 3)),
        "no columns": np.zeros((3, 0)),
    }[name]
    found = run("X(j,i) = A(i,j)", {"X": result, "A": form}, {"A": a})
    np.testing.assert_array_equal(found.to_numpy(), a.T)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("X(j,i) = A(i,j) + B(i,j)", lambda a, b: a.T + b.T),
        ("X(j,i) = A(i,j) - B(i,j)", lambda a, b: a.T - b.T),
        ("X(j,i) = 2 * A(i,j) * B(i,j)", lambda a, b: 2 * a.T * b.T),
        ("X(j,i) = A(i,j) / 2", lambda a, b: a.T / 2),
        ("X(j,i) += A(i,j)", lambda a, b: a.T),
    ],
)
def test_values_of_several_operands(text, due):
    inputs = {"A": matrix(), "B": matrix(1)}
    formats = {"X": "CSR", "A": "CSR", "B": "DCSR"}
    given = {name: one for name, one in inputs.items() if f"{name}(" in text}
    if "+=" in text:
        given["X"] = np.zeros((23, 17))
    found = run(text, {n: formats[n] for n in ("X", *given)}, given)
    np.testing.assert_array_equal(
        found.to_numpy(), due(**{n.lower(): a for n, a in inputs.items()})
    )


@pytest.mark.parametrize("order", ["k,j,i", "j,k,i", "k,i,j", "i,k,j", "j,i,k"])
def test_rows_of_several_dense_levels(order):
    b = matrix(2, (5, 6, 7))
    found = run(
        "X(i,j,k) = B(k,j,i)", {"X": "dds", "B": "sss"}, {"B": b}, schedule=f"reorder({order})"
    )
    np.testing.assert_array_equal(found.to_numpy(), b.transpose())


def test_coordinates_without_an_operand_are_all_found():
    found = run(
        "X(j,i) = a(i)", {"X": "ds", "a": "s"}, {"a": np.array([0, 2, 0, 3])}, dims={"j": 2}
    )
    assert found.to_numpy().tolist() == [[0, 2, 0, 3]] * 2
    assert found.nnz == 4


def test_zeros_are_kept_or_dropped():
    a = sp.csr_array((np.array([0.0, 1.0, 0.0]), [0, 1, 1], [0, 2, 3]), shape=(2, 3))
    formats = {"X": "CSR", "A": "CSR"}
    assert run("X(j,i) = A(i,j)", formats, {"A": a}).nnz == 3
    dropped = run("X(j,i) = A(i,j)", formats, {"A": a}, drop_zeros=True)
    assert dropped.nnz == 1
    np.testing.assert_array_equal(dropped.to_numpy(), a.toarray().T)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "complex128"])
def test_types(dtype):
    a = matrix().astype(dtype)
    found = run("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, {"A": sp.csr_array(a)})
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found.to_numpy(), a.T)


@pytest.mark.parametrize(
    ("shape", "wide"), [((50, 90), False), ((50, 110), True), ((5001, 1), True)]
)
def test_more_positions_than_32_bits_count(shape, wide, monkeypatch):
    """Counts of 32 bits end at 5000; so do the entries of a row, lest its count overflows."""
    whole = c_program.printed
    monkeypatch.setattr(
        c_program, "printed", lambda kernel: whole(kernel).replace("INT32_MAX", "5000")
    )
    a = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    program = compiled("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, "reorder(i,j)")
    bound = program.bind({"A": sp.csr_array(a)})
    bound.types = replace(bound.types, result=INT32)
    np.testing.assert_array_equal(bound.run().to_numpy(), a.T)
    assert (bound.types.result == INT) == wide


@pytest.mark.parametrize(
    ("text", "formats", "schedule"),
    [
        ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, ["reorder(j,i)"]),
        ("X(j,i) = A(i,j)", {"X": "DCSR", "A": "CSR"}, ["reorder(i,j)"]),  # may have empty rows
        ("X(j,i) = A(i,j)", {"X": "COO", "A": "CSR"}, ["reorder(i,j)"]),
        ("X(j,i) = A(i,j,k)", {"X": "CSR", "A": "sss"}, ["reorder(i,j,k)"]),  # finds some twice
        ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"},
         ["reorder(i,j)", "parallelize(i,CPUThread,NoRaces)"]),
        ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, ["reorder(i,j)", "split(i,i0,i1,4)"]),
    ],
)  # fmt: skip
def test_other_results_take_one_pass(text, formats, schedule):
    program = compiled(text, formats, schedule)
    assert not any(note.endswith(NOTE) for note in program.notes)
    a = matrix(3, (4, 5, 6)) if "k" in text else matrix()
    due = a.sum(axis=2).T if "k" in text else a.T
    np.testing.assert_array_equal(program.run({"A": a}).to_numpy(), due)


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}),
        ("X(i,j) = A(i,j)", {"X": "CSC", "A": "CSR"}),
        ("X(i,j) = A(i,j)", {"X": "CSR", "A": "CSC"}),
    ],
)
def test_a_transposition_is_scattered_without_a_schedule(text, formats):
    program = compiled(text, formats)
    assert any(note.endswith(NOTE) for note in program.notes)
    assert not any("transposed" in note for note in program.notes)
    found = program.run({"A": matrix()}).to_numpy()
    np.testing.assert_array_equal(found, matrix().T if "j,i" in text else matrix())


def test_coordinates_are_counted_in_one_loop_where_rows_do_not_matter():
    def loops(form, schedule):
        source = compiled("X(j,i) = A(i,j)", {"X": "CSR", "A": form}, schedule).source
        kernel = source[source.index("int compute(") :]
        return kernel[: kernel.index("X_ends[p]")].count("for (")

    assert loops("CSR", "reorder(i,j)") == loops("ss", "reorder(i,j)") == 3  # two sum up counts
    text = "X(k,j,i) = B(i,j,k)"
    source = compiled(text, {"X": "dds", "B": "sss"}, "reorder(i,j,k)").source
    assert "pB1++" in source[: source.index("X_ends[p]")]  # the rows of X lie at j
