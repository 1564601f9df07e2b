"""The statistics of a run whose firings were timed: of its blocks and its streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sim.retiming.firings import Firings, Traced
from sim.stats import BlockStats, StreamStats


def block_stats(
    one: Traced,
    fired: int,
    interval: int,
    last: int,
    waits: Sequence[int],
    memory: int,
    cycles: int,
) -> BlockStats:
    """Where the cycles of a part went, whose ``last`` firing was in some cycle.

    ``waits``   by port, inputs first
    ``memory``  cycles that it waited for memory
    """
    inputs, outputs = one.part.inputs, one.part.outputs
    starved, blocked = waits[: len(inputs)], waits[len(inputs) :]
    return BlockStats(
        kind=one.part.node.kind,
        fired=fired,
        busy=fired + max(0, fired - 1) * (interval - 1),
        starved={n.name: count for n, count in zip(inputs, starved, strict=False) if count},
        blocked={n.name: count for n, count in zip(outputs, blocked, strict=False) if count},
        memory=memory,
        done=cycles - last - 1,
        tokens=one.given,
    )


def stream_stats(firings: Firings, peak_of: Callable[[int], int]) -> Mapping[str, StreamStats]:
    """The tokens that went through each edge, and its peak, which the number of a channel gives."""
    return {edge: StreamStats(tokens, peak_of(n)) for edge, n, tokens in firings.streams}
