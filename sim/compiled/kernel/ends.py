"""The ends of the queues that a kernel is written for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class QueueEnd:
    """An end of a queue: the numbers of the ports that its columns belong to.

    ``places``   of a stretch: a power of two
    ``bounded``  whether it has a finite depth
    ``short``    whether that depth is so small that writer and reader take turns all the time
    ``ahead``    whether it is short, and its writer may prepare tokens that have no room yet
    ``wire``     whether it is a wire, at the end that is read
    """

    ports: tuple[int, ...]
    places: int
    bounded: bool
    short: bool
    wire: bool = False
    ahead: bool = False


def slots(outputs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The output ports of some queues, each with the number of the queue.

    A block waits at its slots: these are its inputs, and then the outputs in this order.
    """
    return [(port, q) for q, ports in enumerate(outputs) for port in ports]
