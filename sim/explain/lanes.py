"""Lanes that have different amounts of work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sam.blocks import KINDS
from sim.stats import BlockStats, Run, graphs_of

_UNEVEN = 1.25


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


def folded(blocks: Mapping[str, BlockStats]) -> dict[str, list[str]]:
    """The names of blocks; the copies of a block in lanes are listed under the first copy."""
    lanes = {
        sum(port.startswith("crd") for port in block.tokens)
        for block in blocks.values()
        if block.kind in KINDS and KINDS[block.kind].deals
    }
    by_base: dict[tuple[str, str], list[str]] = {}
    for name, block in blocks.items():
        by_base.setdefault((_base(name), block.kind), []).append(name)
    found: dict[str, list[str]] = {}
    for name, block in blocks.items():
        names = by_base[_base(name), block.kind]
        if len(names) in lanes and len(names) > 1:
            found[names[0]] = names
        else:
            found[name] = [name]
    return found


def _base(name: str) -> str:
    """The name of a block without the number of its lane."""
    stem, dot, half = name.rpartition(".") if name.endswith(".emitter") else (name, "", "")
    return re.sub(r"_\d+$", "", stem) + dot + half


def imbalance(run: Run) -> Imbalance | None:
    """The most uneven work among lanes that is worth telling; None if there is none."""
    found: Imbalance | None = None
    for one, before in graphs_of(run):
        for names in folded(one.blocks).values():
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
