"""The loop order that is chosen where the schedule gives none, and what it computes."""

import numpy as np
import pytest
import scipy.sparse

import custard

CSR = dict.fromkeys("XAB", "CSR")


@pytest.mark.parametrize(
    ("text", "formats", "loops"),
    [
        ("X(i,j) = A(i,k) * B(k,j)", CSR, "ikj"),  # Gustavson: as it is stored
        ("X(i,j) = A(k,i) * B(k,j)", CSR, "ikj"),  # A is transposed: the outer product sorts
        ("X(i,j) = A(i,k) * B(j,k)", CSR, "ikj"),  # B is: i, j, k merges all pairs of rows
        ("X(i,j) = A(i,k) * B(k,j)", {**CSR, "A": "CSC"}, "ikj"),
        ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, "ij"),  # filled in two passes
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "dd", "B": "CSR"}, "ikj"),
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "CSR", "B": "dd"}, "ikj"),
        ("X(i,j) = A(i,j) + B(i,j)", CSR, "ij"),
        ("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"}, "ij"),
        ("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSC", "x": "d"}, "ji"),
        ("X(i,j) = B(i,k,l) * C(k,j) * D(l,j)", {"X": "dd", "B": "sss", "C": "dd", "D": "dd"},
         "iklj"),
    ],
)  # fmt: skip
def test_orders(text, formats, loops):
    assert "".join(custard.compile(text, formats, target="c").cin.loops) == loops


def test_a_schedule_and_strict_are_followed():
    text = "X(i,j) = A(k,i) * B(k,j)"
    given = custard.compile(text, CSR, ["reorder(k,i,j)"], target="c")
    assert "".join(given.cin.loops) == "kij"
    strict = custard.compile(text, CSR, target="c", strict=True)
    assert "".join(strict.cin.loops) == "kij"


@pytest.mark.parametrize("form", ["CSR", "CSC", "ss", "uq", "dd", "sh"])
@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("X(i,j) = A(i,k) * B(k,j)", lambda a, b: a @ b),
        ("X(i,j) = A(k,i) * B(k,j)", lambda a, b: a.T @ b),
        ("X(i,j) = A(i,k) * B(j,k)", lambda a, b: a @ b.T),
        ("X(j,i) = A(i,j) + B(j,i)", lambda a, b: a.T + b),
    ],
)
def test_what_is_transposed_comes_out_right(form, text, due):
    random = np.random.default_rng(1)
    a, b = (np.where(random.random((17, 17)) < 0.3, random.integers(1, 9, (17, 17)), 0)
            for _ in range(2))  # fmt: skip
    formats = {"X": "CSR", "A": form, "B": "CSR"}
    program = custard.compile(text, formats, target="c")
    found = program.run({"A": a, "B": scipy.sparse.csr_array(b)})
    np.testing.assert_array_equal(found.to_numpy(), due(a, b))


def test_fibers_of_very_unequal_lengths_are_sought_in():
    random = np.random.default_rng(2)
    for few in (0, 1, 3, 50):
        a, b = np.zeros(20_000), np.zeros(20_000)
        a[random.choice(20_000, few, replace=False)] = 2
        b[random.choice(20_000, 9_000, replace=False)] = 3
        program = custard.compile("x(i) = a(i) * b(i)", dict.fromkeys("xab", "s"), target="c")
        assert "sought_int32_t" in program.source
        for one, other in ((a, b), (b, a)):
            np.testing.assert_array_equal(program.run({"a": one, "b": other}).to_numpy(), a * b)


def test_a_hypersparse_product():
    """A row costs what it touches, however many columns there are."""
    extent = 4_000_000
    random = np.random.default_rng(3)
    places = random.integers(0, extent, (2, 2000))
    places[1, :1000] = places[0, 1000:]
    A = scipy.sparse.coo_array((np.ones(2000), tuple(places)), shape=(extent, extent)).tocsr()
    program = custard.compile("X(i,j) = A(i,k) * B(k,j)", CSR, target="c")
    found = program.run({"A": A, "B": A}).to_scipy()
    assert (found != A @ A).nnz == 0
