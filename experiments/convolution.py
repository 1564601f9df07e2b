"""Sparse convolutions: in C as in Section 6.3 of the convolution paper, and on SAM.

    python experiments/convolution.py [--quick] [--out FOLDER]

In C: 1-D and 2-D convolutions, strides, pooling and a sparse filter, by format, loop order and
density, beside dense C and scipy (``scipy.ndimage``, ``scipy.signal``); the loops beside a naive
kernel; the time as extents grow a hundredfold while the entries stay; and a layer of ResNet with a
pruned filter beside im2col and dense BLAS. On SAM: a layer with sparse weights and activations as
input-, output- and filter-stationary loops, its cycles beside the useful multiplications; and the
layer of ResNet on the compiled engine. Times are those of the processor, the medians of
alternating runs, so other work on the machine does not count. ``--quick`` has small inputs, few
densities and formats; it leaves out claims that such small inputs cannot show. Writes
``convolution.csv``, ``convolution_c.png``, ``convolution_sam.png`` and PDFs to ``out``; exits with
1 where a result is wrong or a claim does not hold.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import ndimage, signal

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from custard.cli.sweeps.pictures import COLOURS, MARKS
from custard.to_c.call import Bound
from experiments import figures
from experiments.figures import Claim
from sam.support import c_compiler
from sam.tensor import Tensor

DENSITIES = (0.3, 0.2, 0.1, 0.01, 0.001, 0.0001)
ROUNDS = 5


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


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all points; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    times: list[Time] = []
    growth: dict[str, float] = {}
    located = 0.0
    pruned: list[Layer] = []
    if c_compiler.available():
        times = [one for kernel in KERNELS for one in measured(kernel, options.quick)]
        growth = {name: grown(name, options.quick) for name in GROWN}
        located = beside_located(options.quick)
        pruned = layer_in_c(options.quick)
    else:
        print("The times in C are left out: there is no C compiler")
    layers = simulated(options.quick)
    resnet = layer_on_sam(options.quick)
    figures.write_csv(
        options.out / "convolution.csv",
        (
            "kernel",
            "levels",
            "order",
            "density",
            "seconds or cycles",
            "dense C",
            "library or useful",
        ),
        [
            *((t.kernel, t.levels, t.order, t.density, t.ours, t.dense, t.library) for t in times),
            *(("ResNet layer", "ssss", "", t.density, t.ours, None, t.library) for t in pruned),
            *((f"SAM, {s.flow}", "sss", "", s.density, s.cycles, None, s.useful) for s in layers),
            *(
                ("SAM, ResNet layer", "sss", "", s.density, s.cycles, None, s.useful)
                for s in resnet
            ),
        ],
    )
    if times:
        draw_times(times, options.out)
    draw_cycles(layers, options.out)
    wrong = [one for one in (*times, *layers, *pruned, *resnet) if not one.right]
    for one in wrong:
        print(f"WRONG VALUES: {one}")
    found = []
    if times and not options.quick:
        found += [*claims_in_c(times, growth, located), *claims_of_layers(pruned)]
    found += claims_of_simulation(resnet)
    return figures.tell([*found, *claims_on_sam(layers)]) or bool(wrong)


def random_array(rng: np.random.Generator, shape: Sequence[int], density: float) -> np.ndarray:
    """Uniformly random values in uniformly random places."""
    return rng.random(shape) * (rng.random(shape) < density)


def timed(*runs: Callable[[], float]) -> list[float]:
    """The median of the seconds that each function returns, in alternating runs."""
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for of_run, run in zip(found, runs, strict=True):
            of_run.append(run())
    return [median(one) for one in found]


def worked(run: Callable[[], Any]) -> float:
    """The time that the processor works on a call, with all its threads."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def of_kernel(bound: Bound) -> float:
    """The time of a kernel; of a short one, beside which a call is long, the least of 20."""
    seconds = worked(bound.seconds)
    return seconds if seconds > 1e-3 else min(bound.seconds() for _ in range(20))


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


def _scattered(rng: np.random.Generator, shape: Sequence[int], entries: int, levels: str) -> Tensor:
    """So many entries at random places."""
    coordinates = np.array([rng.integers(0, extent, entries) for extent in shape])
    coordinates = np.unique(coordinates, axis=1)
    values = rng.random(coordinates.shape[1])
    return Tensor.from_coo(coordinates, values, tuple(shape), levels)


def grown(name: str, quick: bool) -> float:
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


