"""Ranges of fused loops: the rounds that nothing cuts have a loop of their own."""

import numpy as np
import pytest

import custard
from tests.custard.to_c.test_threads import check
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

EQUAL = "fuse({},f);pos(f,p,A);divide(p,p0,p1,{})"
SHARED = ";parallelize(p0,CPUThread,Atomics)"
MATVEC, MATMUL = "y(i) = A(i,j) * x(j)", "X(i,j) = A(i,k) * B(k,j)"


def cube(*shape, density=0.3):
    """Whole numbers, with rows that are empty and others that are full."""
    random = np.random.default_rng(sum(shape))
    found = random.integers(1, 9, shape) * (random.random(shape) < density)
    found[::5], found[2::7] = 0, 3
    return found.astype(float)


def loops(expression, formats, schedule):
    """The C from the body of the loop over whole rows on."""
    source = custard.compile(expression, formats, schedule, "c").source
    return source.partition("for (int64_t i = i_at + 1; i < i_end - 1; i++) {")[2]


def test_whole_rows_are_those_of_a_schedule_by_rows():
    formats = {"y": "d", "A": "CSR", "x": "d"}
    body = """
        double sum = 0.0;
        sum += sparse_dot_double_int32_t(A_values, A_coordinates1, A_segments1[i],
                A_segments1[i + 1], x_values, true, false);
        y_values[i] = sum;
    }"""
    by_rows = custard.compile(MATVEC, formats, "parallelize(i,CPUThread,NoRaces)", "c").source
    shared = loops(MATVEC, formats, EQUAL.format("i,j", 64) + SHARED)
    assert "".join(body.split()) in "".join(by_rows.split())
    assert "".join(shared.split()).startswith("".join(body.split()))


def test_whole_rows_take_four_entries_together():
    formats = {"X": "dd", "A": "CSR", "B": "dd"}
    found = loops(MATMUL, formats, "reorder(i,k,j);" + EQUAL.format("i,k", 64) + SHARED)
    assert "pA1 < A_segments1[i + 1]; pA1 += 4)" in " ".join(found.split())


def test_the_elements_of_a_vector_are_written_once():
    formats = {"y": "d", "A": "CSR", "x": "d"}
    source = custard.compile(MATVEC, formats, EQUAL.format("i,j", 15) + SHARED, "c").source
    # Rows from one that is zeroed to the last one, which is zeroed, are passed over.
    assert "if (y_clean < i_end - 1) y_clean = i_end - 1;" in " ".join(source.split())


@pytest.mark.parametrize("shared", ["", SHARED], ids=["alone", "shared"])
@pytest.mark.parametrize("shares", [1, 7, 100])
@pytest.mark.parametrize("levels", ["ds", "ss", "uq", "dd", "sd", "us"])
def test_a_matrix_times_a_vector(levels, shares, shared):
    a, x = cube(50, 9), np.arange(9.0) - 4
    formats = {"y": "d", "A": levels, "x": "d"}
    check(MATVEC, formats, EQUAL.format("i,j", shares) + shared, {"A": a, "x": x}, a @ x)


@pytest.mark.parametrize("fused", ["i,j,g);fuse(g,k", "j,k,g);fuse(i,g", "i,j", "j,k"])
@pytest.mark.parametrize("levels", ["dss", "sss", "uqq", "dds", "suq"])
@pytest.mark.parametrize(
    ("result", "axes"), [("Y(i)", "i"), ("Y(i,j)", "ij"), ("Y(j,i)", "ji"), ("Y", "")]
)
def test_ranges_of_three_levels(result, axes, levels, fused):
    a, v, x = cube(40, 4, 5), np.arange(5.0), np.arange(4.0) - 1
    formats = {"A": levels, "x": "d", "v": "d", **({"Y": "d" * len(axes)} if axes else {})}
    schedule = "reorder(i,j,k);" + EQUAL.format(fused, 20) + SHARED
    due = np.einsum(f"ijk,k,j->{axes}", a, v, x)
    check(f"{result} = A(i,j,k) * v(k) * x(j)", formats, schedule, {"A": a, "v": v, "x": x}, due)


def test_terms_of_a_row_that_are_sums_of_their_own():
    a, b, c = cube(40, 6), cube(40, 5), cube(5, 6)
    formats = {"y": "d", "A": "ds", "B": "dd", "C": "dd"}
    check("y(i) = A(i,j) * sum(k, B(i,k) * C(k,j))", formats, EQUAL.format("i,j", 15) + SHARED,
          {"A": a, "B": b, "C": c}, (a * (b @ c)).sum(axis=1))  # fmt: skip


@pytest.mark.parametrize("levels", ["d", "s", "b", "h"])
def test_operands_that_are_in_the_rows_too(levels):
    a, z, x = cube(40, 9), np.arange(40.0) % 3, np.arange(9.0)
    formats = {"y": "d", "A": "ds", "x": "d", "z": levels}
    inputs = {"A": a, "x": x, "z": z}
    schedule = EQUAL.format("i,j", 15) + SHARED
    check("y(i) = A(i,j) * x(j) * z(i)", formats, schedule, inputs, (a @ x) * z)
    check("y(i) = A(i,j) * x(j) + z(i)", formats, schedule, inputs, a @ x + z)


def test_a_range_of_coordinates():
    a, x = cube(50, 9), np.arange(9.0)
    formats = {"y": "d", "A": "ds", "x": "d"}
    schedule = "fuse(i,j,f);divide(f,f0,f1,20);parallelize(f0,CPUThread,Atomics)"
    program = check(MATVEC, formats, schedule, {"A": a, "x": x}, a @ x)
    assert "for (int64_t i = i_at + 1; i < i_end - 1; i++) {" in program.source


def test_an_unrolled_loop_stays_unrolled():
    a, x = cube(50, 9), np.arange(9.0)
    formats = {"y": "d", "A": "dd", "x": "d"}
    schedule = "fuse(i,j,f);divide(f,f0,f1,20);unroll(f1,3);parallelize(f0,CPUThread,Atomics)"
    program = check(MATVEC, formats, schedule, {"A": a, "x": x}, a @ x)
    assert program.source.count("#pragma GCC unroll 3") == 2


def test_a_sum_with_what_other_rows_have():
    a, b = cube(60, 9), cube(60, 9, density=0.9)
    schedule = EQUAL.format("i,j", 15) + SHARED
    check("X(i,j) = A(i,j) + B(i,j)", {"X": "dd", "A": "uq", "B": "dd"}, schedule,
          {"A": a, "B": b}, a + b)  # fmt: skip


@pytest.mark.parametrize(
    ("levels", "size", "apart"),
    [("ds", 64, False), ("ds", 1024, True), ("ss", 1024, False), ("ss", 100_000, True)],
)
def test_short_ranges_have_one_loop(levels, size, apart):
    formats = {"y": "d", "A": levels, "x": "d"}
    schedule = f"fuse(i,j,f);pos(f,p,A);split(p,p0,p1,{size})"
    source = custard.compile(MATVEC, formats, schedule, "c").source
    assert ("while (i_at < i_end)" in source) == apart
