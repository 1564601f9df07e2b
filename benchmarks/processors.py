"""What threads bring on this machine at the moment, whatever they run.

Two processors of a virtual machine are one core at times, for seconds or minutes, and two cores
share the way to memory. So a benchmark of threads measures both in turn with what it compares:

    arithmetic  in registers alone: 2 for two threads on two cores, 1 on one
    reads       of more memory than the caches hold: 1.3 to 1.7 on two cores, which no kernel that
                goes through its arrays once exceeds by much
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sam.support import c_compiler as cc

_SOURCE = """#include <stdint.h>
uint64_t arithmetic(const uint64_t *none, int64_t n) {
    uint64_t a = 1, b = 2, c = 3;
    for (int64_t i = 0; i < n; i++) a = a * 3 + 1, b ^= a >> 3, c += b;
    return a + b + c;
}
uint64_t reads(const uint64_t *array, int64_t n) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += array[i];
    return sum;
}
"""
_TIMES, _WORDS = 8_000_000, 1 << 23  # 5 to 20 milliseconds each; 64 MB for each thread
# What two threads of arithmetic bring at least where they have two cores.
OF_TWO = 1.9


@dataclass(frozen=True)
class Brought:
    """How many times as much threads did as one in the same time."""

    arithmetic: float
    reads: float


class Processors:
    """Measures what some threads bring."""

    def __init__(self, threads: int = 2) -> None:
        [library] = cc.build([_SOURCE], {}, lambda source: cc.FLAGS)
        self.threads = threads
        self.arithmetic, self.reads = library.arithmetic, library.reads
        for function in (self.arithmetic, self.reads):
            function.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        self.arrays = [np.ones(_WORDS, np.int64) for _ in range(threads)]
        self.pool = ThreadPoolExecutor(threads)

    def brought(self) -> Brought:
        """What they bring now."""
        return Brought(self._of(self.arithmetic, _TIMES), self._of(self.reads, _WORDS))

    def warm(self, seconds: float = 2.0) -> None:
        """Keeps all processors busy until they are cores of their own, for some seconds at most:
        a host may give cores to processors only while they are busy."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if self._of(self.arithmetic, _TIMES) >= OF_TWO / 2 * self.threads:
                return

    def _of(self, work: Callable[[int, int], int], count: int) -> float:
        places = [array.ctypes.data for array in self.arrays]
        times = [time.perf_counter()]
        for together in (False, True, False):
            used = places if together else places[:1]
            list(self.pool.map(work, used, [count] * len(used)))
            times.append(time.perf_counter())
        first, both, last = (end - begin for begin, end in pairwise(times))
        return self.threads * (first + last) / 2 / both
