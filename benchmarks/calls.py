"""The time around the kernels of target c: calls on small inputs, and conversions, beside scipy's.

    python benchmarks/calls.py

Prints medians of a call, or of an entry, and the ratio to scipy or numpy, or to the kernel alone.
Times are CPU times, and numpy works on one thread, as ours does; its products of large arrays take
half as long by the clock on two.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")

import numpy as np
import scipy.sparse
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from sam.tensor import Tensor

ROUNDS = 7


def alternating(*calls: Callable[[], object], times: int) -> list[float]:
    """The median CPU seconds of each call, in rounds of all of them."""
    found: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(ROUNDS):
        for call, seconds in zip(calls, found, strict=True):
            begin = time.process_time()
            for _ in range(times):
                call()
            seconds.append((time.process_time() - begin) / times)
    return [statistics.median(seconds) for seconds in found]


def uniform(rows: int, per_row: int) -> scipy.sparse.csr_array:
    random = np.random.default_rng(1)
    entries = random.integers(0, rows, (2, rows * per_row))
    return scipy.sparse.coo_array((np.ones(entries.shape[1]), tuple(entries))).tocsr()


def calls(table: Table) -> None:
    """Products of a 10 x 10 matrix with a vector and with itself, of a large array with a vector,
    of two small arrays, and a sampled product."""
    A = uniform(10, 3)
    x = np.ones(A.shape[1])
    program = custard.compile("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"}, target="c")
    bound = program.bind({"A": A, "x": x})
    inputs = {"A": A, "x": x}
    found = alternating(
        lambda: A @ x, bound.run, lambda: bound.run(x=x), lambda: program.run(inputs), times=300
    )
    names = ("scipy", "bound.run", "bound.run(x=...)", "program.run")
    for name, seconds in zip(names, found, strict=True):
        table.add_row(f"10 x 10, {name}", f"{1e6 * seconds:.1f} us", f"{seconds / found[0]:.1f}")

    product = custard.compile("C(i,j) = A(i,k) * B(k,j)", dict.fromkeys("ABC", "CSR"), target="c")
    bound = product.bind({"A": A, "B": A})
    found = alternating(lambda: A @ A, bound.run, lambda: product.run({"A": A, "B": A}), times=300)
    for name, seconds in zip(("scipy", "bound.run", "program.run"), found, strict=True):
        what = f"10 x 10 by 10 x 10, {name}"
        table.add_row(what, f"{1e6 * seconds:.1f} us", f"{seconds / found[0]:.1f}")

    random = np.random.default_rng(2)
    formats = dict.fromkeys("ABC", "dd")
    program = custard.compile("C(i,j) = A(i,k) * B(k,j)", formats, target="c")
    for n in (10, 33, 50):
        A, B = random.random((n, n)), random.random((n, n))
        bound = program.bind({"A": A, "B": B})
        found = alternating(
            lambda A=A, B=B: A @ B,  # type: ignore[misc]
            bound.run,
            lambda A=A, B=B: program.run({"A": A, "B": B}),  # type: ignore[misc]
            bound.seconds,
            times=300,
        )
        names = ("numpy", "bound.run", "program.run", "bound.seconds")
        for name, seconds in zip(names, found, strict=True):
            what = f"{n} x {n} by {n} x {n} dense, {name}"
            table.add_row(what, f"{1e6 * seconds:.1f} us", f"{seconds / found[0]:.1f}")

    B, x = random.random((6000, 6000)), np.ones(6000)
    program = custard.compile("y(i) = B(i,j) * x(j)", {"y": "d", "B": "dd", "x": "d"}, target="c")
    found = alternating(lambda: B @ x, lambda: program.run({"B": B, "x": x}), times=2)
    for name, seconds in zip(("numpy", "program.run"), found, strict=True):
        table.add_row(
            f"6000 x 6000 dense, {name}", f"{1e3 * seconds:.1f} ms", f"{seconds / found[0]:.1f}"
        )

    inputs = {"A": uniform(20_000, 10), "P": random.random((20_000, 64))}
    inputs["Q"] = inputs["P"]
    formats = {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"}
    program = custard.compile("X(i,j) = A(i,j) * P(i,k) * Q(j,k)", formats, target="c")
    bound = program.bind(inputs)
    found = alternating(bound.seconds, lambda: program.run(inputs), times=2)
    for name, seconds in zip(("the kernel", "program.run"), found, strict=True):
        table.add_row(f"SDDMM, {name}", f"{1e3 * seconds:.1f} ms", f"{seconds / found[0]:.1f}")


def conversions(table: Table) -> None:
    """From a CSR matrix of 800,000 entries, and from a Tensor of the same."""
    A = uniform(100_000, 8)
    stored = Tensor.from_scipy(A, "ds")
    peers: dict[str, Callable[[], object]] = {
        "ds": A.copy,
        "ds:1,0": A.tocsc,
        "uq": A.tocoo,
        "ss": A.copy,
    }
    for form, peer in peers.items():
        codes, _, order = form.partition(":")
        modes = [int(mode) for mode in order.split(",")] if order else None
        found = alternating(
            peer,
            lambda codes=codes, modes=modes: Tensor.from_scipy(A, codes, modes),  # type: ignore[misc]
            lambda codes=codes, modes=modes: stored.convert(codes, modes or (0, 1)),  # type: ignore[misc]
            times=1,
        )
        for name, seconds in zip(("scipy", "from scipy", "from a Tensor"), found, strict=True):
            each = f"{1e9 * seconds / A.nnz:.1f} ns"
            table.add_row(f"to {form}, {name}", each, f"{seconds / found[0]:.1f}")


def main() -> None:
    table = Table("what", "time", "ratio", title="calls and conversions, ratios to scipy or numpy")
    calls(table)
    conversions(table)
    Console().print(table)


if __name__ == "__main__":
    main()
