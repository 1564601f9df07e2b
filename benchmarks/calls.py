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
from typing import Any

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


def small(table: Table) -> None:
    """Calls on 10 x 10 inputs, in formats that need no conversion and in a few that do."""
    csr = uniform(10, 3)
    narrow = scipy.sparse.csr_array(csr)
    narrow.indices, narrow.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    wide = scipy.sparse.csr_array(csr)
    wide.indices, wide.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    dense, x = csr.toarray(), np.ones(10)
    listed = narrow.tocoo()
    listed.sum_duplicates()
    matrices = {
        "CSR": narrow,
        "CSR of int64": wide,
        "CSC": narrow.tocsc(),
        "COO": listed,
        "DCSR": Tensor.from_scipy(narrow, "ss"),
        "dd": dense,
    }
    for kind, A in matrices.items():
        form = kind.removesuffix(" of int64")
        peer = narrow if kind == "DCSR" else A
        vectors = {"y": "d", "A": form, "x": "d"}
        _call(table, kind, MATVEC, vectors, {"A": A, "x": x}, lambda A=peer: A @ x)
        for text, peers in (
            (PRODUCT, lambda A=peer: A @ A),
            (SUM, lambda A=peer: A + A),
        ):
            _call(table, kind, text, dict.fromkeys("ABC", form), {"A": A, "B": A}, peers)
        if form in ("CSR", "dd"):
            turned = dict.fromkeys("AC", form)
            _call(table, kind, TURNED, turned, {"A": A}, lambda A=peer: A + A.T)
    for kind, text, formats, inputs, peer in (
        ("vectors", "y(i) = a * x(i)", {"y": "d", "x": "d"}, {"a": 2.0, "x": x}, lambda: 2.0 * x),
        ("vectors", "y = z(i) * x(i)", {"z": "d", "x": "d"}, {"z": x, "x": x}, lambda: x @ x),
        (
            "CSR, dd",
            "X(i,j) = A(i,j) * P(i,k) * Q(j,k)",
            {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"},
            {"A": narrow, "P": dense, "Q": dense},
            lambda: narrow * (dense @ dense.T),
        ),
        ("CSR from COO", MATVEC, {"y": "d", "A": "CSR", "x": "d"}, {"A": listed, "x": x}, None),
    ):
        _call(table, kind, text, formats, inputs, peer)


MATVEC, PRODUCT = "y(i) = A(i,j) * x(j)", "C(i,j) = A(i,k) * B(k,j)"
SUM, TURNED = "C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,j) + A(j,i)"


def _call(
    table: Table,
    kind: str,
    text: str,
    formats: dict[str, str],
    inputs: dict[str, Any],
    peer: Callable[[], object] | None,
) -> None:
    """The ways to call a program, beside scipy or numpy if they have it."""
    program = custard.compile(text, formats, target="c")
    bound = program.bind(inputs)
    (name, new), *_ = inputs.items()
    ways = {
        "scipy or numpy": peer,
        "bound.run": bound.run,
        "bound.run with a new input": lambda: bound.run(**{name: new}),
        "program.run": lambda: program.run(inputs),
    }
    known = {way: call for way, call in ways.items() if call is not None}
    found = dict(zip(known, alternating(*known.values(), times=100), strict=True))
    for way, seconds in found.items():
        ratio = seconds / found["scipy or numpy"] if peer else 1.0
        table.add_row(
            f"{kind}: {text}, {way}", f"{1e6 * seconds:.1f} us", f"{ratio:.1f}" if peer else ""
        )
    more = found["program.run"] - found["bound.run"]
    table.add_row(f"{kind}: {text}, program.run more than bound.run", f"{1e6 * more:.1f} us", "")


def large(table: Table) -> None:
    """Products of dense arrays, of a large one with a vector, and a sampled product."""
    random = np.random.default_rng(2)
    formats = dict.fromkeys("ABC", "dd")
    program = custard.compile(PRODUCT, formats, target="c")
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
    small(table)
    large(table)
    conversions(table)
    Console().print(table)


if __name__ == "__main__":
    main()
