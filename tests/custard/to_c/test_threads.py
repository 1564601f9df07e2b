"""Loops that threads share on target c: right for any number of threads, the same each time."""

import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from custard import UserError
from custard.to_c.call import has_threads
from tests.custard.to_c.test_derived_loops import matrix

MATVEC = "y(i) = A(i,j) * x(j)"
MATMUL = "X(i,j) = A(i,k) * B(k,j)"
RACES = ("NoRaces", "IgnoreRaces", "Atomics", "Temporary", "ParallelReduction")


def check(expression, formats, schedule, inputs, due):
    program = custard.compile(expression, formats, schedule, "c")
    for threads in (1, 2, 3, 8):
        found = program.run(inputs, threads=threads)
        found.validate()
        np.testing.assert_array_equal(found.to_numpy(), due)
    return program


@pytest.mark.parametrize("races", RACES)
@pytest.mark.parametrize("result", ["d", "s"])
def test_every_strategy_is_right_with_and_without_races(races, result):
    a, x = matrix(23, 17, 1), np.arange(1.0, 18)
    formats = {"y": result, "A": "ds", "x": "d"}
    for loop in "ij":
        schedule = f"parallelize({loop},CPUThread,{races})"
        check(MATVEC, formats, schedule, {"A": a, "x": x}, a @ x)


def test_threads_without_a_loop_that_they_share_are_told():
    inputs = {"A": matrix(3, 4, 1), "x": np.ones(4)}
    program = custard.compile(MATVEC, {"A": "ds", "x": "d"}, target="c")
    told = (
        "one thread does the work: the schedule shares no loop out, as "
        "parallelize(LOOP,CPUThread,NoRaces) does"
    )
    assert told in program.bind(inputs, threads=2).notes
    assert told not in (*program.bind(inputs, threads=1).notes, *program.bind(inputs).notes)


def test_equal_shares_of_entries():
    a, x = matrix(23, 17, 2), np.arange(1.0, 18)
    schedule = "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,8);parallelize(p0,CPUThread,Atomics)"
    check(MATVEC, {"y": "d", "A": "ds", "x": "d"}, schedule, {"A": a, "x": x}, a @ x)


@pytest.mark.parametrize("result", ["dd", "ds", "ss", "sd", "uq", "dh", "ds:1,0"])
@pytest.mark.parametrize(
    "schedule",
    [
        "parallelize(i,CPUThread,NoRaces)",
        "split(i,i0,i1,4);parallelize(i0,CPUThread,NoRaces)",
        "reorder(k,i,j);parallelize(k,CPUThread,Atomics)",
    ],
)
def test_results_of_any_format(result, schedule):
    a, b = matrix(13, 17, 3), matrix(17, 11, 4)
    a[4:9] = 0
    check(MATMUL, {"X": result, "A": "ds", "B": "ds"}, schedule, {"A": a, "B": b}, a @ b)


def test_three_levels_are_put_together():
    t = np.where(np.random.default_rng(5).random((7, 6, 5)) < 0.3, 2.0, 0)
    for result in ("sss", "dss", "dsd", "ssd", "ucq"):
        formats = {"X": result, "A": "sss"}
        schedule = "parallelize(i,CPUThread,NoRaces)"
        check("X(i,j,k) = A(i,j,k) + A(i,j,k)", formats, schedule, {"A": t}, t + t)


def test_merged_loops_and_numbers():
    a, b = matrix(19, 8, 6), matrix(19, 8, 7)
    formats = {"X": "ss", "A": "ds", "B": "ss"}
    inputs = {"A": a, "B": b}
    schedule = "parallelize(i,CPUThread,NoRaces)"
    check("X(i,j) = A(i,j) + B(i,j)", formats, schedule, inputs, a + b)
    check("z = A(i,j) * B(i,j)", {"A": "ds", "B": "ss"}, schedule, inputs, (a * b).sum())
    check("z = A(i,j) * B(i,j)", {}, "parallelize(j,CPUThread,ParallelReduction)", inputs,
          (a * b).sum())  # fmt: skip


def test_no_rows_and_no_columns():
    for shape in ((0, 5), (5, 0), (1, 1)):
        a = np.ones(shape)
        schedule = "parallelize(i,CPUThread,NoRaces)"
        check("X(i,j) = A(i,j)", {"X": "ds", "A": "ds"}, schedule, {"A": a}, a)


def test_sums_are_the_same_each_time():
    random = np.random.default_rng(8)
    a = sp.random_array((3, 4000), density=0.9, format="csr", rng=random)
    schedule = "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,64);parallelize(p0,CPUThread,Atomics)"
    program = custard.compile(MATVEC, {"y": "d", "A": "CSR", "x": "d"}, schedule, "c")
    bound = program.bind({"A": a, "x": random.random(4000)}, threads=7)
    first = bound.run().to_numpy()
    assert all((bound.run().to_numpy() == first).all() for _ in range(20))


