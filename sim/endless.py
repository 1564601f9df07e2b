"""Runs that do not end by themselves: blocks that make no progress, and limits that are reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sam.graph import Edge
from sam.support import free_memory
from sam.support.errors import UserError
from sim.stats import Run, in_turn

Progress = Callable[[int], None]
"""Called now and then with the cycle that a run has come to."""

IDLE_FIRINGS = 10_000
"""After so many firings in a row without a taking, a block is looked at for changes."""

_LEAST_FREE, _PLENTY = 128 * 2**20, 2**31


class Unfinished(Exception):
    """A run has reached its limit of events."""


def no_progress(block: str, gives: bool) -> UserError:
    """The error for a block whose every firing is like one before, so that it fires for ever.

    It takes nothing, and changes neither its state nor its memory; ``gives`` tells whether it gives
    tokens.
    """
    if gives:
        return UserError(
            f"no progress: {block} gives tokens for ever: it neither takes a token nor changes "
            "its state",
            hint="a step must take a token or change its state, or the next firing gives the same",
        )
    return UserError(
        f"no progress: {block} fires again and again, and neither takes nor gives a token nor "
        "changes its state",
        hint="a step that has nothing to do must peek at an input, which makes it wait",
    )


class OutOfCycles(UserError):
    """A run is not done within the cycles that it may take.

    ``find_reached`` gives the run up to there, if somebody asks for it.
    """

    def __init__(self, max_cycles: int, find_reached: Callable[[], Run]) -> None:
        super().__init__(
            f"the run is not done after {max_cycles} cycles, the limit that it was given",
            hint="raise --max-cycles (max_cycles in Python, limits.cycles in a sweep)",
        )
        self._find_reached = find_reached

    @cached_property
    def reached(self) -> Run:
        """The run up to its limit: statistics of its first cycles, and no result.

        The engine compiled has run some blocks further, and so runs the graph again for this.
        """
        return self._find_reached()

    def after(self, runs: Sequence[Run], max_cycles: int) -> OutOfCycles:
        """The error for a program of several graphs, which may take so many cycles in all.

        ``runs`` are those of the graphs before this one.
        """
        return OutOfCycles(max_cycles, lambda: in_turn([*runs, self.reached]))


@dataclass(frozen=True)
class Holdings:
    """What a run keeps in memory while it goes on.

    ``waiting``  the tokens that wait in each queue
    ``stored``   the numbers that each block has stored, by the queue that most of its tokens came
                 on
    """

    waiting: Mapping[Edge, int] = field(default_factory=dict)
    stored: Mapping[Edge, int] = field(default_factory=dict)


def no_memory(held: Holdings | None = None) -> UserError:
    """The error for a run that does not fit in memory; it tells what has grown most."""
    held, limit = held or Holdings(), free_memory.tightest().words
    numbers, store = max(((n, edge) for edge, n in held.stored.items()), default=(0, None))
    tokens, queue = max(((n, edge) for edge, n in held.waiting.items()), default=(0, None))
    if queue is not None and tokens > numbers:
        return UserError(
            f"there is no memory for the tokens in the queues: {queue.source.node} has given "
            f"{tokens:,} that wait on {queue}; {limit}",
            hint="bound the queues, as in --set queues.depth=1024",
        )
    if store is not None and numbers:
        return UserError(
            f"there is no memory for what {store.target.node} stores: {numbers:,} numbers, from "
            f"the tokens on {store}; {limit}",
            hint="smaller inputs, or --max-cycles for a run that may have no end",
        )
    return UserError(
        f"there is no memory for the arrays that the graph stores; {limit}",
        hint="compressed levels instead of dense or bitvector ones, or smaller inputs",
    )


def require_memory(held: Callable[[], Holdings] = Holdings) -> bool:
    """Raises UserError if hardly any memory is left for the rest of a run, which keeps ``held``.

    Gives whether so much is left that a fast run does not fill it in half a second.
    """
    free = free_memory.available()
    if free < _LEAST_FREE:
        raise no_memory(held())
    return free > _PLENTY
