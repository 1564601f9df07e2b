"""Freed memory that the process keeps for arrays to come."""

from __future__ import annotations

import ctypes
from functools import cache

# Of a larger array, glibc learns nothing.
_MOST = 2**25 - 2**13


@cache
def keep_freed() -> None:
    """Lets glibc keep freed arrays of less than 32 MiB, up to 64 MiB of them, for the next ones.

    glibc does so from when the first array of nearly 32 MiB is freed. Before that, it gives many
    back to the system, and each call of a kernel takes its pages anew, which may take several times
    as long as the call. If the user has set these thresholds, they stay.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p
    libc.free.argtypes, libc.free.restype = (ctypes.c_void_p,), None
    libc.free(libc.malloc(_MOST))
