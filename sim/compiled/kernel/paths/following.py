"""Following: after a firing that took from one input alone, the next firing checks that input only.

The heads of all other inputs have not changed: they hold data that was visible before.
"""

from __future__ import annotations

from sim.compiled.kernel.path import Further, KernelParts, Path
from sim.compiled.kernel.plain import BlockKernel
from sim.compiled.residual import Leave


class Following(Path):
    """Applies if firings for data may take from one of two groups of inputs alone."""

    name = "following"
    needs = frozenset({"data"})

    def applies(self, kernel: BlockKernel) -> bool:
        return bool(kernel.body.following)

    def write(self, kernel: BlockKernel) -> KernelParts:
        return KernelParts(
            further=[
                Further(
                    f"    again{leader}:;\n{kernel.begin(lines, leader)}{kernel.reset()}\n",
                    lines,
                    leader,
                )
                for leader, lines in kernel.body.following.items()
            ]
        )

    def after(self, kernel: BlockKernel, line: Leave, leader: int | None) -> list[str]:
        return [f"if ({alone(kernel, line, one)}) goto again{one};" for one in line.again]


def alone(kernel: BlockKernel, line: Leave, leader: int) -> str:
    """A test whether a firing has taken from no inputs but those of a leader."""
    others = {kernel.body.taken[n] for n in line.takes} - {leader}
    return " && ".join(f"!take{other}" for other in sorted(others)) or "1"
