"""The logs of a run, in C's memory for as long as anybody may still read them."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

# The words of a log in memory before further words go to a file; the words of the first piece of a
# log, and of each further piece.
WORDS_KEPT, FIRST_WORDS, MORE_WORDS = 1 << 25, 10 << 10, 1 << 16


class CLog(ctypes.Structure):
    """``Log`` in ``runtime.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("pages", "first", "last")),
        *((name, ctypes.c_int64) for name in ("first_words", "more_words")),
        *((name, ctypes.c_int64) for name in ("in_memory", "limit", "in_file")),
        ("file", ctypes.c_void_p),
    ]


class Logs:
    """Logs that share large pages, which are given back with this object.

    ``runtime``  the library that has ``open_pages`` and what else ``logs.h`` defines
    """

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self.runtime = runtime
        runtime.open_pages.restype = ctypes.c_void_p
        runtime.count_words.restype = ctypes.c_int64
        self._pages = runtime.open_pages()
        if not self._pages:
            raise MemoryError
        self._opened: list[CLog] = []
        weakref.finalize(self, _close, runtime, self._pages, self._opened)

    def open(self) -> CLog:
        """A new log."""
        log = CLog(self._pages, None, None, FIRST_WORDS, MORE_WORDS, 0, WORDS_KEPT)
        self._opened.append(log)
        return log

    def words(self, log: CLog) -> np.ndarray[Any, Any]:
        """A copy of the words of a log."""
        words = np.empty(self.runtime.count_words(ctypes.byref(log)), np.uint16)
        if not self.runtime.copy_log(ctypes.byref(log), ctypes.c_void_p(words.ctypes.data)):
            raise MemoryError
        return words


def _close(runtime: ctypes.CDLL, pages: int, opened: list[CLog]) -> None:
    for log in opened:
        runtime.close_log(ctypes.byref(log))
    runtime.close_pages(ctypes.c_void_p(pages))
