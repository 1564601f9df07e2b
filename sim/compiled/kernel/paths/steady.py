"""Steady state: if all firings for data leave a part of the state the same, the next relies on it.

The first such firing tests the state; each later one is a firing without those tests.
"""

from __future__ import annotations

from sim.compiled.kernel.path import Further, KernelParts, Path
from sim.compiled.kernel.plain import BlockKernel
from sim.compiled.residual import Leave


class Steady(Path):
    """Applies if a firing for data is shorter with the state known that all of them leave."""

    name = "steady"
    needs = frozenset({"data"})

    def applies(self, kernel: BlockKernel) -> bool:
        return bool(kernel.body.steady)

    def write(self, kernel: BlockKernel) -> KernelParts:
        lines = kernel.body.steady
        opening = f"    steady:;\n{kernel.begin(lines)}{kernel.reset()}\n"
        return KernelParts(further=[Further(opening, lines)])

    def after(self, kernel: BlockKernel, line: Leave, leader: int | None) -> list[str]:
        return ["goto steady;"] if line.steady else []
