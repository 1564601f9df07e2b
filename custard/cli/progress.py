"""Progress of long work, on a terminal."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


class Progress:
    """Shows on a terminal that kernels are compiled, and the cycle that a long run has come to."""

    def __init__(self) -> None:
        self.status: Status | None = None
        self.started = time.perf_counter()
        self.what = ""
        self.closed = False

    @cached_property
    def console(self) -> Console:
        from rich.console import Console  # here, as little takes long

        return Console(stderr=True)

    def __call__(self, cycle: int) -> None:
        seconds = time.perf_counter() - self.started
        if seconds >= 1:
            before = f"{self.what}: " if self.what else ""
            self.show(f"{before}{cycle:,} cycles, {cycle / seconds:,.0f} cycles/s")

    def trying(self, what: str) -> None:
        """Shows that another run begins, ``what`` it tries."""
        self.started = time.perf_counter()
        self.what = f"trying {what}"
        self.show(self.what)

    def compiling(self, kernels: int) -> None:
        """Shows how many kernels are compiled; 0 once they are, when the run goes on."""
        if kernels:
            many = "1 kernel" if kernels == 1 else f"{kernels:,} kernels"
            self.show(f"compiling {many}, once on this machine")
        else:
            self._stop()
            self.started = time.perf_counter()

    def show(self, text: str) -> None:
        """Shows a text in place of the one before."""
        if self.closed or not self.console.is_terminal:
            return
        if self.status is None:
            self.status = self.console.status(text)
            self.status.start()
        self.status.update(text)

    def _stop(self) -> None:
        if self.status is not None:
            self.status.stop()
            self.status = None

    def __enter__(self) -> Progress:
        self.closed, self.what = False, ""
        return self

    def __exit__(self, *_: object) -> None:
        """Shows nothing more: a run may be run again later, and tells the same progress."""
        self._stop()
        self.closed = True
