"""Work in processes of their own, which have bounds and can be ended.

A process does one request after the other. If a request takes too long, or its user cancels it, the
process is killed, and the next request gets a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from sam.support.errors import UserError

_GIB = 2**30


class Busy(UserError):
    """Raised where there is more work than the server takes."""


def _serve(connection: Connection, answer: Callable[[Any], Any], most_bytes: int) -> None:
    """The loop of a process: it answers requests until there are no more."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    os.setsid()
    while True:
        try:
            request = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            found = answer(request)
        except Exception as mistake:  # an answer too: the page must not wait for ever
            found = {"error": f"this is a mistake of the program: {mistake!r}"}
        connection.send(found)


class Worker:
    """Does requests one after the other, in a process of its own.

    ``answer``      the function that the process calls
    ``seconds``     how long a request may take
    ``most``        how many may wait
    ``most_bytes``  the memory that the process may have
    """

    def __init__(
        self,
        answer: Callable[[Any], Any],
        seconds: float,
        most: int,
        most_bytes: int = 4 * _GIB,
    ) -> None:
        self.answer, self.seconds, self.most, self.most_bytes = answer, seconds, most, most_bytes
        self.context = multiprocessing.get_context("spawn")
        self.process: Any = None
        self.connection: Connection | None = None
        self.turn = asyncio.Lock()
        self.waiting = 0

    async def do(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request; a cancelled request ends the work. Raises Busy."""
        if self.waiting >= self.most:
            raise Busy(f"{self.waiting} requests wait already", hint="try again in a while")
        self.waiting += 1
        try:
            async with self.turn:
                return await self._done(request)
        finally:
            self.waiting -= 1

    async def _done(self, request: Mapping[str, Any]) -> dict[str, Any]:
        connection = self._connected()
        loop = asyncio.get_running_loop()
        try:
            connection.send(request)
            ready = asyncio.Event()
            loop.add_reader(connection.fileno(), ready.set)
            try:
                await asyncio.wait_for(ready.wait(), self.seconds)
            finally:
                loop.remove_reader(connection.fileno())
            found: dict[str, Any] = await asyncio.to_thread(connection.recv)
            return found
        except (TimeoutError, asyncio.TimeoutError):  # one and the same from Python 3.11 on
            self.close()
            return {"error": f"this took more than {self.seconds:g} s, and was ended"}
        except (EOFError, OSError):
            self.close()
            return {"error": "the run needs more memory than the server gives to a run"}
        except asyncio.CancelledError:
            self.close()
            raise

    def _connected(self) -> Connection:
        if self.process is None or not self.process.is_alive():
            self.close()
            self.connection, theirs = self.context.Pipe()
            arguments = (theirs, self.answer, self.most_bytes)
            self.process = self.context.Process(target=_serve, args=arguments, daemon=True)
            self.process.start()
            theirs.close()
        assert self.connection is not None
        return self.connection

    def close(self) -> None:
        """Ends the process, even in the middle of a request."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError, OSError):
                os.killpg(self.process.pid, 9)
            self.process.kill()
            self.process.join(5)
        if self.connection is not None:
            self.connection.close()
        self.process = self.connection = None
