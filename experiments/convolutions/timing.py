"""Random arrays, and the times of runs that alternate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from custard.to_c.call import Bound

ROUNDS = 5


def random_array(rng: np.random.Generator, shape: Sequence[int], density: float) -> np.ndarray:
    """Uniformly random values in uniformly random places."""
    return rng.random(shape) * (rng.random(shape) < density)


def timed(*runs: Callable[[], float]) -> list[float]:
    """The median of the seconds that each function returns, in alternating runs."""
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for of_run, run in zip(found, runs, strict=True):
            of_run.append(run())
    return [median(one) for one in found]


def worked(run: Callable[[], Any]) -> float:
    """The time that the processor works on a call, with all its threads."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def of_kernel(bound: Bound) -> float:
    """The time of a kernel; of a short one, beside which a call is long, the least of 20."""
    seconds = worked(bound.seconds)
    return seconds if seconds > 1e-3 else min(bound.seconds() for _ in range(20))
