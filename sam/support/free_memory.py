"""Refuses arrays that are larger than the free memory, before they are made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sam.support.errors import UserError


def require(size: int, what: str) -> None:
    """Raises UserError where ``size`` bytes for ``what`` are more than the process can have."""
    free = available()
    if size > free:
        raise UserError(f"{what} would take {in_words(size)}; {in_words(free)} of memory are free")


def lacks(size: int) -> bool:
    """Whether an array of ``size`` bytes is large, and most of the free memory does not hold it.

    The system promises memory that it does not have, and ends the process that then uses it. A
    quarter is kept for arrays made beside it.
    """
    return size > _LARGE and size > available() * 3 // 4


_LARGE = 2**28
"""From how many bytes on it is worth asking the system how many are free."""


def in_words(size: int) -> str:
    """A number of bytes for people, as in 3.5 GiB."""
    amount, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        del units[0]
    return f"{amount:.0f} bytes" if units[0] == "bytes" else f"{amount:.3g} {units[0]}"


def available() -> int:
    """The bytes that the process may still take, as far as the system tells."""
    return tightest().free


@dataclass(frozen=True)
class MemoryLimit:
    """A limit of the memory of the process: bytes that are ``free`` under it, and it in words."""

    free: int
    words: str


def tightest() -> MemoryLimit:
    """The limit under which the least is free, as far as the system tells."""
    return min(
        _limits(), key=lambda limit: limit.free, default=MemoryLimit(sys.maxsize, "no limit")
    )


def _limits() -> Iterator[MemoryLimit]:
    with suppress(OSError, ValueError, IndexError, KeyError):
        amounts = {}
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            name, amount, *_ = line.split()
            amounts[name] = 1024 * int(amount)
        free = amounts["MemAvailable:"] + amounts["SwapFree:"]
        whole = amounts["MemTotal:"] + amounts["SwapTotal:"]
        yield MemoryLimit(free, f"the machine has {in_words(whole)}")
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        used = int((group / "memory.current").read_text(encoding="ascii"))
        most = int((group / "memory.max").read_text(encoding="ascii"))
        yield MemoryLimit(max(0, most - used), f"the control group is limited to {in_words(most)}")
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            free = max(0, most - pages * os.sysconf("SC_PAGE_SIZE"))
            yield MemoryLimit(free, f"the address space is limited to {in_words(most)} (ulimit -v)")
