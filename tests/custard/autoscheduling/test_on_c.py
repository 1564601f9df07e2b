"""Target c: the candidates, and estimates of their time."""

from dataclasses import replace

import numpy as np
import scipy.sparse

import custard
from custard.autoscheduling.autoscheduler import autoscheduler
from custard.autoscheduling.candidates import orders
from custard.autoscheduling.fibers import InputFibers
from custard.autoscheduling.problem import ThreadedLoop
from custard.targets import TARGETS
from sam.tensor import Tensor
from tests.support.problems import problem, schedules

SPMM = "X(i,j) = A(i,k) * B(k,j)"
MATVEC = "y(i) = A(i,j) * x(j)"
C = autoscheduler(TARGETS["c"])


def test_tiles_are_of_dense_loops_and_for_dense_results():
    given = {"X": "dd", "A": "ds", "B": "dd"}
    found = [one for one in schedules(SPMM, given=given) if "split" in one]
    assert "split(j,j0,j1,32);reorder(j0,i,k,j1)" in found
    assert not [one for one in found if "split(k" in one]
    assert not [one for one in schedules(SPMM, given={**given, "X": "ds"}) if "split" in one]
    assert not [one for one in schedules(SPMM, given=given, extents=63) if "split" in one]


def test_only_the_outermost_loop_is_parallel():
    given = {"y": "d", "A": "ds", "x": "d"}
    found = schedules(MATVEC, parts=2, given=given, extents=63)
    assert found == [
        "reorder(i,j)",
        "reorder(i,j);parallelize(i,CPUThread,NoRaces)",
        "reorder(i,j);fuse(i,j,f);pos(f,p,A);split(p,p0,p1,64);parallelize(p0,CPUThread,Atomics)",
        "reorder(i,j);fuse(i,j,f);pos(f,p,A);split(p,p0,p1,1024);parallelize(p0,CPUThread,Atomics)",
    ]
    columns = schedules(MATVEC, parts=2, given={**given, "A": "ds:1,0"}, extents=63)
    assert columns[:2] == ["reorder(j,i)", "reorder(j,i);parallelize(j,CPUThread,Temporary)"]


def test_a_compressed_result_is_tried_with_each_workspace():
    """It is over the variables inside of the first sum."""
    rows = schedules(SPMM, given=dict.fromkeys("XAB", "ds"), parts=2)
    assert rows[2:4] == [
        "reorder(i,k,j);precompute(A(i,k)*B(k,j),{j},{j},W:dense)",
        "reorder(i,k,j);precompute(A(i,k)*B(k,j),{j},{j},W:dense);parallelize(i,CPUThread,NoRaces)",
    ]
    outer = schedules(SPMM, given={"X": "ss", "A": "ds:1,0", "B": "ds"}, parts=2)
    assert outer[2:6] == [
        f"reorder(k,i,j);precompute(A(i,k)*B(k,j),{{i,j}},{{i,j}},W:{policy})"
        for policy in ("dense", "coord", "bucket", "hash")
    ]
    large = schedules(SPMM, given={"X": "ss", "A": "ds:1,0", "B": "ds"}, extents=2**20)
    assert not [one for one in large if "dense" in one]


def test_new_loops_avoid_names_that_are_taken():
    found = schedules("y(f) = p(f,W) * x(W)", parts=2, given={"y": "d", "p": "ds", "x": "d"})
    assert "reorder(f,W);fuse(f,W,f_);pos(f_,p_,p);split(p_,p0,p1,64)" in found[2]


# Estimates

# One row in ten has entries, which are all there.
MATRIX = np.zeros((40, 40))
MATRIX[::10] = 1.0


def estimate(matrix, text=MATVEC, given=None, **more):
    """The estimate of the first order of loops, with more said of the candidate."""
    found = problem(text, extents=40, given=given or {"y": "d", "A": "ds", "x": "d"})
    fibers = InputFibers({"A": Tensor.of(matrix).convert("ds")}, found.extents)
    plain = next(orders(found))
    return C.estimate(replace(plain, **more), found, fibers)


def test_an_estimate_grows_with_the_work():
    assert 0 < estimate(MATRIX) < estimate(np.ones((40, 40)))


def test_an_estimate_counts_the_start_of_threads():
    assert estimate(MATRIX, shared=ThreadedLoop("i", 4)) > estimate(MATRIX)


def test_an_estimate_grows_with_the_largest_share():
    """Each of two shares has two of the full rows, or one share has all four."""
    uneven = np.zeros((40, 40))
    uneven[:4] = 1.0
    shared = ThreadedLoop("i", 2)
    assert estimate(uneven, shared=shared) > estimate(MATRIX, shared=shared)


def test_the_compiler_takes_the_cheapest_workspace():
    """A result without a workspace of its own in the schedule costs as with the cheapest."""
    text, given = "X(i,j) = A(i,k) * B(k,j)", {"X": "ss", "A": "ds:1,0", "B": "dd"}
    policies = {
        policy: estimate(MATRIX, text, given, policy=policy)
        for policy in (None, "dense", "coord", "bucket", "hash")
    }
    assert policies.pop(None) == min(policies.values()) == policies["dense"]
    assert policies["coord"] == policies["bucket"]  # few values, which are sorted alike


def test_the_vector_of_a_part_takes_its_time():
    """Rows of C * D have values beside the few that B asks for, and each sets a bit."""
    random = np.random.default_rng(2)
    b = scipy.sparse.random_array((300, 300), density=0.02, format="csr", rng=random)
    found = custard.autoschedule(
        "X(i,j) = B(i,j) * C(i,k) * D(j,k)", dict.fromkeys("BCD", b), {}, "c", threads=1, most=100
    )
    assert not any("precompute" in command for command in found[0].schedule)
    first = "precompute(C(i,k)*D(j,k)"
    parts = [one for one in found if any(c.startswith(first) for c in one.schedule)]
    assert parts
    assert all(one.estimate > 300 * 36 * 5e-9 for one in parts)


def test_going_across_the_same_rows_again_is_cheap():
    """Row j of C, which is stored by columns, stays in the cache for all rows of column j of B."""
    random = np.random.default_rng(3)
    b = scipy.sparse.random_array((400, 400), density=0.03, format="csr", rng=random)
    c = random.random((400, 32))
    found = custard.autoschedule(
        "A(i,k) = B(i,j) * C(j,k)", {"B": b, "C": c}, {"A": "dd", "C": "dd:1,0"}, "c", threads=1
    )
    assert found[0].schedule == ("reorder(j,i,k)",)


def test_a_band_goes_through_an_array():
    """Its rows lie side by side: no value waits for memory, however long a row is."""
    n = 300_000
    band = scipy.sparse.diags_array([1.0] * 11, offsets=range(-5, 6), shape=(n, n)).tocsr()
    random = np.random.default_rng(4)
    even = scipy.sparse.random_array((n, n), density=11 / n, format="csr", rng=random)
    found = problem("X(i,j) = A(i,k) * B(k,j)", extents=n, given=dict.fromkeys("XAB", "ds"))
    plain = next(one for one in orders(found) if one.loops == ("i", "k", "j"))
    estimates = {}
    for name, matrix in (("band", band), ("even", even)):
        fibers = InputFibers(dict.fromkeys("AB", Tensor.of(matrix)), found.extents)
        for policy in ("dense", "bucket"):
            estimates[name, policy] = C.estimate(replace(plain, policy=policy), found, fibers)
    assert estimates["band", "dense"] < estimates["band", "bucket"]
    assert estimates["even", "bucket"] < estimates["even", "dense"]
