"""Convolutions in C over density, format and loop order, beside dense C and scipy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage, signal

import custard
from custard.cli.sweeps.pictures import COLOURS, MARKS
from experiments import figures
from experiments.convolutions.timing import of_kernel, random_array, timed, worked
from experiments.figures import Claim
from sam.tensor import Tensor

DENSITIES = (0.3, 0.2, 0.1, 0.01, 0.001, 0.0001)


@dataclass(frozen=True)
class Kernel:
    """A convolution in C.

    ``axis``    the tensor whose density is on the axis: the input, or the filter
    ``orders``  the loop orders to compare; an empty one is the compiler's
    ``levels``  the formats of that tensor
    ``due``     dense numpy or scipy: its name, and its function of the input and the filter
    """

    name: str
    expression: str
    shape: tuple[int, ...]
    small: tuple[int, ...]
    filter: tuple[int, ...]
    orders: tuple[str, ...]
    levels: tuple[str, ...]
    library: str
    due: Callable[[np.ndarray, np.ndarray], np.ndarray]
    axis: str = "X"
    dims: Mapping[str, int] = field(default_factory=dict)


def _pooled(x: np.ndarray, _: np.ndarray) -> np.ndarray:
    """The sums of blocks of 2 by 2."""
    n, m = (extent // 2 * 2 for extent in x.shape)
    return x[:n:2, :m:2] + x[1:n:2, :m:2] + x[:n:2, 1:m:2] + x[1:n:2, 1:m:2]


def _valid(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The correlation, as ndimage computes it, where the filter lies inside."""
    whole = ndimage.correlate(x, f, mode="constant")
    pairs = zip(x.shape, f.shape, strict=True)
    return whole[tuple(slice(k // 2, n - (k - 1) // 2) for n, k in pairs)]


KERNELS = (
    Kernel(
        "1-D, 3",
        "Y(i) = X(i+k) * F(k)",
        (999_999,),
        (20_000,),
        (3,),
        ("reorder(i,k)", "reorder(k,i)"),
        ("s", "b", "h"),
        "scipy.ndimage",
        _valid,
    ),
    Kernel(
        "2-D, 3 x 3",
        "Y(i,j) = X(i+k,j+l) * F(k,l)",
        (999, 999),
        (100, 100),
        (3, 3),
        ("reorder(i,k,j,l)", "reorder(k,l,i,j)", "reorder(i,j,k,l)"),
        ("ss", "ds"),
        "scipy.ndimage",
        _valid,
    ),
    Kernel(
        "2-D, stride 2",
        "Y(i,j) = X(2*i+k,2*j+l) * F(k,l)",
        (999, 999),
        (99, 99),
        (3, 3),
        ("reorder(k,l,i,j)",),
        ("ss",),
        "scipy.ndimage",
        lambda x, f: _valid(x, f)[::2, ::2],
    ),
    Kernel(
        "sum pooling, 2 x 2",
        "Y(i,j) = X(2*i+k,2*j+l)",
        (1000, 1000),
        (100, 100),
        (2, 2),
        ("reorder(i,k,j,l)",),
        ("ss",),
        "numpy",
        _pooled,
        dims={"k": 2, "l": 2},
    ),
    Kernel(
        "sparse filter, 31 x 31",
        "Y(i,j) = X(i+k,j+l) * F(k,l)",
        (500, 500),
        (60, 60),
        (31, 31),
        ("",),
        ("ss",),
        "scipy.signal",
        lambda x, f: signal.fftconvolve(x, f[::-1, ::-1], "valid"),
        axis="F",
    ),
)


@dataclass(frozen=True)
class Time:
    """A measured point: seconds in C, with a dense input in C, and of the library."""

    kernel: str
    levels: str
    order: str
    density: float
    ours: float
    dense: float
    library: float
    right: bool


def measured(kernel: Kernel, quick: bool) -> list[Time]:
    """A kernel over densities, formats and loop orders."""
    rng = np.random.default_rng(1)
    shape = kernel.small if quick else kernel.shape
    found = []
    for density in DENSITIES[1:3] if quick else DENSITIES:
        x = random_array(rng, shape, density if kernel.axis == "X" else 1)
        f = random_array(rng, kernel.filter, density if kernel.axis == "F" else 1)
        due = kernel.due(x, f)
        inputs = {"X": x, "F": f} if "F(" in kernel.expression else {"X": x}
        plain = custard.compile(kernel.expression, _formats(inputs), (), "c", kernel.dims)
        dense = plain.bind(inputs)
        dense.run()
        for levels in kernel.levels[:1] if quick else kernel.levels:
            for order in kernel.orders:
                formats = {**_formats(inputs), kernel.axis: levels}
                program = custard.compile(kernel.expression, formats, order or (), "c", kernel.dims)
                stored = Tensor.of(inputs[kernel.axis]).convert(levels)
                bound = program.bind({**inputs, kernel.axis: stored})
                right = np.allclose(bound.run().to_numpy(), due)
                seconds = timed(
                    lambda bound=bound: of_kernel(bound),
                    lambda dense=dense: of_kernel(dense),
                    lambda x=x, f=f: worked(lambda: kernel.due(x, f)),
                )
                loops = ",".join(program.cin.loops)
                found.append(Time(kernel.name, levels, loops, density, *seconds, right))
    return found


def _formats(inputs: Mapping[str, np.ndarray]) -> dict[str, str]:
    """All tensors dense, the result too."""
    formats = {name: "d" * array.ndim for name, array in inputs.items()}
    return {**formats, "Y": "d" * inputs["X"].ndim}


def claims(times: Sequence[Time]) -> list[Claim]:
    """The claim of the convolution paper on density, beside our measurements."""
    best: dict[tuple[str, float], Time] = {}
    for one in times:
        key = one.kernel, one.density
        if key not in best or one.ours < best[key].ours:
            best[key] = one
    name = "2-D, 3 x 3"
    ahead = [density for (kernel, density), one in best.items()
             if kernel == name and one.ours < one.library]  # fmt: skip
    densest = max(ahead, default=0.0)
    return [
        Claim(
            "Sparse convolutions begin to outperform dense ones at about 80 % sparsity.",
            f"2-D: ahead of scipy.ndimage up to a density of {densest:.2%}, of those measured",
            figures.holds(densest >= 0.1),
        )
    ]


def draw(times: Sequence[Time], folder: Path) -> None:
    """A panel by kernel, a line by format and loop order."""
    names = list(dict.fromkeys(one.kernel for one in times))
    with figures.picture(folder, "convolution_c", 2.6 * len(names), 3.2) as figure:
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            own = [one for one in times if one.kernel == name]
            lines = list(dict.fromkeys((one.levels, one.order) for one in own))
            for line, colour, mark in zip(lines, COLOURS, MARKS, strict=False):
                points = [one for one in own if (one.levels, one.order) == line]
                x = [one.density for one in points]
                style: dict[str, Any] = {"color": colour, "marker": mark, "ms": 3, "lw": 1.2}
                axes.plot(x, [one.ours * 1e3 for one in points], **style, label=" ".join(line))
            first = [one for one in own if (one.levels, one.order) == lines[0]]
            for part, look in (("dense", "--"), ("library", ":")):
                y = [getattr(one, part) * 1e3 for one in first]
                axes.plot([one.density for one in first], y, look, color="0.4",
                          label="dense, C" if part == "dense" else "library")  # fmt: skip
            axes.set(xscale="log", yscale="log", xlabel="density")
            axes.set_title(name, fontsize="medium")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high * (high / low) ** 0.5)  # room for the legend
            axes.legend(fontsize="x-small", frameon=False, loc="upper left", ncols=2)
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("ms")
