"""How far apart the coordinates of a loop lie: how many are new, and in how many places of memory.

An array is quick where the coordinates that follow each other come again or lie side by side, as
those of banded matrices, stencils and blocks do, and slow where each waits for memory by itself.
Both are measured on a few stretches of the coordinates of an input, as shares of what as many
coordinates in random places have.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import expm1

import numpy as np

WORD = 64  # places that have a bit in one word, and eight lines of memory
_STRETCHES, _LENGTH = 8, 256
FEW = 2**15  # coordinates whose loops take less time than to look at them


@dataclass(frozen=True)
class Spread:
    """Of the coordinates that follow each other in a loop: the share that is new, and how many
    words of places they touch, of what random coordinates do."""

    places: float = 1.0
    words: float = 1.0


EVEN = Spread()


@dataclass(frozen=True)
class LevelSpread:
    """Of the coordinates of a level: where its fibers follow each other as they are stored, and how
    many words one fiber touches by itself."""

    stored: Spread = EVEN
    fiber: float = 1.0

    def below(self, above: Spread) -> Spread:
        """Of the fibers that the coordinates of a loop choose.

        A coordinate that is not new brings the same fiber again, one beside the last ones a fiber
        that is stored beside theirs, any other one a fiber of its own.
        """
        beside = max(above.places - above.words, 0.0)
        return Spread(
            above.words + beside * self.stored.places,
            above.words * self.fiber + beside * self.stored.words,
        )


@dataclass(frozen=True)
class Loop:
    """Where a loop goes.

    ``spread``  of its coordinates
    ``order``   the operand through whose storage it goes in order; None through all coordinates
    """

    spread: Spread
    order: Hashable = None

    @classmethod
    def of(cls, operand: Hashable, level: LevelSpread, above: Loop) -> Loop:
        """Through the fibers of a level of an operand, which the loop over the level above it
        chooses."""
        if above.order in (None, operand):
            return cls(level.stored, operand)
        return cls(level.below(above.spread), _MANY)


_MANY = object()  # operands together choose where a loop goes
THROUGH_ALL = Loop(Spread(1.0, 1 / WORD))
ANYWHERE = Loop(EVEN, _MANY)


def evenly(values: float, places: float) -> float:
    """How many places that many values go to, where they are spread evenly."""
    return -places * expm1(-values / places) if places else 0.0


def sampled(coordinates: np.ndarray, extent: float, fiber: float) -> LevelSpread:
    """Of the coordinates of a level in fibers of about that many, from stretches of them; if they
    are few, as if they were random."""
    if len(coordinates) < FEW:
        return LevelSpread()
    starts = np.linspace(0, len(coordinates) - _LENGTH, _STRETCHES).astype(np.int64)
    stretches = coordinates[starts[:, None] + np.arange(_LENGTH)]
    beside = (np.diff(stretches) > 0) & (np.diff(stretches // WORD) == 0)
    words_of_fiber = fiber * (1 - float(beside.sum()) / stretches.size)
    stretches.sort(axis=1)
    new = (np.diff(stretches) != 0).sum() / _STRETCHES + 1
    words = (np.diff(stretches // WORD) != 0).sum() / _STRETCHES + 1
    return LevelSpread(
        Spread(_share(new, _LENGTH, extent), _share(words, _LENGTH, extent / WORD)),
        _share(words_of_fiber, fiber, extent / WORD),
    )


def _share(found: float, values: float, places: float) -> float:
    return min(1.0, found / evenly(values, places))
