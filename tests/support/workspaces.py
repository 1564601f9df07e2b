"""What the tests of workspaces share."""

from dataclasses import replace

import numpy as np

import custard
from custard.to_c.program import LIBRARY

RANDOM = np.random.default_rng(3)


def compiled(expression, formats, schedule=(), **options):
    """The program in C, compiled without optimisation, which takes less time."""
    program = custard.compile(expression, formats, schedule, target="c", **options)
    return replace(program, flags=(*LIBRARY, "-O1"))


def sparse(*shape, density=0.1):
    """Whole numbers, so that sums are exact in any order."""
    return RANDOM.integers(1, 9, shape) * (RANDOM.random(shape) < density)
