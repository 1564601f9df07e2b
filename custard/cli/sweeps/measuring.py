"""The process that measures points, one after another, and tells what came of each.

It is asked over a connection: pickled settings come in, and an answer for each goes out as JSON.

``outcome``  as ``workers`` describes outcomes
``spent``    whether this process must not measure another point: it ran out of memory, met a bug,
             or keeps much more memory than it started with. It then ends
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sam.support.errors import UserError

Settings = Mapping[str, Any]
Outcome = dict[str, Any]
Measure = Callable[[Settings], Mapping[str, Any]]  # a function of a module, or a partial of one

_MOST_KEPT = 256 * 2**20  # bytes beyond those of its start, between two points


def serve(measure: Measure, memory_bytes: int | None, asker: Connection) -> None:
    """Measures points until nobody asks any more, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin = _private_memory()
    most = None if memory_bytes is None or begin is None else begin + memory_bytes
    peak = _Peak()
    spent = False
    with suppress(EOFError, OSError):  # nobody asks any more
        while not spent:
            settings = asker.recv()
            peak.begin()
            outcome, spent = _measured(measure, settings, memory_bytes, most)
            outcome["peak_memory_bytes"] = peak.end()
            spent = spent or _keeps_much(begin)
            asker.send_bytes(json.dumps({"outcome": outcome, "spent": spent}).encode())


def _measured(
    measure: Measure, settings: Settings, memory_bytes: int | None, most: int | None
) -> tuple[Outcome, bool]:
    """The outcome of a point, and whether the process is spent by it."""
    limit = "" if memory_bytes is None else f"the limit is {memory_bytes:,} bytes"
    try:
        with _limited_memory(most):
            return {"status": "done", "record": measure(settings)}, False
    except UserError as mistake:
        if not _is_of_memory(mistake):
            return {"status": "failed", "error": str(mistake)}, False
        if limit:
            mistake = UserError(f"{mistake.what}; {limit}", hint=mistake.hint)
        return {"status": "failed", "error": str(mistake)}, True
    except MemoryError:
        return {"status": "failed", "error": f"out of memory{limit and ': '}{limit}"}, True
    except Exception as bug:
        error = f"{type(bug).__name__}: {bug}"
        return {"status": "failed", "error": error, "traceback": traceback.format_exc()}, True


def _is_of_memory(mistake: BaseException | None) -> bool:
    """Whether a MemoryError is among what led to an error."""
    while mistake is not None and not isinstance(mistake, MemoryError):
        mistake = mistake.__cause__ or mistake.__context__
    return mistake is not None


def _end_with_parent() -> None:
    """Ends this process when its parent has gone, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _limited_memory(most: int | None) -> Iterator[None]:
    """Lets this process have that many bytes of private memory, its start's among them."""
    if most is None:
        yield
        return
    import resource  # which not every system has

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _private_memory() -> int | None:
    """The bytes that RLIMIT_DATA counts; None where the machine does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _keeps_much(begin: int | None) -> bool:
    """Whether this process has much more memory than at its start, rubbish not counted."""
    for clean in (False, True):
        if clean:
            gc.collect()
        now = _private_memory()
        if begin is None or now is None or now - begin <= _MOST_KEPT:
            return False
    return True


_CLEAR_REFS = Path("/proc/self/clear_refs")  # proc_pid_clear_refs(5)


class _Peak:
    """The most memory that this process had resident since a point began."""

    def __init__(self) -> None:
        self.is_reset = False
        self.before = 0

    def begin(self) -> None:
        """Forgets all before, if the machine can."""
        try:
            _CLEAR_REFS.write_text("5", encoding="ascii")
            self.is_reset = True
        except OSError:
            self.is_reset = False

    def end(self) -> int | None:
        """In bytes; None where the machine does not tell, or where an earlier point took more."""
        if self.is_reset:
            with suppress(OSError, ValueError):
                for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
                    if line.startswith("VmHWM:"):
                        return 1024 * int(line.split()[1])
        if sys.platform == "win32":
            return None
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        most *= 1 if sys.platform == "darwin" else 1024
        before, self.before = self.before, most
        return most if most > before else None
