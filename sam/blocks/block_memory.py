"""The memories that blocks fill: lists that grow, values by place, accumulators of reducers.

Steps use these and nothing else to remember more than their state, so that each engine may keep
them in its own way. A step changes a memory only after all that it gives in the same firing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.arithmetic import Operation
from sam.support.errors import StreamError, UserError


class Written(Enum):
    """How a memory is filled that its block does not read."""

    IN_ORDER = "in order"
    """Each number follows the one before, whatever its place."""
    BY_PLACE = "by place"
    """The place of a number in the memory has a meaning; each is stored once."""
    ADDED = "added"
    """Numbers are added to what is stored at their places."""


class Growing(list[Any]):
    """Numbers in the order in which they came: coordinates and such, or ``values``.

    ``written``     how, if the block only appends to it
    ``lengths_of``  the list whose lengths its numbers are, if they are that
    ``whole``       all of them at once, where an engine has kept them in an array of its own
    """

    def __init__(
        self,
        start: list[Any] | None = None,
        *,
        values: bool = False,
        written: Written | None = None,
        lengths_of: Growing | None = None,
    ) -> None:
        super().__init__(start or [])
        self.values, self.written, self.lengths_of = values, written, lengths_of
        self.whole: np.ndarray | None = None

    def to_list(self) -> list[Any]:
        """The numbers, as Python numbers."""
        return list(self) if self.whole is None else self.whole.tolist()

    def to_numpy(self, dtype: Any) -> np.ndarray:
        """The numbers, in a numpy type; those in an array of that type are not copied."""
        return np.asarray(self if self.whole is None else self.whole, dtype)


class Stored(dict[int, Any]):
    """Values by place, or ``integers``; a place is zero until a value is stored there.

    ``written``  how, if the block does no more than store or add
    ``whole``    those of the first places at once, where an engine has kept them in an array
    """

    def __init__(
        self, zero: Any, *, integers: bool = False, written: Written | None = None
    ) -> None:
        super().__init__()
        self.zero, self.integers, self.written = zero, integers, written
        self.whole: np.ndarray | None = None

    def to_numpy(self, places: int, dtype: Any) -> np.ndarray:
        """The values of that many places, in a type."""
        used = max(self, default=-1) + 1 if self.whole is None else len(self.whole)
        if used > places:
            raise StreamError(f"place {used - 1} of {places} has been written to")
        if self.whole is not None and used == places:
            return np.asarray(self.whole, dtype)
        values = np.zeros(places, dtype)
        if self.whole is not None:
            values[: len(self.whole)] = self.whole
        elif self:
            values[list(self)] = list(self.values())
        return values

    def __missing__(self, place: int) -> Any:
        return self.zero


@dataclass
class Accumulator:
    """The memory of a reducer: points with n coordinates, each with its sum so far.

    It holds a sub-tensor that is being summed, and a complete one, in order, that is being emitted.

    ``far``  whether coordinates may be too large for an array with a place for each
    """

    dimensions: int
    capacity: int | None
    plus: Operation
    far: bool = False
    sums: dict[tuple[int, ...], Any] = field(default_factory=dict)
    finished: list[list[tuple[tuple[int, ...], Any]]] = field(default_factory=list)

    def add(self, point: tuple[int, ...], value: Any) -> None:
        """Adds to the sum at a point; raises UserError where no room is left for it."""
        if point in self.sums:
            self.sums[point] = self.plus(self.sums[point], value)
            return
        if len(self.sums) == self.capacity:
            raise too_full(self.dimensions, self.capacity)
        self.sums[point] = value

    def complete(self) -> None:
        """Ends the sub-tensor that is being summed; it is emitted after the one before."""
        self.finished.append(sorted(self.sums.items()))
        self.sums = {}

    def count(self) -> int:
        """How many points the sub-tensor that is being emitted has."""
        return len(self.finished[0])

    def coordinate(self, n: int, level: int) -> int:
        """A coordinate of its point n."""
        return self.finished[0][n][0][level]

    def value(self, n: int) -> Any:
        """The sum at its point n."""
        return self.finished[0][n][1]

    def shared(self, n: int) -> int:
        """How many leading coordinates its point n has in common with the point before."""
        before, here = self.finished[0][n - 1][0], self.finished[0][n][0]
        level = 0
        while before[level] == here[level]:
            level += 1
        return level

    def release(self) -> None:
        """Forgets the sub-tensor that was emitted."""
        self.finished.pop(0)


Store = Growing | Stored | Accumulator
"""A memory that a block fills."""


def stores(memory: Any) -> Iterator[Store]:
    """The memories that a block fills, among all that its steps see as ``m``."""
    if isinstance(memory, Store):
        yield memory
    elif isinstance(memory, tuple | SimpleNamespace):
        for part in memory if isinstance(memory, tuple) else vars(memory).values():
            yield from stores(part)


def size_of(store: Store) -> int:
    """How many numbers or points a memory holds."""
    if isinstance(store, Accumulator):
        return len(store.sums) + sum(map(len, store.finished))
    return len(store)


def too_full(dimensions: int, capacity: int) -> UserError:
    """The error for a reducer whose memory is too small."""
    return UserError(
        f"a reducer of {dimensions} dimension{'s' * (dimensions != 1)} has room for {capacity} "
        "entries, and the sum needs more",
        hint="raise blocks.capacity, or reorder the loops so that the sum is further in",
    )
