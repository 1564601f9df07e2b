"""Measures points in other processes, so that a bad point does not take others along.

``run_local`` measures on this machine: each of its processes measures one point after another,
within limits. ``run_on_dask`` has the workers of a Dask cluster do the same. Both yield outcomes as
they come:

``status``             done or failed
``record``             what the measure returned, if done
``error``              why it failed, for a person; ``traceback``, if it is a bug
``seconds``            wall time of the point, with the start of its process if it has a new one
``peak_memory_bytes``  the most memory that its process had resident meanwhile; null or left out
                       where nobody knows
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from custard.cli.sweeps.measuring import Measure, Outcome, Settings, serve
from sam.support.errors import UserError
from sam.support.yaml_sections import Count, Positive, Section

Task = tuple[str, Settings]  # a name for the point, and what the measure gets
Outcomes = Generator[tuple[str, Outcome], None, None]  # by the names of the tasks


class Limits(Section):
    """What one point may take; None for no limit.

    ``seconds``       wall time
    ``memory_bytes``  private memory that its process may have beside what it starts with. An
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

    A process measures one point after another. If it dies, runs out of memory or meets a bug, and
    has measured other points before, the point is measured once more, in a fresh process, so that
    no point fails by what others left behind. If the iterator is closed before its end, the
    processes under way are ended.
    """
    waiting = deque(tasks)
    busy: list[_Worker] = []
    idle: list[_Worker] = []
    with _Interrupts() as interrupts:
        context = _context(measure)
        try:
            while waiting or busy:
                while waiting and len(busy) < jobs:
                    busy.append(idle.pop() if idle else _Worker(context, measure, limits))
                    busy[-1].ask(waiting.popleft())
                while idle:  # there is nothing left for it
                    idle.pop().stop()
                with interrupts.welcome():
                    answers = [worker.connection for worker in busy]
                    wait(answers, min(worker.left() for worker in busy))
                for worker in [worker for worker in busy if worker.is_over()]:
                    busy.remove(worker)
                    name, outcome = worker.task[0], worker.end()
                    if worker.is_spent:
                        worker.stop()
                    else:
                        idle.append(worker)
                    if outcome is None:
                        busy.append(_Worker(context, measure, limits))
                        busy[-1].ask(worker.task)
                    else:
                        yield name, outcome
        finally:
            for worker in (*busy, *idle):
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
    """A process that measures points, and the point that it measures now."""

    def __init__(self, context: Any, measure: Measure, limits: Limits) -> None:
        self.limits = limits
        self.is_fresh = True
        self.is_spent = False
        self.connection, asked = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=serve, args=(measure, limits.memory_bytes, asked)
        )
        self.process.start()  # returns when the server has forked it
        asked.close()

    def ask(self, task: Task) -> None:
        """Has it measure a point."""
        self.task = task
        self.started = time.monotonic()
        with suppress(OSError):  # where it has died, the answer tells
            self.connection.send(task[1])

    def left(self) -> float:
        """Seconds until the limit."""
        if self.limits.seconds is None:
            return _FOREVER
        return max(0.0, self.started + self.limits.seconds - time.monotonic())

    def is_over(self) -> bool:
        """Whether it has answered, has come to its end, or has had its time."""
        return self.connection.poll() or self.left() <= 0

    def end(self) -> Outcome | None:
        """What came of its point, which is over.

        None if the point is to be measured in a fresh process: if this one could not go on, and
        had measured others before. A process that ``is_spent`` then is only good for ``stop``.
        """
        outcome: Outcome = {"status": "failed"}
        is_late = not self.connection.poll()
        try:
            if is_late:
                self.is_spent = True
                outcome["error"] = f"over the limit of {self.limits.seconds:g} seconds"
            else:
                answer = json.loads(self.connection.recv_bytes())
                outcome, self.is_spent = answer["outcome"], answer["spent"]
        except (EOFError, OSError):
            self.is_spent = True
            self.process.join()
            outcome["error"] = _ending(self.process.exitcode)
        outcome["seconds"] = time.monotonic() - self.started
        was_fresh, self.is_fresh = self.is_fresh, False
        failed = self.is_spent and outcome["status"] == "failed"
        return None if failed and not was_fresh and not is_late else outcome

    def stop(self) -> None:
        """Ends its process."""
        self.process.kill()
        self.process.join()
        self.process.close()
        self.connection.close()


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
