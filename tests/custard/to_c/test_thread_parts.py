"""Sparse results that threads assemble in parts, which are copied behind each other."""

import re
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from custard import UserError
from custard.to_c.loop_ir import INT
from tests.custard.to_c.test_threads import check

MATMUL = "X(i,j) = A(i,k) * B(k,j)"
ROWS = "reorder(i,k,j);parallelize(i,CPUThread,NoRaces)"


def tall(rows, seed, heavy=()):
    """Whole numbers, a few to a row: some rows are empty, the ``heavy`` ones are full."""
    random = np.random.default_rng(seed)
    a = np.where(random.random((rows, 9)) < 0.2, random.integers(1, 5, (rows, 9)), 0.0)
    a[rows // 3 : rows // 2] = 0
    a[list(heavy)] = 1
    return a


@pytest.mark.parametrize("result", ["ds", "ss", "uq", "ds:1,0", "dh"])
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 3000])
def test_many_shares(result, rows):
    a, b = tall(rows, 1, heavy=[0]), tall(9, 2)
    check(MATMUL, {"X": result, "A": "ds", "B": "ds"}, ROWS, {"A": a, "B": b}, a @ b)


@pytest.mark.parametrize("result", ["dss", "sss", "dsd", "ssd", "sds", "dds", "ddsd"])
def test_parts_of_many_levels_are_used_again(result):
    """Fibers that are passed over are empty, and places without a value 0, in each share."""
    random = np.random.default_rng(3)
    shape = (900, 4, 3, 2)[: len(result)]
    t = np.where(random.random(shape) < 0.2, 2.0, 0)
    axes = "ijkl"[: len(shape)]
    expression = f"X({','.join(axes)}) = A({','.join(axes)}) + A({','.join(axes)})"
    formats = {"X": result, "A": "s" * len(shape)}
    check(expression, formats, "parallelize(i,CPUThread,NoRaces)", {"A": t}, t + t)


@pytest.mark.parametrize(
    "schedule",
    [
        "split(i,i0,i1,7);reorder(i0,i1,k,j);parallelize(i0,CPUThread,NoRaces)",
        "divide(i,i0,i1,50);reorder(i0,i1,k,j);parallelize(i0,CPUThread,NoRaces)",
    ],
)
def test_shares_of_tiles(schedule):
    a, b = tall(500, 4), tall(9, 5)
    formats = {"X": "ds", "A": "ds", "B": "ds"}
    check(MATMUL, formats, f"reorder(i,k,j);{schedule}", {"A": a, "B": b}, a @ b)


@pytest.mark.parametrize("result", ["ds", "ss", "dds"])
def test_rows_that_several_shares_have(result):
    """Shares of a fused loop, and of positions, begin and end within a row."""
    t = np.where(np.random.default_rng(6).random((40, 7, 5)[: len(result)]) < 0.3, 2.0, 0)
    axes = ",".join("ijk"[: len(result)])
    for positions in ("", "pos(f,p,A);split(p,f0,f1,4);", "split(f,f0,f1,4);"):
        loop = "f0" if positions else "f"
        schedule = f"fuse(i,j,f);{positions}parallelize({loop},CPUThread,NoRaces)"
        formats = {"X": result, "A": "d" + "s" * (len(result) - 1)}
        check(f"X({axes}) = A({axes})", formats, schedule, {"A": t}, t)


def test_a_heavy_share_does_not_hold_up_others():
    """The parts of the others wait until its entries are counted; the result grows meanwhile."""
    random = np.random.default_rng(7)
    b = sp.random_array((3000, 3000), density=0.01, format="csr", rng=random)
    a = sp.lil_array((3000, 3000))
    a[0] = 1
    a.setdiag(2)
    a = a.tocsr()
    program = custard.compile(MATMUL, dict.fromkeys("XAB", "CSR"), ROWS, "c")
    due = (a @ b).toarray()
    for threads in (2, 4):
        found = program.run({"A": a, "B": b}, threads=threads)
        found.validate()
        np.testing.assert_allclose(found.to_numpy(), due)


def test_results_do_not_depend_on_the_number_of_threads():
    random = np.random.default_rng(8)
    a = sp.random_array((700, 300), density=0.1, format="csr", rng=random)
    program = custard.compile(MATMUL, {"X": "CSR", "A": "CSR", "B": "CSR"}, ROWS, "c")
    b = a.T.tocsr()
    first = program.run({"A": a, "B": b}, threads=1)
    for threads in (2, 3, 8):
        found = program.run({"A": a, "B": b}, threads=threads)
        assert (found.values == first.values).all()
        assert (found.levels[1].coordinates == first.levels[1].coordinates).all()


def test_one_thread_fills_the_arrays_of_the_result():
    program = custard.compile(MATMUL, dict.fromkeys("XAB", "CSR"), ROWS, "c")
    assert "i_part(threads > 1 ? X_parts + thread : X," in program.source
    assert len(re.findall("placed\\(X_whole", program.source)) == 2


def test_index_arrays_of_64_bits():
    a, b = tall(200, 9), tall(9, 10)
    program = custard.compile(MATMUL, {"X": "ds", "A": "ds", "B": "ds"}, ROWS, "c")
    bound = program.bind({"A": a, "B": b}, threads=3)
    bound.types = replace(bound.types, result=INT)
    assert "int64_t *segments1;" in bound.kernel.source
    np.testing.assert_array_equal(bound.run().to_numpy(), a @ b)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("megabytes", [60, 150, 250])
def test_too_little_memory_is_told(threads, megabytes):
    """For the parts, or for the result as it grows."""
    a = sp.csr_array(np.ones((6000, 3)))
    b = sp.csr_array(np.ones((3, 6000)))
    program = custard.compile(MATMUL, dict.fromkeys("XAB", "CSR"), ROWS, "c")
    program.run({"A": a[:200], "B": b}, threads=threads)
    bound = program.bind({"A": a, "B": b}, threads=threads)
    old = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, old[1]))
    try:
        with pytest.raises(UserError, match="there is no memory for X"):
            bound.run()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("threads", [2, 3])
def test_large_results_are_placed_past_the_caches(dtype, threads):
    """Shares begin at any place, also within a line of the caches."""
    n = 170_000
    random = np.random.default_rng(6)
    offsets = range(-4, 4)
    bands = [random.integers(1, 9, n - abs(offset)).astype(dtype) for offset in offsets]
    a = sp.csr_array(sp.diags_array(bands, offsets=offsets, shape=(n, n), dtype=dtype))
    a.data[::7] = 0
    a.eliminate_zeros()
    program = custard.compile(MATMUL, dict.fromkeys("XAB", "CSR"), ROWS, "c")
    found = program.run({"A": a, "B": a}, threads=threads).to_scipy()
    due = a @ a
    due.sort_indices()
    assert found.indices.nbytes > 8 << 20
    np.testing.assert_array_equal(found.indptr, due.indptr)
    np.testing.assert_array_equal(found.indices, due.indices)
    np.testing.assert_array_equal(found.data, due.data)
