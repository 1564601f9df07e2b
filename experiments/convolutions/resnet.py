"""A layer of ResNet: in C beside im2col and dense BLAS, and on SAM."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import custard
from experiments import figures
from experiments.convolutions.timing import random_array, timed, worked
from experiments.figures import Claim
from sam.tensor import Tensor

LAYER = "Y(o,p,q) = X(c,p+r,q+s) * F(o,c,r,s)"


@dataclass(frozen=True)
class Layer:
    """A layer of ResNet, 56 x 56 x 64 to 64 with filters of 3 x 3.

    ``ours``     seconds in C, or on the compiled engine
    ``library``  those of im2col and BLAS
    """

    density: float
    ours: float
    right: bool
    library: float = 0.0
    cycles: int = 0
    useful: int = 0


def _layer(
    quick: bool, activations: float, weights: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The padded input and the filters of a layer of such densities, and windows of the input."""
    rng = np.random.default_rng(5)
    channels, size = (4, 8) if quick else (64, 56)
    x = np.pad(random_array(rng, (channels, size, size), activations), ((0, 0), (1, 1), (1, 1)))
    f = random_array(rng, (channels, channels, 3, 3), weights)
    return x, f, np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))


def in_c(quick: bool) -> list[Layer]:
    """The layer with dense activations and pruned filters, beside im2col with dense BLAS."""
    found = []
    for density in (0.05,) if quick else (0.3, 0.1, 0.05, 0.02):
        x, f, windows = _layer(quick, 1, density)

        def im2col(f: np.ndarray = f, windows: np.ndarray = windows) -> np.ndarray:
            columns = windows.transpose(0, 3, 4, 1, 2).reshape(f[0].size, -1)
            return (f.reshape(len(f), -1) @ columns).reshape(len(f), *windows.shape[1:3])

        program = custard.compile(LAYER, {"X": "ddd", "F": "ssss", "Y": "ddd"}, (), "c")
        bound = program.bind({"X": x, "F": Tensor.of(f).convert("ssss")})
        right = np.allclose(bound.run().to_numpy(), im2col())
        ours, library = timed(lambda bound=bound: worked(bound.run), lambda: worked(im2col))
        found.append(Layer(density, ours, right, library))
    return found


def on_sam(quick: bool) -> list[Layer]:
    """The layer with activations of 40 % and filters of 10 %, on the ideal machine."""
    x, f, windows = _layer(quick, 0.4, 0.1)
    program = custard.compile(LAYER, {"X": "sss", "F": "ssss", "Y": "ddd"}, "reorder(o,c,r,s,p,q)")
    begin = time.perf_counter()
    run = program.simulate({"X": x, "F": f}, config="ideal")
    took = time.perf_counter() - begin
    due = np.einsum("cpqrs,ocrs->opq", windows, f, optimize=True)
    useful = int(np.einsum("cpqrs,ocrs->", (windows != 0) * 1.0, (f != 0) * 1.0, optimize=True))
    right = np.allclose(run.output.to_numpy(), due)
    return [Layer(0.1, took, right, cycles=run.cycles, useful=useful)]


def claims_in_c(layers: Sequence[Layer]) -> list[Claim]:
    """Claims on a layer of ResNet in C. Above 5 % of the weights, dense may well be faster."""
    return [
        Claim(
            f"A layer of ResNet with {one.density:.0%} of its weights is faster than dense.",
            f"{one.library / one.ours:.1f} times as fast as im2col with dense BLAS",
            "yes" if one.ours < one.library else "in part" if one.density > 0.05 else "no",
        )
        for one in layers
    ]


def claims_on_sam(layers: Sequence[Layer]) -> list[Claim]:
    """Claims on a layer of ResNet on SAM."""
    return [
        Claim(
            "A layer of ResNet can be simulated: 40 % of the activations, 10 % of the weights.",
            f"{one.cycles:,} cycles in {one.ours:.2g} s, {one.cycles / max(1, one.useful):.2f} "
            "for each useful multiplication",
            figures.holds(one.ours < 60),
        )
        for one in layers
    ]
