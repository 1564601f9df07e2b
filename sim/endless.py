"""Runs that do not end by themselves: blocks that make no progress, and limits that are reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sam.support import free_memory
from sam.support.errors import UserError

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


def too_long(max_cycles: int) -> UserError:
    """The error for a run that is not done within a limit."""
    return UserError(
        f"the run is not done after {max_cycles} cycles, the limit that it was given",
        hint="raise --max-cycles (max_cycles in Python, limits.cycles in a sweep)",
    )


def no_memory(held: Mapping[str, int]) -> UserError:
    """The error for a run that does not fit in memory; ``held`` has the tokens by queue."""
    if not held or not max(held.values()):
        return UserError(
            "there is no memory for what the graph stores",
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
