"""Channels that share a queue: those between two parts whose tokens always move together.

Channels share a queue if each firing of the giver gives tokens of the same kind to all of them or
to none, and each firing of the taker takes from all of them or from none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from sim.compiled.residual import Body
from sim.machine import Channel, Machine


@dataclass(frozen=True)
class Bundle:
    """Channels that share a queue, with the numbers of their ports at either end.

    ``giver``, ``taker``  the names of the parts
    """

    giver: str
    taker: str
    channels: tuple[Channel, ...]
    givers: tuple[int, ...]
    takers: tuple[int, ...]

    @property
    def wire(self) -> bool:
        return self.channels[0].wire


def bundles(
    machine: Machine, bodies: Mapping[str, Body], alike: Callable[[Channel], Hashable]
) -> list[Bundle]:
    """The bundles of a machine, in the order of its parts and of their outputs.

    ``bodies`` has the translation of each part; channels of a bundle are ``alike``.
    """
    taken = {
        one.channel.number: bodies[part.name].taken[n]
        for part in machine.parts
        for n, one in enumerate(part.inputs)
    }
    at = {one.channel.number: n for part in machine.parts for n, one in enumerate(part.inputs)}
    found: dict[Hashable, list[tuple[Channel, int]]] = {}
    for part in machine.parts:
        for n, output in enumerate(part.outputs):
            for channel in output.channels:
                ends = (bodies[part.name].given[n], taken[channel.number])
                key = (part.name, channel.taker, ends, alike(channel))
                found.setdefault(key, []).append((channel, n))
    return [
        Bundle(
            giver=bundle[0][0].giver,
            taker=bundle[0][0].taker,
            channels=tuple(channel for channel, _ in bundle),
            givers=tuple(n for _, n in bundle),
            takers=tuple(at[channel.number] for channel, _ in bundle),
        )
        for bundle in found.values()
    ]
