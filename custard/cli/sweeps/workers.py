"""Measures points in processes of their own, so that one bad point does not take others along.

``run_local`` starts a process for each point, which ends at its limits, on this machine;
``run_on_dask`` has the workers of a Dask cluster do the same. Both yield outcomes as they come:

``status``             done or failed
``record``             what the measure returned, if done
``error``              why it failed, for a person; ``traceback``, if it is a bug
``seconds``            wall time of the process
``peak_memory_bytes``  the most memory that it had resident, if it came to its end
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sam.support.errors import UserError
from sam.support.yaml_sections import Count, Positive, Section

Settings = Mapping[str, Any]
Outcome = dict[str, Any]
Measure = Callable[[Settings], Mapping[str, Any]]  # a function of a module, or a partial of one
Task = tuple[str, Settings]  # a name for the point, and what the measure gets
Outcomes = Generator[tuple[str, Outcome], None, None]  # by the names of the tasks


class Limits(Section):
    """What one point may take; None for no limit.

    ``seconds``       wall time of its process
    ``memory_bytes``  private memory that it may have beside what its process starts with. An
                      allocation over the limit fails, whether its pages are touched or not
    ``cycles``        within which the run must be done
    """

    seconds: Positive | None = None
    memory_bytes: Count | None = None
    cycles: Count | None = None

    def model_post_init(self, _: Any) -> None:
        if self.memory_bytes is not None and sys.platform != "linux":
            raise UserError("memory can be limited on Linux only", hint="leave out memory_bytes")


def run_local(tasks: Iterable[Task], measure: Measure, limits: Limits, jobs: int) -> Outcomes:
    """The outcomes of the tasks as they come, on that many processes at a time.

    Where the iterator is closed before its end, the processes under way are ended.
    """
    waiting = deque(tasks)
    running: list[_Worker] = []
    with _Interrupts() as interrupts:
        context = _context(measure)
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    running.append(_Worker(context, *waiting.popleft(), measure, limits))
                with interrupts.welcome():
                    answers = [worker.answer for worker in running]
                    wait(answers, min(worker.left() for worker in running))
                for worker in [worker for worker in running if worker.is_over()]:
                    running.remove(worker)
                    yield worker.name, worker.end()
        finally:
            for worker in running:
                worker.stop()


def run_on_dask(tasks: Iterable[Task], measure: Measure, limits: Limits, address: str) -> Outcomes:
    """The outcomes of the tasks as they come, from the cluster whose scheduler has the address."""
    try:
        import distributed
    except ImportError:
        raise UserError(
            "--dask needs the package distributed",
            hint='pip install "sparse-abstract-machine[dask]"',
        ) from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError, TypeError):
        raise UserError(f"no Dask scheduler answers at {address}") from None
    with client:
        names = {
            client.submit(attempt, measure, settings, limits, pure=False): name
            for name, settings in tasks
        }
        try:
            for future in distributed.as_completed(list(names)):
                mistake = future.exception()
                lost = {"status": "failed", "error": f"lost by the Dask cluster: {mistake}"}
                yield names[future], future.result() if mistake is None else lost
        finally:
            client.cancel(list(names))


def attempt(measure: Measure, settings: Settings, limits: Limits) -> Outcome:
    """The outcome of one point, measured in a process of its own."""
    # The workers of a Dask cluster are daemons, which may not start processes.
    multiprocessing.current_process().daemon = False
    return next(run_local([("", settings)], measure, limits, jobs=1))[1]


_CONNECT_SECONDS = 10


class _Worker:
    """The process that measures one point."""

    def __init__(
        self, context: Any, name: str, settings: Settings, measure: Measure, limits: Limits
    ) -> None:
        self.name = name
        self.limits = limits
        self.answer, question = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(
            target=_work, args=(measure, settings, limits.memory_bytes, question)
        )
        self.process.start()  # returns when the server has forked it
        self.started = time.monotonic()
        question.close()

    def left(self) -> float:
        """Seconds until the limit."""
        if self.limits.seconds is None:
            return _FOREVER
        return max(0.0, self.started + self.limits.seconds - time.monotonic())

    def is_over(self) -> bool:
        """Whether it has answered, has come to its end, or has had its time."""
        return self.answer.poll() or self.left() <= 0

    def end(self) -> Outcome:
        """What came of it, which is over; ends its process."""
        outcome: Outcome = {"status": "failed"}
        try:
            if self.answer.poll():
                outcome = json.loads(self.answer.recv_bytes())
            else:
                outcome["error"] = f"over the limit of {self.limits.seconds:g} seconds"
        except (EOFError, OSError):
            self.process.join()
            outcome["error"] = _ending(self.process.exitcode)
        outcome["seconds"] = time.monotonic() - self.started
        self.stop()
        return outcome

    def stop(self) -> None:
        """Ends its process."""
        self.process.kill()
        self.process.join()
        self.process.close()
        self.answer.close()


_FOREVER = 3600.0  # seconds; what waits that long waits again


def _ending(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"its process ended with status {exit_code}"
    return f"its process was ended by {signal.Signals(-exit_code).name}"


def _context(measure: Measure) -> Any:
    """Processes that fork from a server, if they can, which has imported what they need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver  # which not every system has

    context = multiprocessing.get_context("forkserver")
    function = measure.func if isinstance(measure, partial) else measure
    package = function.__module__.partition(".")[0]
    loaded = [name for name in list(sys.modules) if name.partition(".")[0] == package]
    context.set_forkserver_preload(["__main__", *loaded])
    with _ignored_interrupts():  # else Ctrl-C would end the server while it imports
        forkserver.ensure_running()
    return context


class _Interrupts:
    """Lets Ctrl-C through in the main thread only where nothing is half done."""

    def __init__(self) -> None:
        self.pending = self.open = False

    def __enter__(self) -> _Interrupts:
        self.mine = _in_main_thread() and signal.getsignal(signal.SIGINT) == _RAISES
        if self.mine:
            signal.signal(signal.SIGINT, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        if self.mine:
            signal.signal(signal.SIGINT, _RAISES)

    def _came(self, *_: object) -> None:
        self.pending = True
        if self.open:
            raise KeyboardInterrupt

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """Lets them through, also one that came before."""
        self.open = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            yield
        finally:
            self.open = False


_RAISES = signal.default_int_handler


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """What is started meanwhile ignores Ctrl-C, too."""
    if not _in_main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(
    measure: Measure, settings: Settings, memory_bytes: int | None, question: Connection
) -> None:
    """Measures a point, in its process, and tells the outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with _limited_memory(memory_bytes):
            outcome: Outcome = {"status": "done", "record": measure(settings)}
    except UserError as mistake:
        outcome = {"status": "failed", "error": str(mistake)}
    except MemoryError:
        allowed = "" if memory_bytes is None else f": the limit is {memory_bytes:,} bytes"
        outcome = {"status": "failed", "error": f"out of memory{allowed}"}
    except Exception as bug:
        error = f"{type(bug).__name__}: {bug}"
        outcome = {"status": "failed", "error": error, "traceback": traceback.format_exc()}
    outcome["peak_memory_bytes"] = _peak_memory()
    question.send_bytes(json.dumps(outcome).encode())


def _end_with_parent() -> None:
    """Ends this process when its parent has gone, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _limited_memory(extra_bytes: int | None) -> Iterator[None]:
    """Lets this process have so many bytes more than it has now."""
    if extra_bytes is None:
        yield
        return
    import resource  # which not every system has

    has = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (has + extra_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _peak_memory() -> int | None:
    """In bytes; None where the machine does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
