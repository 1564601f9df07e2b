"""Convolutions in C as extents grow, and beside a kernel that locates each element."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

import custard
from experiments import figures
from experiments.convolutions.timing import of_kernel, timed, worked
from experiments.figures import Claim
from sam.support import c_compiler
from sam.tensor import Tensor

_ONE = ("Y(i) = X(i+k) * F(k)", {"X": "s", "F": "d", "Y": "s"}, (10**6,), 100, (3,))
_TWO = ("Y(i,j) = X(i+k,j+l) * F(k,l)", {"X": "ss", "F": "dd", "Y": "ss"}, (1000, 1000), 10, (3, 3))
GROWN = {
    "1-D, i,k": (*_ONE, "reorder(i,k)"),
    "1-D, k,i": (*_ONE, "reorder(k,i)"),
    "2-D, i,k,j,l": (*_TWO, "reorder(i,k,j,l)"),
    "2-D, i,j,k,l": (*_TWO, "reorder(i,j,k,l)"),
    "2-D, k,l,i,j": (*_TWO, "reorder(k,l,i,j)"),
}
"""Expression, formats, shape, by how much each extent grows, the filter's shape, and the loops."""

NAIVE = """
#include <stdint.h>
void naive(int64_t n, int64_t width, int64_t entries, const int64_t *restrict at,
        const double *restrict x, const double *restrict f, double *restrict y)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k < width; k++) {
            int64_t low = 0, high = entries;
            while (low < high) {
                const int64_t middle = low + (high - low) / 2;
                if (at[middle] < i + k)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low < entries && at[low] == i + k)
                sum += x[low] * f[k];
        }
        y[i] = sum;
    }
}
"""
"""Figure 2 of the convolution paper, on the left: each element is located."""


def grown(name: str) -> float:
    """The ratio of a kernel's times with a hundred times the places and as many entries."""
    rng = np.random.default_rng(2)
    expression, formats, shape, times, filter_shape, order = GROWN[name]
    program = custard.compile(expression, formats, order, "c")
    f, entries = rng.random(filter_shape), 1000
    bounds = []
    for extents in (shape, tuple(extent * times for extent in shape)):
        x = _scattered(rng, extents, entries, formats["X"])
        bounds.append(program.bind({"X": x, "F": f}))
        bounds[-1].run()
    small, large = timed(*(lambda one=one: of_kernel(one) for one in bounds))
    return large / small


def beside_located(quick: bool) -> float:
    """The ratio of the 1-D kernel's times with loops over all places, which are located."""
    rng = np.random.default_rng(3)
    n = 20_000 if quick else 1_000_000
    x = _scattered(rng, (n,), n // 1000, "s")
    f = rng.random(3)
    program = custard.compile("Y(i) = X(i+k) * F(k)", {"X": "s", "F": "d", "Y": "s"}, (), "c")
    bound = program.bind({"X": x, "F": f})
    (coordinates,), values = x.to_coo()
    at, y = np.asarray(coordinates, np.int64), np.zeros(n - 2)
    (library,) = c_compiler.build([NAIVE])
    sizes = (ctypes.c_int64(number) for number in (len(y), len(f), len(at)))
    arrays = (ctypes.c_void_p(one.ctypes.data) for one in (at, values, f, y))
    naive = partial(library.naive, *sizes, *arrays)
    naive()
    np.testing.assert_allclose(bound.run().to_numpy(), y)
    ours, located = timed(lambda: of_kernel(bound), lambda: worked(naive))
    return located / ours


def _scattered(rng: np.random.Generator, shape: Sequence[int], entries: int, levels: str) -> Tensor:
    """So many entries at random places."""
    coordinates = np.array([rng.integers(0, extent, entries) for extent in shape])
    coordinates = np.unique(coordinates, axis=1)
    values = rng.random(coordinates.shape[1])
    return Tensor.from_coo(coordinates, values, tuple(shape), levels)


def claims(growth: Mapping[str, float], located: float) -> list[Claim]:
    """The claims of the convolution paper on time, beside our measurements."""
    return [
        Claim(
            "The time complexity is bounded by the stored elements and not by the shape.",
            "100 times the places at equal entries: "
            + ", ".join(f"{name} {ratio:.2f} times as long" for name, ratio in growth.items()),
            figures.holds(max(growth.values()) < 1.3),
        ),
        Claim(
            "A naive kernel locates each element in loops over all places.",
            f"1-D at 0.1 %: {located:.0f} times as long",
            figures.holds(located > 5),
        ),
    ]
