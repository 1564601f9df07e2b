"""The statistics of a run whose firings were timed: of its blocks and its streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sim.machine import HANDOVER
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
    names = [port.name for port in one.part.inputs]
    out_names = [port.name for port in one.part.outputs]
    starved = dict(zip(names, waits, strict=False))
    blocked = dict(zip(out_names, waits[len(names) :], strict=False))
    return BlockStats(
        kind=one.part.node.kind,
        fired=fired,
        busy=fired + max(0, fired - 1) * (interval - 1),
        starved={name: count for name, count in starved.items() if count},
        blocked={name: count for name, count in blocked.items() if count},
        memory=memory,
        done=cycles - last - 1,
        tokens={name: one.tokens[n] for n, name in enumerate(out_names) if name != HANDOVER},
    )


def stream_stats(firings: Firings, peak_of: Callable[[int], int]) -> Mapping[str, StreamStats]:
    """The tokens that went through each edge, and its peak, which the number of a channel gives."""
    tokens = {
        channel.number: one.tokens[n]
        for one in firings.parts
        for n, output in enumerate(one.part.outputs)
        for channel in output.channels
    }
    return {
        str(channel.edge): StreamStats(tokens[channel.number], peak_of(channel.number))
        for channel in firings.machine.channels
        if channel.edge in firings.machine.bound.streams
    }
