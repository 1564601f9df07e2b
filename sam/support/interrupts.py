"""Ctrl-C while C code runs: Python heeds it on its main thread alone, and not inside of C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """What ``work`` returns; raises what it raises, and KeyboardInterrupt as soon as that comes.

    ``work`` runs on a thread of its own, which is left behind then. So this is for commands, whose
    process ends after Ctrl-C.
    """
    found: list[T] = []
    mistakes: list[BaseException] = []

    def kept() -> None:
        try:
            found.append(work())
        except BaseException as mistake:  # raised again below
            mistakes.append(mistake)

    thread = threading.Thread(target=kept, daemon=True)
    thread.start()
    thread.join()
    for mistake in mistakes:
        raise mistake
    return found[0]