def claims_in_c(times: Sequence[Time], growth: Mapping[str, float], located: float) -> list[Claim]:
    """The claims of the convolution paper, beside our measurements."""
    best: dict[tuple[str, float], Time] = {}
    for one in times:
        key = one.kernel, one.density
        if key not in best or one.ours < best[key].ours:
            best[key] = one
    name = "2-D, 3 x 3"
    ahead = [density for (kernel, density), one in best.items()
             if kernel == name and one.ours < one.library]  # fmt: skip
    densest = max(ahead, default=0.0)
    found = [
        Claim(
            "Sparse convolutions begin to outperform dense ones at about 80 % sparsity.",
            f"2-D: ahead of scipy.ndimage up to a density of {densest:.2%}, of those measured",
            figures.holds(densest >= 0.1),
        ),
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
    return found


@dataclass(frozen=True)
class Flow:
    """A loop order of a layer on SAM."""

    name: str
    expression: str
    order: str


FLOWS = (
    Flow("output-stationary", "Y(o,p,q) = X(c,p+r,q+s) * F(o,c,r,s)", "o,p,q,c,r,s"),
    Flow("input-stationary", "Y(o,a-r,b-s) = X(c,a,b) * F(o,c,r,s)", "c,a,b,o,r,s,Y1,Y2"),
    Flow("filter-stationary", "Y(o,p,q) = X(c,p+r,q+s) * F(o,c,r,s)", "o,c,r,s,p,q"),
)


@dataclass(frozen=True)
class Cycles:
    """A layer on the ideal machine."""

    flow: str
    density: float
    cycles: int
    useful: int
    right: bool


def simulated(quick: bool) -> list[Cycles]:
    """A layer with weights and activations of one density, in each loop order."""
    channels, size, side = (2, 6, 3) if quick else (8, 14, 3)
    rng = np.random.default_rng(4)
    found = []
    for density in (0.5, 0.1) if quick else (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05):
        x = random_array(rng, (channels, size, size), density)
        f = random_array(rng, (channels, channels, side, side), density)
        windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), axis=(1, 2))
        due = np.einsum("cpqrs,ocrs->opq", windows, f)
        useful = int(np.einsum("cpqrs,ocrs->", (windows != 0) * 1.0, (f != 0) * 1.0))
        for flow in FLOWS:
            dims = {"Y1": due.shape[1], "Y2": due.shape[2]} if "a-r" in flow.expression else {}
            program = custard.compile(
                flow.expression,
                {"X": "sss", "F": "ssss", "Y": "ddd"},
                f"reorder({flow.order})",
                dims=dims,
            )
            run = program.simulate({"X": x, "F": f}, config="ideal")
            right = np.allclose(run.output.to_numpy(), due)
            found.append(Cycles(flow.name, density, run.cycles, useful, right))
    return found


def claims_on_sam(layers: Sequence[Cycles]) -> list[Claim]:
    """Claims on the loop orders of a layer on SAM, for which nobody has published counts."""
    found = []
    for flow in FLOWS:
        own = [one for one in layers if one.flow == flow.name]
        ratios = [one.cycles / max(1, one.useful) for one in own]
        found.append(
            Claim(
                f"A machine with one multiplier takes a cycle for each useful multiplication "
                f"({flow.name}).",
                f"{ratios[0]:.2f} cycles for each at a density of {own[0].density:.0%}, "
                f"{ratios[-1]:.2f} at {own[-1].density:.0%}",
                "yes" if ratios[-1] < 1.5 else "in part",
            )
        )
    return found


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


def layer_in_c(quick: bool) -> list[Layer]:
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


def layer_on_sam(quick: bool) -> list[Layer]:
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


def claims_of_layers(layers: Sequence[Layer]) -> list[Claim]:
    """Claims on a layer of ResNet in C. Above 5 % of the weights, dense may well be faster."""
    return [
        Claim(
            f"A layer of ResNet with {one.density:.0%} of its weights is faster than dense.",
            f"{one.library / one.ours:.1f} times as fast as im2col with dense BLAS",
            "yes" if one.ours < one.library else "in part" if one.density > 0.05 else "no",
        )
        for one in layers
    ]


def claims_of_simulation(layers: Sequence[Layer]) -> list[Claim]:
    """Claims on a layer of ResNet on SAM."""
    return [
        Claim(
            "A layer of ResNet can be simulated: 40 % of the activations, 10 % of the weights.",
            f"{one.cycles:,} cycles in {one.ours:.0f} s, {one.cycles / max(1, one.useful):.2f} "
            "for each useful multiplication",
            figures.holds(one.ours < 60),
        )
        for one in layers
    ]


def draw_times(times: Sequence[Time], folder: Path) -> None:
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


def draw_cycles(layers: Sequence[Cycles], folder: Path) -> None:
    """Cycles over the density, and over the useful multiplications."""
    with figures.picture(folder, "convolution_sam", 7.2, 3.2) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for flow, colour, mark in zip(FLOWS, COLOURS, MARKS, strict=False):
            own = [one for one in layers if one.flow == flow.name]
            style: dict[str, Any] = {"color": colour, "marker": mark, "ms": 3, "lw": 1.2}
            cycles = [one.cycles for one in own]
            panels[0].plot([one.density for one in own], cycles, **style, label=flow.name)
            panels[1].plot([one.useful for one in own], cycles, **style)
        useful = sorted({one.useful for one in layers})
        panels[1].plot(useful, useful, "--", color="0.4", label="one for each")
        panels[0].set(xscale="log", yscale="log", xlabel="density of weights and activations",
                      ylabel="cycles")  # fmt: skip
        panels[1].set(xscale="log", xlabel="useful multiplications")
        for axes in panels:
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small", frameon=False)


if __name__ == "__main__":
    figures.leave(main)
