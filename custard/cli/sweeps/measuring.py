"""The process that measures points, one after another, and sends the outcome of each.

It works over a connection: a list of pickled settings comes in, and answers go out as JSON. The
points of a list are measured together if the measure can. Answers:

``at``, ``outcome``  the place of a point in the list, and its outcome, as ``workers`` describes
                     outcomes. Of several points, some may have none, as another process might do
                     better: after a lack of memory, or a bug
``doubtful``         whether earlier points in the process may have made it fail
``spent``            the last answer to a list: whether this process ends, as it ran out of memory,
                     met a bug, or keeps much more memory than it started with
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from custard.cli.unfinished import UnfinishedRun
from sam.support.errors import UserError

Settings = Mapping[str, Any]
Record = Mapping[str, Any]
Outcome = dict[str, Any]
Measure = Callable[[Settings], Record]  # a function of a module, or a partial of one
Tell = Callable[[int, Record | Exception], None]
MeasureTogether = Callable[[Sequence[Settings], Tell], None]  # tells each by its place

_MOST_KEPT = 256 * 2**20  # bytes beyond those of its start, between two points
_AT_ONCE = 0.02  # seconds between outcomes that were found together, at most

# Of errors that are no MemoryErrors: of a thread, and of a library that is loaded.
_NO_MEMORY = ("can't start new thread", "failed to map segment", "annot allocate memory")


def serve(
    measure: Measure,
    together: MeasureTogether | None,
    memory_bytes: int | None,
    asker: Connection,
) -> None:
    """Measures points until the connection closes, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin = _private_memory()
    most = None if memory_bytes is None or begin is None else begin + memory_bytes
    limit = "" if memory_bytes is None else f"the limit is {memory_bytes:,} bytes"
    peak = _Peak()
    spent = False
    with suppress(EOFError, OSError):  # nobody asks any more
        while not spent:
            several = asker.recv()
            peak.begin()
            answers = _Answers(asker, peak, limit)
            with _limited_memory(most):
                if together is None or len(several) == 1:
                    spent = _measure_each(measure, several, answers)
                else:
                    spent = _measure_together(together, several, answers)
            answers.send()
            spent = spent or _keeps_much(begin)
            asker.send_bytes(json.dumps({"spent": spent}).encode())


def _measure_each(measure: Measure, several: Sequence[Settings], answers: _Answers) -> bool:
    """Measures points and tells their outcomes; gives whether the process is spent."""
    spent = False
    for at, settings in enumerate(several):
        try:
            answers.tell(at, measure(settings))
        except Exception as mistake:
            answers.tell(at, mistake)
            spent = spent or _is_doubtful(mistake)
    return spent


def _measure_together(
    together: MeasureTogether, several: Sequence[Settings], answers: _Answers
) -> bool:
    """Measures points together and tells their outcomes, none as doubtful; gives whether spent."""
    left = set(range(len(several)))
    spent = False

    def tell(at: int, result: Record | Exception) -> None:
        nonlocal spent
        if isinstance(result, Exception) and _is_doubtful(result):
            spent = True
        else:
            left.discard(at)
            answers.tell(at, result)

    try:
        together(several, tell)
    except Exception as mistake:
        for at in sorted(left):
            tell(at, mistake)
    return spent


class _Answers:
    """Sends outcomes; outcomes that are found together share the time that they took."""

    def __init__(self, asker: Connection, peak: _Peak, limit: str) -> None:
        self.asker, self.peak, self.limit = asker, peak, limit
        self.held: list[dict[str, Any]] = []
        self.seconds = 0.0
        self.last = time.monotonic()

    def tell(self, at: int, result: Record | Exception) -> None:
        """Takes the outcome of a point, and sends those found some time before it."""
        since = time.monotonic() - self.last
        if since > _AT_ONCE:
            self.send()
        self.seconds += since
        doubtful = isinstance(result, Exception) and _is_doubtful(result)
        self.held.append({"at": at, "outcome": self._outcome(result), "doubtful": doubtful})
        self.last = time.monotonic()

    def send(self) -> None:
        """Sends all outcomes that were told."""
        for answer in self.held:
            answer["outcome"]["seconds"] = self.seconds / len(self.held)
            answer["outcome"]["peak_memory_bytes"] = self.peak.so_far()
            self.asker.send_bytes(json.dumps(answer).encode())
        self.held, self.seconds = [], 0.0

    def _outcome(self, result: Record | Exception) -> Outcome:
        if not isinstance(result, Exception):
            return {"status": "done", "record": result}
        if isinstance(result, UserError):
            if self.limit and _is_of_memory(result):
                result = UserError(f"{result.what}; {self.limit}", hint=result.hint)
            reached = {"reached": result.record} if isinstance(result, UnfinishedRun) else {}
            return {"status": "failed", "error": str(result), **reached}
        if _lacks_memory(result):
            because = f": {self.limit}" if self.limit else ""
            return {"status": "failed", "error": f"out of memory{because}"}
        trace = "".join(traceback.format_exception(result))
        error = f"{type(result).__name__}: {result}"
        return {"status": "failed", "error": error, "traceback": trace}


def _is_doubtful(mistake: Exception) -> bool:
    """Whether a fresh process might do better: a lack of memory, and a bug."""
    return not isinstance(mistake, UserError) or _is_of_memory(mistake)


def _is_of_memory(mistake: BaseException | None) -> bool:
    """Whether a lack of memory is among what led to an error."""
    while mistake is not None and not _lacks_memory(mistake):
        mistake = mistake.__cause__ or mistake.__context__
    return mistake is not None


def _lacks_memory(mistake: BaseException) -> bool:
    """Whether an error is a lack of memory; threads and libraries that need some tell it so."""
    if isinstance(mistake, UserError):
        return False
    return isinstance(mistake, MemoryError) or any(sign in str(mistake) for sign in _NO_MEMORY)


def _end_with_parent() -> None:
    """Has the system end this process when its parent has gone, even by kill -9."""
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
    """Whether this process has much more memory than at its start, garbage not counted."""
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
        self.before = self.most = 0

    def begin(self) -> None:
        """Forgets all before, if the machine can."""
        self.before = self.most
        try:
            _CLEAR_REFS.write_text("5", encoding="ascii")
            self.is_reset = True
        except OSError:
            self.is_reset = False

    def so_far(self) -> int | None:
        """The peak in bytes; None where unknown, or where an earlier point took more."""
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
        self.most = most
        return most if most > self.before else None
