"""Activity of queues and memories over time: numbers for stretches of cycles of one length.

The length of a run is not known before its end. So there is a fixed number of stretches: when the
last one is over, pairs of them are merged, and all become twice as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BINS = 256

Array = np.ndarray[Any, Any]


def bins() -> Array:
    """Numbers over time, all 0; the first tells how long a stretch is, as a power of 2."""
    return np.zeros(1 + BINS, np.int64)


def add(counted: Array, cycle: int, amount: int = 1) -> None:
    """Adds to the count of a cycle."""
    while cycle >> counted[0] >= BINS:
        _merge(counted)
    counted[1 + (cycle >> int(counted[0]))] += amount


def _merge(counted: Array) -> None:
    pairs = counted[1:].reshape(-1, 2).sum(axis=1)
    counted[1 : 1 + BINS // 2], counted[1 + BINS // 2 :] = pairs, 0
    counted[0] += 1


@dataclass(frozen=True, eq=False)
class OverTime:
    """The tokens and bytes moved in each stretch of a run.

    ``stretch``  how many cycles each has; the last may be cut short
    ``given``, ``taken``  by edge, the tokens given to its queue and taken from it
    ``bytes``    by level of memory, from the outermost, the bytes that its ports began to move
    """

    stretch: int
    given: Mapping[str, Array]
    taken: Mapping[str, Array]
    bytes: Sequence[Array]

    @classmethod
    def of(cls, cycles: int, moved: Mapping[str, Any], traffic: Sequence[Array]) -> OverTime:
        """The numbers of a finished run; ``moved`` has the bins of each edge, given and taken."""
        shift = max(0, (max(1, cycles) - 1).bit_length() - BINS.bit_length() + 1)
        length = -(-cycles >> shift) if cycles else 0

        def even(counted: Array) -> Array:
            found = counted[1:]
            for _ in range(shift - int(counted[0])):
                found = np.append(found.reshape(-1, 2).sum(axis=1), np.zeros(BINS // 2, np.int64))
            return found[:length]

        return cls(
            stretch=1 << shift,
            given={edge: even(given) for edge, (given, _) in moved.items()},
            taken={edge: even(taken) for edge, (_, taken) in moved.items()},
            bytes=[even(_within(one, shift, length)) for one in traffic],
        )

    def occupancy(self, edge: str) -> Array:
        """The tokens in a queue at the end of each stretch."""
        return np.cumsum(self.given[edge]) - np.cumsum(self.taken[edge])


def _within(counted: Array, shift: int, length: int) -> Array:
    """The numbers by stretch of a run; later ones are added to those of the last stretch."""
    found = counted.copy()
    while found[0] < shift:
        _merge(found)
    if found[0] > shift:  # ports that write back are busy for longer than the run
        return _stretched(found, shift, length)
    found[length] += found[length + 1 :].sum()
    return found


def _stretched(counted: Array, shift: int, length: int) -> Array:
    each = 1 << int(counted[0]) - shift
    found = bins()
    found[0] = shift
    for n, amount in enumerate(counted[1:].tolist()):
        found[min(1 + n * each, length)] += amount
    return found
