"""The loop orders of a layer on SAM: cycles beside the useful multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import custard
from custard.cli.sweeps.pictures import COLOURS, MARKS
from experiments import figures
from experiments.convolutions.timing import random_array
from experiments.figures import Claim


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


def claims(layers: Sequence[Cycles]) -> list[Claim]:
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


def draw(layers: Sequence[Cycles], folder: Path) -> None:
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
