"""Rows of dense results that threads write in place, each thread's first row apart."""

import numpy as np
import pytest

import custard
from tests.custard.to_c.test_threads import check

SHARES = "fuse(i,k,f);pos(f,p,A);split(p,p0,p1,{});parallelize(p0,CPUThread,Atomics)"
MATMUL = "X(i,j) = A(i,k) * B(k,j)"


def rows(*counts, columns=40):
    """A matrix whose rows have so many entries, whole numbers."""
    a = np.zeros((len(counts), columns))
    for row, count in enumerate(counts):
        a[row, :count] = np.arange(1, count + 1) + row
    return a


# Rows in the midst of which shares begin and end, or that several threads share; empty ones at the
# begin, between and at the end; no entries at all.
MATRICES = [
    rows(3, 40, 0, 0, 1, 1, 7, 0),
    rows(0, 0, 0, 40, 40, 0),
    rows(40),
    rows(1, 1, 1, 1, 1, 1, 1, 1, 1),
    rows(0, 0, 0),
    np.zeros((0, 40)),
    # Rows enough for many shares to a thread.
    rows(*(0, 40, 1, 0, 2, 0, 0, 3) * 12, 40, 40, *(0,) * 9, 1, 0),
]


@pytest.mark.parametrize("a", MATRICES, ids=lambda a: f"{int((a != 0).sum())} of {len(a)} rows")
@pytest.mark.parametrize("size", [1, 4, 64])
def test_rows_that_are_cut_between_threads(a, size):
    b = np.arange(120.0).reshape(40, 3) - 50
    formats = {"X": "dd", "A": "ds", "B": "dd"}
    program = check(MATMUL, formats, "reorder(i,k,j);" + SHARES.format(size), {"A": a, "B": b},
                    a @ b)  # fmt: skip
    assert "X_firsts = resized(X_firsts, times(p0_shares, X_row_size)," in program.source
    # gcc makes worse loops of a function that zeroes rows by their size in the struct.
    assert "_clean * X_row_size; p" in program.source
    # No loop zeroes the whole result before.
    assert "p < X->size0 * X->size1" not in program.source


@pytest.mark.parametrize(
    ("expression", "formats", "schedule"),
    [
        # A fused loop that is shared out as it is, and one over coordinates.
        (MATMUL, "X:dd A:ds", "reorder(i,k,j);fuse(i,k,f);parallelize(f,CPUThread,Atomics)"),
        (MATMUL, "X:dd A:ds", "reorder(i,k,j);fuse(i,k,f);split(f,f0,f1,5);"
         "parallelize(f0,CPUThread,Atomics)"),
        # Rows further in: j is bound outside.
        (MATMUL, "X:dd:1,0 A:ds", "reorder(j,i,k);" + SHARES.format(3)),
        # Rows of a result that is stored the other way round are no ranges of it.
        (MATMUL, "X:dd:1,0 A:ds", "reorder(i,k,j);" + SHARES.format(3)),
        # Loops within the tiles come back to rows.
        (MATMUL, "X:dd A:ds", "reorder(i,k,j);" + SHARES.format(3) + ";reorder(p0,j,p1)"),
        (MATMUL, "X:dd A:uq", "reorder(i,k,j);" + SHARES.format(2)),
        # Other terms write to the result too.
        ("X(i,j) = A(i,k) * B(k,j) + C(i,j)", "X:dd A:ds C:ds", "reorder(i,k,j);"
         + SHARES.format(3)),
        ("X(i,j) = A(i,k) * B(k,j) + A(i,k) * D(k,j)", "X:dd A:ds", "reorder(i,k,j);"
         + SHARES.format(3)),
    ],
)  # fmt: skip
def test_results_and_loops_of_other_kinds(expression, formats, schedule):
    random = np.random.default_rng(1)
    inputs = {"A": rows(3, 9, 0, 0, 1, 1, 7, 0, columns=9)}
    for name, shape in (("B", (9, 3)), ("C", (8, 3)), ("D", (9, 3))):
        if name in expression:
            inputs[name] = random.integers(-4, 5, shape).astype(float)
    due = inputs["A"] @ inputs["B"]
    due = due + inputs.get("C", 0) + (inputs["A"] @ inputs["D"] if "D" in inputs else 0)
    stored = dict(one.split(":", 1) for one in formats.split())
    check(expression, {"B": "dd", **stored}, schedule, inputs, due)


def test_an_accumulated_result_keeps_its_old_values():
    a, b, x = rows(3, 9, 0, 1, columns=9), np.arange(27.0).reshape(9, 3), np.ones((4, 3))
    formats = {"X": "dd", "A": "ds", "B": "dd"}
    schedule = "reorder(i,k,j);" + SHARES.format(3)
    text = "X(i,j) += A(i,k) * B(k,j)"
    check(text, formats, schedule, {"A": a, "B": b, "X": x}, x + a @ b)


def test_a_kernel_that_runs_again_begins_anew():
    a, b = rows(3, 9, 0, 1, columns=9), np.arange(27.0).reshape(9, 3)
    formats = {"X": "dd", "A": "ds", "B": "dd"}
    program = custard.compile(MATMUL, formats, "reorder(i,k,j);" + SHARES.format(3), "c")
    bound = program.bind({"A": a, "B": b}, threads=3)
    for _ in range(3):
        bound.seconds()
        np.testing.assert_array_equal(bound.run().to_numpy(), a @ b)
