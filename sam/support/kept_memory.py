"""Freed memory that the process keeps for arrays to come."""

from __future__ import annotations

import ctypes
import os
from functools import cache

# From malloc.h: which freed memory goes back to the system, and which arrays are mapped by it.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


@cache
def keep_freed() -> None:
    """Lets glibc keep freed arrays of less than 32 MiB, up to 64 MiB of them, for the next ones.

    glibc does so by itself once a process has freed an array of nearly 32 MiB. Before that, it
    gives many back to the system, and each call of a kernel takes its pages anew, which may take
    several times as long as the call. If the user has set these thresholds, they stay.
    """
    own = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt") and "malloc" not in tunables and os.environ.keys().isdisjoint(own):
        libc.mallopt(_MMAP_THRESHOLD, 2**25)
        libc.mallopt(_TRIM_THRESHOLD, 2**26)
