"""Measures points in other processes, so that a bad point does not end the others.

``run_local`` measures on this machine: each of its processes measures one point after another,
within limits. ``run_on_dask`` has the workers of a Dask cluster do the same. Both yield outcomes as
they come:

``status``             done or failed
``record``             what the measure returned, if done
``error``              why it failed, for a person; ``traceback``, if it is a bug; ``reached``, the
                       record of the first cycles of a run that took more than its limit
``seconds``            wall time of the point; its share, if several were measured together
``peak_memory_bytes``  the most memory that its process had resident meanwhile, for all points
                       measured together; null or left out where unknown
"""

from __future__ import annotations

import json
import math
import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from custard.cli.sweeps import server
from custard.cli.sweeps.measuring import Measure, MeasureTogether, Outcome, Settings, serve
from sam.support.errors import UserError
from sam.support.yaml_sections import Count, Positive, Section

Task = tuple[str, Settings]  # the name and the settings of a point
Outcomes = Generator[tuple[str, Outcome], None, None]  # by the names of the tasks


class Limits(Section):
    """The limits of a point; None for no limit.

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


@dataclass(frozen=True)
class Together:
    """The joint measurement of points that have something in common.

    ``key``      equal for settings that can be measured together
    ``measure``  measures some, and tells the record of each, or its error, as it is found
    """

    key: Callable[[Settings], str]
    measure: MeasureTogether


def run_local(
    tasks: Iterable[Task],
    measure: Measure,
    limits: Limits,
    jobs: int,
    together: Together | None = None,
) -> Outcomes:
    """The outcomes of the tasks as they come, on that many processes at a time.

    A process measures one point after another. If it dies, runs out of memory or meets a bug, and
    has measured other points before, the point is measured once more, in a fresh process, so that
    no point fails because of others before it. In the same way points that were measured together
    are measured each alone, if they have no outcome by then. If the iterator is closed before its
    end, the processes under way are ended. If fewer points are left than ``jobs``, a point by
    itself gets ``threads`` among its settings: how many it may use.
    """
    waiting = deque(_groups(tasks, jobs, together))
    busy: list[_PointWorker] = []
    idle: list[_PointWorker] = []
    with _Interrupts() as interrupts:
        context = _context(measure)

        def fresh() -> _PointWorker:
            return _PointWorker(context, measure, together, limits)

        try:
            while waiting or busy:
                while waiting and len(busy) < jobs:
                    spare = jobs // (len(busy) + len(waiting))
                    busy.append(idle.pop() if idle else fresh())
                    busy[-1].ask(_with_threads(waiting.popleft(), spare))
                while idle:  # no points are left for it
                    idle.pop().stop()
                with interrupts.welcome():
                    answers = [worker.connection for worker in busy]
                    wait(answers, min(worker.left() for worker in busy))
                for worker in [worker for worker in busy if worker.has_news()]:
                    found = worker.news()
                    if worker.is_over:
                        busy.remove(worker)
                        if worker.is_spent:
                            worker.stop()
                        else:
                            idle.append(worker)
                        if worker.doubtful is not None:
                            busy.append(fresh())
                            busy[-1].ask([worker.doubtful])
                        waiting.extendleft([task] for task in reversed(worker.tasks.values()))
                    if found is not None:
                        yield found
        finally:
            for worker in (*busy, *idle):
                worker.stop()


def _with_threads(group: list[Task], threads: int) -> list[Task]:
    """A point that several processors are left for, with the number of threads that it may use."""
    if len(group) > 1 or threads < 2:
        return group
    [(name, settings)] = group
    return [(name, {**settings, "threads": threads})]


def _groups(tasks: Iterable[Task], jobs: int, together: Together | None) -> list[list[Task]]:
    """The tasks in as many lists as jobs; the points of a list are measured together."""
    if together is None:
        return [[task] for task in tasks]
    alike: dict[str, list[Task]] = {}
    for task in tasks:
        alike.setdefault(together.key(task[1]), []).append(task)
    count = sum(map(len, alike.values()))
    most = min(_MOST_TOGETHER, math.ceil(count / jobs))
    groups = []
    for same in alike.values():
        parts = math.ceil(len(same) / most)
        bounds = [len(same) * part // parts for part in range(parts + 1)]
        groups += [same[begin:end] for begin, end in pairwise(bounds)]
    return groups


_MOST_TOGETHER = 32


def run_on_dask(
    tasks: Iterable[Task],
    measure: Measure,
    limits: Limits,
    address: str,
    together: Together | None = None,
) -> Outcomes:
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
        workers = max(1, len(client.scheduler_info()["workers"]))
        groups = {
            client.submit(attempt, measure, group, limits, together, pure=False): group
            for group in _groups(tasks, workers, together)
        }
        try:
            for future in distributed.as_completed(list(groups)):
                mistake = future.exception()
                if mistake is None:
                    yield from future.result()
                else:
                    lost = {"status": "failed", "error": f"lost by the Dask cluster: {mistake}"}
                    yield from ((name, lost) for name, _ in groups[future])
        finally:
            client.cancel(list(groups))


def attempt(
    measure: Measure, group: Sequence[Task], limits: Limits, together: Together | None = None
) -> list[tuple[str, Outcome]]:
    """The outcomes of some points, measured in a process of their own."""
    # The workers of a Dask cluster are daemons, which may not start processes.
    multiprocessing.current_process().daemon = False
    return list(run_local(group, measure, limits, 1, together))


_CONNECT_SECONDS = 10


class _PointWorker:
    """A process that measures points, and the points that it measures now.

    ``tasks``     the tasks that have no outcome yet, by their place
    ``is_over``   whether there will be no more answers about these tasks
    ``is_spent``  whether it is only good for ``stop``
    ``doubtful``  a task that failed, perhaps because of earlier points in the process
    """

    def __init__(
        self, context: Any, measure: Measure, together: Together | None, limits: Limits
    ) -> None:
        self.limits = limits
        self.is_fresh = True
        self.connection, asked = context.Pipe()
        many = None if together is None else together.measure
        self.process: BaseProcess = context.Process(
            target=serve, args=(measure, many, limits.memory_bytes, asked)
        )
        self.process.start()  # returns when the server has forked it
        asked.close()

    def ask(self, group: Sequence[Task]) -> None:
        """Asks it to measure points, together if they are several."""
        self.tasks = dict(enumerate(group))
        self.is_alone = len(group) == 1
        self.is_over = self.is_spent = False
        self.doubtful: Task | None = None
        self.started = time.monotonic()
        with suppress(OSError):  # where it has died, the answer tells
            self.connection.send([settings for _, settings in group])

    def left(self) -> float:
        """Seconds until the limit.

        The limit for points that are measured together grows with their number, to at least two
        points' limits: an outcome may come with the next one.
        """
        if self.limits.seconds is None:
            return _FOREVER
        count = 1 if self.is_alone else 1 + max(1, _SHARE_TOGETHER * len(self.tasks))
        return max(0.0, self.started + self.limits.seconds * count - time.monotonic())

    def has_news(self) -> bool:
        """Whether it has answered, has ended, or has used up its time."""
        return self.connection.poll() or self.left() <= 0

    def news(self) -> tuple[str, Outcome] | None:
        """The name and the outcome of a point, or None, after which it may be over."""
        if not self.connection.poll():
            self.is_over = self.is_spent = True
            return self._fail(f"over the limit of {self.limits.seconds:g} seconds")
        try:
            answer = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            self.is_over = self.is_spent = True
            self.process.join()
            return self._fail(_ending(self.process.exitcode), doubtful=True)
        if "spent" in answer:
            self.is_over, self.is_spent = True, answer["spent"]
            self.is_fresh = False
            return None
        task = self.tasks.pop(answer["at"])
        self.started = time.monotonic()
        if answer["doubtful"] and not self.is_fresh:
            self.doubtful = task
            return None
        return task[0], answer["outcome"]

    def _fail(self, error: str, doubtful: bool = False) -> tuple[str, Outcome] | None:
        """The outcome of its only point; of several points, none is at fault."""
        if not self.is_alone or not self.tasks:
            return None
        _, task = self.tasks.popitem()
        if doubtful and not self.is_fresh:
            self.doubtful = task
            return None
        seconds = time.monotonic() - self.started
        return task[0], {"status": "failed", "error": error, "seconds": seconds}

    def stop(self) -> None:
        """Ends its process."""
        self.process.kill()
        self.process.join()
        self.process.close()
        self.connection.close()


_FOREVER = 3600.0  # seconds; what waits that long waits again
_SHARE_TOGETHER = 0.25  # of the limit of each point


def _ending(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"its process ended with status {exit_code}"
    return f"its process was ended by {signal.Signals(-exit_code).name}"


def _context(measure: Measure) -> Any:
    """Processes that have the modules that this process has of the measure's package."""
    function = measure.func if isinstance(measure, partial) else measure
    package = function.__module__.partition(".")[0]
    return server.context(name for name in list(sys.modules) if name.partition(".")[0] == package)


class _Interrupts:
    """Lets Ctrl-C through in the main thread only where nothing is half done."""

    def __init__(self) -> None:
        self.pending = self.open = False

    def __enter__(self) -> _Interrupts:
        self.mine = server.in_main_thread() and signal.getsignal(signal.SIGINT) == _RAISES
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
        """Lets interrupts through, also one that came before."""
        self.open = True
        try:
            if self.pending:
                raise KeyboardInterrupt
            yield
        finally:
            self.open = False


_RAISES = signal.default_int_handler
