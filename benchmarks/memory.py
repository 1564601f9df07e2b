"""The most memory that a call takes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_Result = TypeVar("_Result")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def measures_memory() -> bool:
    """Whether this machine tells the most memory that a process had since a moment."""
    return os.access(_CLEAR_REFS, os.W_OK)


def with_memory(call: Callable[[], _Result]) -> tuple[_Result, float]:
    """What a call returns, and by how many megabytes the resident set of this process grows at
    most meanwhile; memory that the process keeps for later goes back to the system before."""
    ctypes.CDLL(None).malloc_trim(0)
    _CLEAR_REFS.write_text("5")
    before = _megabytes("VmRSS")
    result = call()
    return result, max(0.0, _megabytes("VmHWM") - before)


def _megabytes(member: str) -> float:
    """A number of megabytes that Linux reports for this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(member)) / 1024
