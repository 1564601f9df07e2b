"""The states of a run's blocks over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.attribution.log import Array, Log
from sim.attribution.shares import late_until

STATES = ("busy", "starved", "blocked", "memory", "done")
STRETCHES = 128


def stretch(cycles: int, most: int = STRETCHES) -> int:
    """The cycles of a stretch, so that there are at most so many."""
    return max(1, -(-cycles // most))


def states(log: Log, block: int, edges: Array) -> dict[str, Array]:
    """The cycles in each state between edges in time: ``len(edges) - 1`` numbers for each."""
    waits = log.waits[block]
    late = late_until(waits)
    is_input = np.array([awaited.is_input for awaited in waits.awaited] or [True])
    starves = is_input[waits.cause] if len(waits.cause) else np.zeros(0, bool)
    found = {
        "starved": _covered(late[starves], waits.asked[starves], edges),
        "blocked": _covered(late[~starves], waits.asked[~starves], edges),
    }
    memory = _covered(waits.ready, late, edges)
    if waits.requests is not None:
        memory += _covered(waits.requests.asked, waits.requests.taken, edges)
    found["memory"] = memory
    end = np.array([waits.fired + 1])
    found["done"] = _covered(end, np.array([max(log.cycles, waits.fired + 1)]), edges)
    found["busy"] = np.diff(edges) - sum(found.values())
    return {state: found[state] for state in STATES}


def _covered(since: Any, until: Any, edges: Array) -> Array:
    """How much of each stretch lies in spans that are in order and do not overlap."""
    if not len(since):
        return np.zeros(len(edges) - 1, np.int64)
    lengths = np.concatenate(([0], np.cumsum(until - since)))
    at = np.searchsorted(since, edges, side="right")
    beyond = np.maximum(0, until[np.maximum(at - 1, 0)] - edges)
    return np.diff(lengths[at] - np.where(at > 0, beyond, 0))
