"""Sparse arrays for the tests of workspaces."""

import numpy as np

RANDOM = np.random.default_rng(3)


def sparse(*shape, density=0.1):
    """Whole numbers, so that sums are exact in any order."""
    return RANDOM.integers(1, 9, shape) * (RANDOM.random(shape) < density)
