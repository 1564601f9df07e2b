"""Runs that do not end by themselves: blocks that make no progress, and limits that are reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from sam.support import free_memory
from sam.support.errors import UserError
from sim.stats import Run, in_turn

Progress = Callable[[int], None]
"""Called now and then with the cycle that a run has come to."""

IDLE_FIRINGS = 10_000
"""The firings of a block in a row without a change that count as no progress."""

_LEAST_FREE = 128 * 2**20


class Unfinished(Exception):
    """A run has reached its limit of events."""


def no_progress(block: str) -> UserError:
    """The error for a block that fires for ever and changes nothing."""
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


def no_memory(held: Mapping[str, int]) -> UserError:
    """The error for a run that does not fit in memory; ``held`` has the tokens by queue."""
    if not held or not max(held.values()):
        return UserError(
            "there is no memory for the arrays that the graph stores",
            hint="compressed levels instead of dense or bitvector ones, or smaller inputs",
        )
    queue = max(held, key=lambda name: held[name])
    return UserError(
        f"there is no memory for the tokens in the queues: {queue.partition('.')[0]} has given "
        f"{held[queue]:,} that wait on {queue}",
        hint="bound the queues, as in --set queues.depth=1024",
    )


def require_memory(held: Mapping[str, int]) -> None:
    """Raises UserError if hardly any memory is left for the rest of a run."""
    if free_memory.available() < _LEAST_FREE:
        raise no_memory(held)
