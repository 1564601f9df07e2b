"""The loop order that is chosen where the schedule gives none, and its results."""

import numpy as np
import pytest
import scipy.sparse

import custard
from tests.support.compiler import needs_compiler

CSR = dict.fromkeys("XAB", "CSR")


@pytest.mark.parametrize(
    ("text", "formats", "loops"),
    [
        ("X(i,j) = A(i,k) * B(k,j)", CSR, "ikj"),  # Gustavson: as it is stored
        ("X(i,j) = A(k,i) * B(k,j)", CSR, "ikj"),  # A is transposed: the outer product sorts
        ("X(i,j) = A(i,k) * B(j,k)", CSR, "ikj"),  # B is: i, j, k merges all pairs of rows
        ("X(i,j) = A(i,k) * B(k,j)", {**CSR, "A": "CSC"}, "ikj"),
        ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, "ij"),  # filled in two passes
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "dd", "B": "CSR"}, "kji"),  # A, X are turned
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "CSR", "B": "dd"}, "ikj"),
        ("X(i,j) = A(i,j) + B(i,j)", CSR, "ij"),
        ("X(j,i) = A(i,j)", {"X": "dd", "A": "dd"}, "ji"),  # written in order
        ("X(j,i) = A(i,j) + B(i,j)", {"X": "dd", "A": "dd", "B": "dd"}, "ij"),  # two are read
        ("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"}, "ij"),
        ("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSC", "x": "d"}, "ji"),
        ("X(i,j) = B(i,k,l) * C(k,j) * D(l,j)", {"X": "dd", "B": "sss", "C": "dd", "D": "dd"},
         "iklj"),
        # With the dense loop outside, all rows would be gone through for each of its coordinates.
        ("y(i) = A(i,k)", {"y": "d", "A": "sd"}, "ik"),
        ("Z(b,w,t) = A(b,w,x,t) * B(b,w,x,t)", {"Z": "ddd", "A": "sssd", "B": "dddd"}, "bwxt"),
    ],
)  # fmt: skip
def test_the_cheapest_orders_of_programs(text, formats, loops):
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
def test_transposed_operands_give_the_same_result(form, text, due):
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
    """The cost of a row depends on its entries, not on the number of columns."""
    extent = 4_000_000
    random = np.random.default_rng(3)
    places = random.integers(0, extent, (2, 2000))
    places[1, :1000] = places[0, 1000:]
    A = scipy.sparse.coo_array((np.ones(2000), tuple(places)), shape=(extent, extent)).tocsr()
    program = custard.compile("X(i,j) = A(i,k) * B(k,j)", CSR, target="c")
    found = program.run({"A": A, "B": A}).to_scipy()
    assert (found != A @ A).nnz == 0


TURNED = "is transposed to 1,0 before the run"


@pytest.mark.parametrize(
    ("text", "formats", "turned"),
    [
        ("X(i,j) = A(i,k) * B(j,k)", {"X": "dd", "A": "CSR", "B": "dd"}, {"B"}),
        (
            "X(i,j) = C(i,j) * A(i,k) * B(k,j)",
            {"X": "CSR", "C": "CSR", "A": "dd", "B": "dd"},
            {"B"},
        ),
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "CSR", "B": "dd"}, set()),
        ("X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "dd", "B": "dd"}, set()),
        ("X(i,j) = A(i,j) + A(j,i)", {"X": "dd", "A": "dd"}, set()),  # each element once
    ],
)
def test_arrays_are_transposed_where_the_innermost_loop_would_go_across_rows(text, formats, turned):
    program = custard.compile(text, formats, target="c")
    notes = [note for note in program.notes if note.endswith(TURNED)]
    assert {note[0] for note in notes} == turned
    random = np.random.default_rng(4)
    given = {name: random.integers(0, 3, (6, 6)).astype(float) for name in formats if name != "X"}
    due = {
        "X(i,j) = A(i,k) * B(j,k)": "ik,jk->ij",
        "X(i,j) = A(i,k) * B(k,j)": "ik,kj->ij",
        "X(i,j) = C(i,j) * A(i,k) * B(k,j)": "ij,ik,kj->ij",
    }
    found = program.run(given).to_numpy()
    if text in due:
        given = {name: given[name] for name in sorted(given, key=text.index)}
        np.testing.assert_array_equal(found, np.einsum(due[text], *given.values()))
    else:
        np.testing.assert_array_equal(found, given["A"] + given["A"].T)


def test_an_array_that_is_stored_in_the_order_of_the_loops_is_read_in_place():
    formats = {"X": "dd", "A": "CSR", "B": "dd"}
    program = custard.compile("X(i,j) = A(i,k) * B(j,k)", formats, target="c")
    a, b = scipy.sparse.csr_array(np.eye(4, 5)), np.random.default_rng(5).random((3, 5))
    in_place = program.bind({"A": a, "B": np.asfortranarray(b)})
    copied = program.bind({"A": a, "B": b})
    assert in_place.notes == ()
    assert copied.notes == (
        "B is converted from ndarray on each call, as the kernel reads another format",
    )
    for bound in (in_place, copied):
        np.testing.assert_array_equal(bound.run().to_numpy(), a @ b.T)


def test_strict_turns_no_array():
    program = custard.compile(
        "X(i,j) = A(i,k) * B(j,k)", {"X": "dd", "A": "CSR", "B": "dd"}, target="c", strict=True
    )
    assert not any(note.endswith(TURNED) for note in program.notes)


def _few_rows(monkeypatch):
    return 3


def _no_memory(monkeypatch):
    monkeypatch.setattr("sam.support.free_memory.lacks", lambda size: size >= 2 * 8 * 5 * 6)
    return 5


@needs_compiler
@pytest.mark.parametrize("rows_where", [_few_rows, _no_memory])
def test_a_result_of_few_rows_or_too_large_for_two_is_computed_where_it_is_stored(
    rows_where, monkeypatch
):
    program = custard.compile(
        "X(i,j) = A(i,k) * B(k,j)", {"X": "dd", "A": "dd", "B": "CSR"}, target="c"
    )
    a, b = np.ones((5, 4)), scipy.sparse.csr_array(np.eye(4, 6))
    turned = program.bind({"A": a, "B": b})
    assert "X_turned" in turned.kernel.source
    assert turned.decisions == ()
    rows = rows_where(monkeypatch)
    program.known.clear()
    bound = program.bind({"A": a[:rows], "B": b})
    assert "X_turned" not in bound.kernel.source
    assert bound.decisions == (
        "for these inputs, X(i,j) is computed where it is stored, in the loop order i, j, k",
    )
    np.testing.assert_array_equal(bound.run().to_numpy(), a[:rows] @ b)
