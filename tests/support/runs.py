"""Small runs for tests of what is told of them."""

from functools import partial
from typing import Any

import numpy as np

import custard
from sim import Run
from sim.attribution.log import Awaited, Requests, Waits, columns

MEMORY = {"memory.levels": [{"name": "DRAM", "latency_cycles": 9, "bandwidth_gb_per_s": 4}]}


def spmv(overrides: Any = None, **more: Any) -> Run:
    """A matrix with 16 values in 6 rows times a vector."""
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "ss", "x": "s", "y": "s"})
    matrix = np.zeros((6, 8))
    matrix.flat[::3] = 2.5
    return program.simulate({"A": matrix, "x": np.arange(1.0, 9)}, overrides=overrides, **more)


def copied(n: int = 20, overrides: Any = None, **more: Any) -> Run:
    """``x(i) = b(i)``: scan, array and writers, of n values."""
    program = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"})
    return program.simulate({"b": np.ones(n)}, overrides=overrides, **more)


def in_two(**more: Any) -> Run:
    """A product in two graphs, one after the other."""
    program = custard.compile(
        "y(i) = A(i,j) * x(j)",
        {"A": "ss", "x": "s", "w": "ds"},
        ["precompute(A(i,j) * x(j), j, jw, w)"],
    )
    return program.simulate({"A": np.eye(3), "x": np.ones(3)}, **more)


def waits(
    entries: list[tuple[int, int, int]],
    awaited: list[Awaited],
    fired: int,
    requests: Requests | None = None,
) -> Waits:
    """The waits of a block: by firing that waited, from and up to which cycle, and for what."""
    return Waits(partial(columns, entries), requests, awaited, 1, fired)


def sparse_product(n: int = 6, overrides: Any = None, **more: Any) -> Run:
    """A product of two sparse matrices, n by n."""
    program = custard.compile(
        "X(i,j) = B(i,k) * C(k,j)", {"B": "ss", "C": "ss", "X": "ss"}, ["reorder(i,k,j)"]
    )
    values = np.random.default_rng(1).random((2, n, n)).round(2) * (
        np.random.default_rng(2).random((2, n, n)) < 0.4
    )
    return program.simulate({"B": values[0], "C": values[1]}, overrides=overrides, **more)