def test_python_threads_may_run_one_program_at_once():
    a, b = matrix(40, 40, 9), matrix(40, 40, 10)
    schedule = ["reorder(i,k,j)", "parallelize(i,CPUThread,NoRaces)"]
    program = custard.compile(MATMUL, {"X": "ds", "A": "ds", "B": "ds"}, schedule, "c")
    wrong = []

    def work():
        for _ in range(20):
            if (program.run({"A": a, "B": b}, threads=2).to_numpy() != a @ b).any():
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not wrong


def test_the_source_has_the_words_of_openmp():
    program = custard.compile(MATVEC, {"A": "ds", "x": "d"}, "parallelize(i,CPUThread,NoRaces)",
                              "c")  # fmt: skip
    assert "#pragma omp parallel for num_threads(threads)" in program.source
    dense = {"y": "d", "A": "dd", "x": "d"}
    vectors = custard.compile(MATVEC, dense, "parallelize(j,CPUVector,ParallelReduction)", "c")
    assert re.search(r"#pragma omp simd reduction\(\+: sum\)\n", vectors.source)
    a = matrix(5, 70, 11)
    np.testing.assert_array_equal(vectors.run({"A": a, "x": np.ones(70)}).to_numpy(), a.sum(1))


def test_a_prefix_is_that_of_parts_too():
    schedule = ["reorder(i,k,j)", "parallelize(i,CPUThread,NoRaces)"]
    program = custard.compile(MATMUL, {"X": "ds", "A": "ds", "B": "ds"}, schedule, "c")
    source = program.linkable("mul").source
    assert "struct mul_X *X_parts = NULL;" in source
    assert "mul_release(X_parts + t);" in source
    assert not re.search(r"struct [XAB]\b", source)


@pytest.mark.parametrize(
    ("schedule", "note"),
    [
        ("reorder(i,k,j);parallelize(j,CPUThread,NoRaces)",
         "works on one thread: the result is appended to in order, and only its outermost loop is "
         "shared"),
        ("split(i,i0,i1,4);parallelize(i1,CPUThread,NoRaces)",
         "works on one thread: the result is appended to in order, and only its outermost loop is "
         "shared"),
        ("reorder(i,k,j);parallelize(j,CPUVector,NoRaces)",
         "leaves the loop to the C compiler: it does not go along arrays"),
    ],
)  # fmt: skip
def test_loops_that_threads_cannot_share_are_noted(schedule, note):
    program = custard.compile(MATMUL, {"X": "ds", "A": "ds", "B": "ds"}, schedule, "c")
    assert f"{schedule.split(';')[1]} {note}" in program.notes
    # Another note does not say that there is nothing to share.
    notes = program.bind({"A": np.eye(3), "B": np.eye(3)}, threads=2).notes
    assert any(one.startswith("one thread does") for one in notes) == ("CPUVector" in schedule)


@pytest.mark.parametrize("outer", ["i0", "i1"])
def test_threads_inside_of_threads_are_noted(outer):
    """Also where the loop outside works on one thread, and why is noted already."""
    inner = "parallelize(j,CPUThread,NoRaces)"
    schedule = f"reorder(i,k,j);split(i,i0,i1,4);parallelize({outer},CPUThread,NoRaces);{inner}"
    program = custard.compile(MATMUL, {"X": "ds", "A": "ds", "B": "ds"}, schedule, "c")
    noted = [note for note in program.notes if "CPUThread" in note]
    assert noted[-1] == f"{inner} changes nothing inside of another loop for threads"
    assert len(noted) == (1 if outer == "i0" else 2)
    a, b = matrix(19, 17, 3), matrix(17, 21, 4)
    check(MATMUL, {"X": "ds", "A": "ds", "B": "ds"}, schedule, {"A": a, "B": b}, a @ b)


@pytest.mark.parametrize(
    ("formats", "marks"),
    [
        # Few rounds over k, the first rounds of more, and four together.
        ({"X": "dd", "A": "ds", "B": "dd"}, 3),
        # Tiles have vectors of their own.
        ({"X": "dd", "A": "dd", "B": "dd"}, 0),
    ],
)
def test_vectors_inside_of_threads(formats, marks):
    schedule = "reorder(i,k,j);parallelize(i,CPUThread,NoRaces);parallelize(j,CPUVector,NoRaces)"
    program = custard.compile(MATMUL, formats, schedule, "c")
    assert program.source.count("#pragma omp simd\n") == marks
    assert ("tiles_double(" in program.source) == (not marks)
    assert not any("CPUVector" in note for note in program.notes)
    a, b = matrix(19, 17, 3), matrix(17, 21, 4)
    check(MATMUL, formats, schedule, {"A": a, "B": b}, a @ b)


