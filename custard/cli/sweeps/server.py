"""The server that processes of a sweep fork from, with their modules."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def context(modules: Iterable[str]) -> Any:
    """How processes start: they fork from a server with these modules, where the system can.

    The server need not have loaded them yet. If one runs already, that is the server.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver  # which not every system has

    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["__main__", *modules])
    with _ignored_interrupts():  # else Ctrl-C would end the server while it imports
        forkserver.ensure_running()
    return found


def in_main_thread() -> bool:
    """Whether this thread gets the signals of its process."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile ignore Ctrl-C, too."""
    if not in_main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
