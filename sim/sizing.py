"""The smallest queues with which a run loses no cycle, or few.

With unbounded queues a run takes its fewest cycles, and the peak of each queue is a depth that
loses none of them. From there, depths go down. If memory is ideal and nothing skips, a deeper queue
never costs a cycle. So a depth that is too small while all other queues are deeper stays too small
when they shrink, and a search for each queue by itself gives a lower bound:

1. One depth for all: the smallest power of two that, as a cap of all queues, loses nothing.
2. For each queue, the smallest depth while the others stay as they are.
3. As many queues as possible take this depth together. It is a lower bound, so they are done. The
other queues begin again with 2.
4. At last each queue is lowered by one, to check that this loses cycles.

All depths of a step are tried at one go (``sim.simulate_many``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from sam.blocks import KINDS
from sam.graph import Graph
from sam.support.errors import UserError
from sam.validate import validate
from sim.config.hardware import Config, load
from sim.many import Outcome, outcomes_of
from sim.simulation import require_engine, require_graph
from sim.stats import Run
from sim.tiling import with_tiles

_AT_ONCE = 64

Depths = dict[str, int]
"""Depths by queue, as in ``scan_B_i.crd -> repeat_C_i.in_crd``."""


@dataclass(frozen=True)
class Sizing:
    """The depths of all queues, and the cycles with them.

    ``depths``     by queue
    ``peaks``      by queue: the most tokens that it holds if all are unbounded
    ``fewest``     the cycles if all are unbounded
    ``cycles``     the cycles with these depths
    ``config``     the machine with these depths, which ``load`` reads
    """

    depths: Mapping[str, int]
    peaks: Mapping[str, int]
    fewest: int
    cycles: int
    config: Mapping[str, Any]

    @property
    def words(self) -> int:
        """The words of all queues."""
        return sum(self.depths.values())

    @property
    def unbounded_words(self) -> int:
        """The words that unbounded queues hold at most, each by itself."""
        return sum(self.peaks.values())


def size_queues(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    config: str | Path | Mapping[str, Any] | Config | None = None,
    overrides: Mapping[str, Any] | None = None,
    slack: float = 0.0,
    engine: str = "auto",
    tried: Callable[[int], None] | None = None,
) -> Sizing:
    """The smallest depth of every queue of a graph on its inputs.

    The cycles are at most 1 + ``slack`` times those of unbounded queues, and no queue can be one
    place shorter without more. ``tried`` is called with the number of machines tried so far. The
    other arguments are those of ``sim.simulate``. Raises UserError.
    """
    require_engine(engine)
    require_graph(graph, inputs)
    if not isinstance(slack, Real) or not slack >= 0:
        raise UserError(
            f"the slack is {slack!r}, not a number of 0 or more", hint="as in slack=0.01"
        )
    machine = _unbounded(load(config, overrides))
    search = _DepthSearch(graph, {} if inputs is None else inputs, machine, engine, tried)
    depths = search.smallest(slack)
    cycles = search.cycles_of(depths)
    sized = load(search.data(depths)).model_dump(
        mode="json", exclude_defaults=True, exclude_none=True
    )
    told = {
        "name": f"{machine.name}-sized",
        "description": f"the smallest queues for {graph.title or 'a graph'}: {cycles} cycles",
    }
    return Sizing(depths, search.peaks, search.fewest, cycles, {**sized, **told})


def _unbounded(config: Config) -> Config:
    """A config without depths."""
    data = config.resolved()
    queues = data["queues"]
    queues["depth"] = "unbounded"
    for section in ("kinds", "readers", "names"):
        for settings in queues[section].values():
            settings.pop("depth", None)
    data.pop("changed", None)  # the config gets a name of its own
    return load(data)


class _DepthSearch:
    """The search for depths of one graph."""

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Any],
        config: Config,
        engine: str,
        tried: Callable[[int], None] | None,
    ) -> None:
        self.graph, self.inputs, self.config = graph, inputs, config
        self.engine, self.tried, self.count = engine, tried, 0
        [outcome] = self._outcomes([config])
        if not isinstance(outcome, Run):
            raise outcome
        self.fewest = outcome.cycles
        bounded = _bounded(with_tiles(graph, config))
        self.peaks = {edge: max(1, outcome.streams[edge].peak) for edge in bounded}
        self.limit = self.fewest

    def smallest(self, slack: float) -> Depths:
        """Depths none of which can be lowered."""
        self.limit = int(self.fewest * (1 + slack))
        depths = self._capped()
        lowest = dict.fromkeys(depths, 1)
        while True:
            while any(lowest[queue] < depths[queue] for queue in depths):
                open_ones = [queue for queue in depths if lowest[queue] < depths[queue]]
                lowest |= self._alone(depths, lowest, open_ones)
                depths = self._together(depths, lowest, open_ones)
            wide = [queue for queue in depths if depths[queue] > 1]
            lowered = [{**depths, queue: depths[queue] - 1} for queue in wide]
            able = [q for q, holds in zip(wide, self._hold(lowered), strict=True) if holds]
            if not able:
                return depths
            # If memory is shared, or blocks skip, a shorter queue may even save cycles.
            depths = {**depths, able[0]: depths[able[0]] - 1}
            lowest = dict.fromkeys(depths, 1)

    def _capped(self) -> Depths:
        """The peaks, capped by a power of two as small as may be."""
        caps = [1]
        while caps[-1] < max(self.peaks.values(), default=1):
            caps.append(2 * caps[-1])
        tried = [{q: min(peak, cap) for q, peak in self.peaks.items()} for cap in caps]
        held = [depths for depths, holds in zip(tried, self._hold(tried), strict=True) if holds]
        return held[0] if held else dict(self.peaks)

    def _alone(self, depths: Depths, lowest: Depths, queues: Sequence[str]) -> Depths:
        """The smallest depth of each of some queues while all others stay as they are."""
        low = {queue: lowest[queue] - 1 for queue in queues}
        high = {queue: depths[queue] for queue in queues}
        while left := [queue for queue in queues if high[queue] - low[queue] > 1]:
            each = max(1, _AT_ONCE // len(left))
            tried = [
                (queue, depth)
                for queue in left
                for depth in _between(low[queue], high[queue], each)
            ]
            held = self._hold([{**depths, queue: depth} for queue, depth in tried])
            for (queue, depth), holds in zip(tried, held, strict=True):
                if holds:
                    high[queue] = min(high[queue], depth)
                else:
                    low[queue] = max(low[queue], depth)
        return high

    def _together(self, depths: Depths, lowest: Depths, queues: Sequence[str]) -> Depths:
        """The depths with as many queues lowered as possible, those that save most first."""
        order = sorted(queues, key=lambda queue: lowest[queue] - depths[queue])
        order = [queue for queue in order if lowest[queue] < depths[queue]]
        tried = [
            {**depths, **{queue: lowest[queue] for queue in order[: n + 1]}}
            for n in range(len(order))
        ]
        held = [one for one, holds in zip(tried, self._hold(tried), strict=True) if holds]
        return held[-1] if held else depths

    def _hold(self, tried: Sequence[Depths]) -> list[bool]:
        """Whether each of some depths loses no more cycles than allowed."""
        outcomes = self._outcomes([load(self.data(depths)) for depths in tried])
        return [isinstance(one, Run) and one.cycles <= self.limit for one in outcomes]

    def cycles_of(self, depths: Depths) -> int:
        """The cycles with some depths that do not deadlock."""
        [outcome] = self._outcomes([load(self.data(depths))])
        assert isinstance(outcome, Run)
        return outcome.cycles

    def data(self, depths: Depths) -> dict[str, Any]:
        """The config with some depths."""
        data = self.config.resolved()
        names = data["queues"]["names"]
        for queue, depth in depths.items():
            names[queue] = {**names.get(queue, {}), "depth": depth}
        return data

    def _outcomes(self, configs: Sequence[Config]) -> list[Outcome]:
        none = [None] * len(configs)
        found = outcomes_of(self.graph, self.inputs, configs, self.engine, (), none, tells=False)
        self.count += len(configs)
        if self.tried is not None:
            self.tried(self.count)
        return found


def _between(low: int, high: int, count: int) -> list[int]:
    """At most ``count`` numbers between two others, evenly spread."""
    inside = high - low - 1
    count = min(count, inside)
    return sorted({low + (n + 1) * (inside + 1) // (count + 1) for n in range(count)})


def _bounded(graph: Graph) -> list[str]:
    """The queues that have a depth: not those of sources, wires, or freed positions."""
    kinds = {node.name: KINDS[node.kind] for node in graph.nodes}
    return [
        str(edge)
        for edge, stream in validate(graph).items()
        if not (kinds[edge.source.node].source or stream.wire or stream.feedback)
    ]
