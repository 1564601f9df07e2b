"""Locks on files, which go with the process that holds them."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]


def lock(handle: int, wait: bool = True) -> bool:
    """Locks an open file until it is closed; gives whether it is locked now.

    It is not where another one holds the lock and this does not ``wait`` for it, and where the file
    system has no locks.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
