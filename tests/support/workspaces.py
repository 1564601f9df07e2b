"""Sparse arrays for the tests of workspaces, and the most memory that a function takes."""

import os
from pathlib import Path

import numpy as np

RANDOM = np.random.default_rng(3)


def sparse(*shape, density=0.1):
    """Whole numbers, so that sums are exact in any order."""
    return RANDOM.integers(1, 9, shape) * (RANDOM.random(shape) < density)


_CLEAR_REFS = Path("/proc/self/clear_refs")


def measures_memory():
    """Whether this machine tells the most memory that a process had since a moment."""
    return os.access(_CLEAR_REFS, os.W_OK)


def most_memory(function):
    """By how many bytes the memory of this process grows at most while a function runs."""
    _CLEAR_REFS.write_text("5")
    before = _status("VmRSS")
    function()
    return _status("VmHWM") - before


def _status(member):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(member))
