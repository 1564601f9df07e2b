"""What the firings of a code move, for the C that times them, and how fast tokens pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from sam.graph import Edge
from sim.binding import BoundGraph
from sim.config.hardware import Config
from sim.machine import Machine, Part, passage
from sim.retiming.codes import FiringCode
from sim.retiming.firing_kernel import Untraceable

MOST_WAITS = 256


def passages_of(configs: Sequence[Config], machine: Machine) -> list[list[tuple[int | None, int]]]:
    """By config and channel, the depth and the latency; channels of a kind share them if the config
    names none."""
    bound = machine.bound
    edges = [channel.edge for channel in machine.channels]
    kinds = [_kind(bound, edge) for edge in edges]
    found = []
    for config in configs:
        named = config.queues.names or config.blocks.names
        keys = edges if named else kinds
        some = dict(zip(keys, edges, strict=True))
        known = {key: passage(bound, config, edge) for key, edge in some.items()}
        found.append([known[key] for key in keys])
    return found


def _kind(bound: BoundGraph, edge: Edge) -> tuple[object, ...]:
    """What decides the depth and the latency of a channel that no config names."""
    if edge not in bound.streams:
        return ()
    stream = bound.streams[edge]
    source, target = (bound.nodes[end.node].kind for end in edge)
    return source, target, stream.kind, stream.wire, stream.feedback


def operations_of(
    part: Part,
    code: FiringCode,
    queue_of: Mapping[int, int],
    bounded: Callable[[int], bool],
) -> list[dict[int, int]]:
    """The queues that a firing waits for, needs room in, takes from and gives to; with its ports.

    ``queue_of``  by channel, the number of its queue
    """
    waits, takes, gives = dict[int, int](), dict[int, int](), dict[int, int]()
    for side, ports in ((waits, code.waits), (takes, code.takes)):
        for n in ports:
            side.setdefault(queue_of[part.inputs[n].channel.number], n)
    for n in code.gives:
        for channel in part.outputs[n].channels:
            gives.setdefault(queue_of[channel.number], len(part.inputs) + n)
    rooms = {q: n for q, n in gives.items() if bounded(q)}
    if len(waits) + len(rooms) > MOST_WAITS:
        raise Untraceable("a firing waits for too many queues")
    return [waits, rooms, takes, gives]


def shape_of(counts: Sequence[int]) -> int:
    """The numbers of queues at the sides of a firing in one; -1 if one of them is unusual."""
    return reduce(lambda shape, n: 256 * shape + n, counts) if max(counts) < 256 else -1
