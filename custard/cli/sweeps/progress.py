"""How far a sweep is: a bar on a terminal, elsewhere a line on stderr now and then."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

_FIRST_SECONDS, _LAST_SECONDS = 10.0, 600.0  # between two lines
_LATER = 0.25  # of the time so far, until the next line


class SweepProgress:
    """Shows how many points have a result while it is entered.

    ``total`` points, of which ``there`` had one before.
    """

    def __init__(self, title: str, total: int, there: int) -> None:
        self.title, self.total, self.there = title, total, there
        self.ran = self.failed = 0
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.over = threading.Event()
        self.lines = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> SweepProgress:
        self.started = time.monotonic()
        self.bar.start()
        self.shown = self.bar.add_task(self.title, total=self.total, completed=self.there)
        if not self.console.is_terminal:
            self.lines.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()
        self.over.set()
        if self.lines.is_alive():
            self.lines.join()

    def advance(self, failed: int) -> None:
        """Counts one more point that has a result; ``failed`` is the number of failures so far."""
        self.ran += 1
        self.failed = failed
        description = f"{self.title} {failed} failed"
        self.bar.update(self.shown, advance=1, description=description)

    def _tell(self) -> None:
        """Prints lines until the sweep is over."""
        pause = _FIRST_SECONDS
        while not self.over.wait(pause):
            elapsed = time.monotonic() - self.started
            with suppress(OSError):  # nobody listens
                self.console.print(self.line(elapsed), markup=False)
            pause = min(max(_FIRST_SECONDS, _LATER * elapsed), _LAST_SECONDS)

    def line(self, elapsed: float) -> str:
        """The line to print after ``elapsed`` seconds."""
        told = f"{self.title}: {self.there + self.ran} of {self.total} points"
        if self.failed:
            told += f", {self.failed} failed"
        if self.ran:
            left = elapsed / self.ran * (self.total - self.there - self.ran)
            told += f", about {_in_words(left)} left"
        return f"{told} ({_in_words(elapsed)} so far)"


def _in_words(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"