@pytest.mark.parametrize("threads", [0, -1, 2.5, "4", True, 5000])
def test_a_number_of_threads_is_a_whole_number(threads):
    program = custard.compile(MATVEC, {"A": "ds"}, "parallelize(i,CPUThread,NoRaces)", "c")
    with pytest.raises(UserError) as error:
        program.run({"A": np.eye(2), "x": np.ones(2)}, threads=threads)
    assert str(error.value) == f"threads is {threads!r}, not a whole number from 1 to 1024"


def test_without_openmp_one_thread_does_the_work_of_all(monkeypatch):
    monkeypatch.setattr("custard.to_c.compiler_flags._THREADS", ("-fno-such-flag",))
    program = custard.compile(MATVEC, {"A": "ds"}, "parallelize(i,CPUThread,NoRaces)", "c")
    bound = program.bind({"A": np.eye(3), "x": np.ones(3)}, threads=2)
    assert not has_threads()
    assert "the C compiler has no OpenMP: one thread does the work of all" in bound.notes
    assert bound.run().to_numpy().tolist() == [1, 1, 1]


ROWS = "parallelize(i,CPUThread,NoRaces)"
TILES = "split(i,i0,i1,4);reorder(i0,i1,k,j);parallelize(i0,CPUThread,NoRaces)"
PARTS = "divide(i,i0,i1,6);reorder(i0,i1,k,j);parallelize(i0,CPUThread,NoRaces)"
OF_TILES = "i0_first * 4 * X_row; p < (i0_last * 4 < i_size ? i0_last * 4 : i_size) * X_row"


@pytest.mark.parametrize(
    ("schedule", "levels", "rows"),
    [
        (ROWS, "ds", "i * X_row; p < (i + 1) * X_row"),
        (ROWS, "ss", "i_first * X_row; p < i_last * X_row"),  # rounds leave rows out
        (ROWS, "dd", "i_first * X_row; p < i_last * X_row"),  # loops that are made into tiles
        (TILES, "ds", OF_TILES),
        (TILES, "ss", OF_TILES),
        (PARTS, "ds", OF_TILES.replace("4", "i1_size")),
    ],
)
def test_threads_zero_their_own_rows(schedule, levels, rows, monkeypatch):
    a, b = matrix(13, 17, 3), matrix(17, 11, 4)
    a[4:9] = 0
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 7, dtype))
    formats = {"X": "dd", "A": levels, "B": "dd"}
    program = check(MATMUL, formats, f"reorder(i,k,j);{schedule}", {"A": a, "B": b}, a @ b)
    # Within the function that starts the threads, it would be slower.
    assert "__attribute__((noinline))\nstatic int i" in program.source
    *_, thread, kernel = re.split("static int|^int", program.source, flags=re.MULTILINE)
    assert f"for (int64_t p = {rows}; p++)" in re.sub(r"\s+", " ", thread)
    assert "= 0.0" not in kernel


def test_what_threads_add_to_is_zeroed_before(monkeypatch):
    """One thread zeroes the result: each share of k, or of tiles of j, goes through all rows."""
    a, b = matrix(13, 17, 3), matrix(17, 11, 4)
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 7, dtype))
    for schedule in (
        "reorder(k,i,j);parallelize(k,CPUThread,Atomics)",
        "split(j,j0,j1,4);reorder(j0,i,k,j1);parallelize(j0,CPUThread,NoRaces)",
    ):
        formats = {"X": "dd", "A": "ds", "B": "dd"}
        program = check(MATMUL, formats, schedule, {"A": a, "B": b}, a @ b)
        kernel = program.source.split("\nint compute")[1]
        assert re.search(r"< X->size0 \* X->size1; p\w*\+\+\)\n *X_values\[p\w*\] = 0.0", kernel)


@pytest.mark.parametrize(
    "schedule",
    [
        "pos(i,p,a);split(p,p0,p1,2);parallelize(p0,CPUThread,NoRaces)",
        "pos(i,p,a);divide(p,p0,p1,3);parallelize(p0,CPUThread,NoRaces)",
    ],
)
def test_tiles_of_positions_are_no_ranges_of_rows(schedule):
    a = matrix(1, 17, 3)[0]
    check("y(i) = a(i)", {"y": "d", "a": "s"}, schedule, {"a": a}, a)


def test_tiles_of_a_fused_loop_are_no_ranges_of_rows():
    a, b = matrix(9, 5, 3), matrix(9, 5, 4)
    schedule = "fuse(i,j,f);split(f,f0,f1,4);parallelize(f0,CPUThread,NoRaces)"
    formats = {"X": "dd", "A": "dd", "B": "bb"}
    check("X(i,j) = A(i,j) - B(i,j)", formats, schedule, {"A": a, "B": b}, a - b)
