"""Lanes that have different amounts of work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sam.lanes import copies
from sim.stats import Run, graphs_of

_UNEVEN = 1.25
_HALF = ".emitter"  # the end of the name of a block's second half


@dataclass(frozen=True)
class Imbalance:
    """Lanes, one of which has more work than the mean.

    ``block``   the block of the lanes that has the most work, in the lane that has the most
    ``lanes``   how many there are
    ``most``, ``mean``  the cycles in which that block is busy, and their mean over the lanes
    """

    block: str
    lanes: int
    most: int
    mean: float

    @property
    def cycles(self) -> int:
        """The cycles by which the lane with the most work exceeds the mean."""
        return round(self.most - self.mean)

    @property
    def text(self) -> str:
        times = self.most / self.mean
        return (
            f"the {self.lanes} lanes are uneven: {self.block} is busy for {self.most:,} cycles, "
            f"{times:.1f} times the mean of its lanes"
        )


def folded(blocks: Iterable[str], alike: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """The names of blocks, and of their halves; copies in lanes are listed under the first copy.

    ``alike`` has the blocks that are copies of each other, as ``sam.lanes.copies`` tells.
    """
    first = {name: copied[0] for copied in alike for name in copied}
    found: dict[str, list[str]] = {}
    for name in blocks:
        block = name.removesuffix(_HALF)
        found.setdefault(first.get(block, block) + name[len(block) :], []).append(name)
    return found


def imbalance(run: Run) -> Imbalance | None:
    """The most uneven work among lanes that is worth telling; None if there is none."""
    found: Imbalance | None = None
    for one, before in graphs_of(run):
        for names in folded(one.blocks, copies(one.graph)).values():
            if len(names) < 2:
                continue
            busy = {name: one.blocks[name].busy for name in names}
            worst = max(busy, key=lambda name: busy[name])
            mean = sum(busy.values()) / len(busy)
            uneven = Imbalance(f"{before}{worst}", len(names), busy[worst], mean)
            if uneven.most < _UNEVEN * mean:
                continue
            if found is None or uneven.cycles > found.cycles:
                found = uneven
    return found
