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

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import figures
from experiments.convolutions import flows, growth, kernels, resnet
from sam.support import c_compiler


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all points; returns the exit status."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    times: list[kernels.Time] = []
    ratios: dict[str, float] = {}
    located = 0.0
    pruned: list[resnet.Layer] = []
    if c_compiler.available():
        times = [
            one for kernel in kernels.KERNELS for one in kernels.measured(kernel, options.quick)
        ]
        ratios = {name: growth.grown(name) for name in growth.GROWN}
        located = growth.beside_located(options.quick)
        pruned = resnet.in_c(options.quick)
    else:
        print("The times in C are left out: there is no C compiler")
    layers = flows.simulated(options.quick)
    simulated = resnet.on_sam(options.quick)
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
                for s in simulated
            ),
        ],
    )
    if times:
        kernels.draw(times, options.out)
    flows.draw(layers, options.out)
    wrong = [one for one in (*times, *layers, *pruned, *simulated) if not one.right]
    for one in wrong:
        print(f"WRONG VALUES: {one}")
    found = []
    if times and not options.quick:
        found += kernels.claims(times)
        found += growth.claims(ratios, located)
        found += resnet.claims_in_c(pruned)
    found += resnet.claims_on_sam(simulated)
    return figures.tell([*found, *flows.claims(layers)]) or bool(wrong)


if __name__ == "__main__":
    figures.leave(main)
