"""Queues and wires between blocks, in the time of SimPy."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import simpy

from sam.token import EMPTY
from sim.attribution.log import Passed
from sim.attribution.over_time import add
from sim.machine import Channel
from sim.stream_checker import Watch


class Queue:
    """A stream from one block to another, with room for ``depth`` tokens."""

    def __init__(self, environment: simpy.Environment, channel: Channel) -> None:
        self.environment, self.edge, self.giver = environment, channel.edge, channel.giver
        self.number, self.depth, self.latency = channel.number, channel.depth, channel.latency
        self.tokens: deque[tuple[Any, Any, int]] = deque()
        self.moved: tuple[np.ndarray, np.ndarray] | None = None
        self.history: list[Passed] | None = None
        self.passed = 0
        self.peak = 0
        self.last_taken = -1
        self.reader: simpy.Event | None = None
        self.writer: simpy.Event | None = None

    def room(self) -> bool:
        """Whether a token may be given in this cycle."""
        if self.depth is None:
            return True
        used = len(self.tokens) + (self.last_taken == self.environment.now)
        return used < self.depth

    def push(self, kind: int, value: Any, made: int) -> None:
        """Gives a token that is made in this cycle or a later one."""
        if self.moved is not None:
            add(self.moved[0], int(self.environment.now))
        if self.history is not None:
            self.history.append(Passed(kind, value, int(self.environment.now), made + self.latency))
        self.tokens.append((kind, value, made + self.latency))
        held = len(self.tokens) + (self.last_taken == self.environment.now)
        self.peak = max(self.peak, held)
        if self.reader is not None:
            self.reader.succeed()
            self.reader = None

    def pop(self) -> None:
        if self.moved is not None:
            add(self.moved[1], int(self.environment.now))
        if self.history is not None:
            self.history[self.passed].taken = int(self.environment.now)
            self.passed += 1
        self.tokens.popleft()
        self.last_taken = int(self.environment.now)
        if self.writer is not None:
            self.writer.succeed()
            self.writer = None

    def token_comes(self) -> simpy.Event:
        """An event: the next token becomes visible, or is given."""
        if self.tokens:
            return self.environment.timeout(self.tokens[0][2] - self.environment.now)
        self.reader = self.environment.event()
        return self.reader

    def room_comes(self) -> simpy.Event:
        """An event: room becomes usable, or is made."""
        if self.depth is not None and len(self.tokens) < self.depth:
            return self.environment.timeout(1)
        self.writer = self.environment.event()
        return self.writer


class WatchedQueue(Queue):
    """A queue that tells a validator of the tokens that it is given."""

    watch: Watch

    def push(self, kind: int, value: Any, made: int) -> None:
        self.watch(kind, value)
        super().push(kind, value, made)


class Wire(Queue):
    """A wire, with its last message that was read and the messages that become visible later.

    ``read_in``  the firings of its reader in which messages were read
    """

    def __init__(self, environment: simpy.Environment, channel: Channel) -> None:
        super().__init__(environment, channel)
        self.newest: tuple[int, Any] = (EMPTY, 0)
        self.read_in: list[int] = []

    def room(self) -> bool:
        return True

    def push(self, kind: int, value: Any, made: int) -> None:
        self.tokens.append((kind, value, made + self.latency))
        self.peak = 1

    def read(self, firing: int, cycle: int) -> None:
        """Reads all messages for a firing that are visible in a cycle, in which it may happen."""
        while self.tokens and self.tokens[0][2] <= cycle:
            self.newest = self.tokens.popleft()[:2]
            self.read_in.append(firing)

    def lacks(self, firing: int) -> bool:
        """Whether a firing has to wait for a message."""
        return False


class KeptWire(Wire):
    """A wire of which each firing reads the messages that it read in another run."""

    def __init__(
        self, environment: simpy.Environment, channel: Channel, firings: Iterator[int]
    ) -> None:
        super().__init__(environment, channel)
        self.firings, self.next = firings, next(firings, None)

    def push(self, kind: int, value: Any, made: int) -> None:
        super().push(kind, value, made)
        if self.reader is not None:
            self.reader.succeed()
            self.reader = None

    def read(self, firing: int, cycle: int) -> None:
        """Reads the messages of a firing that are visible by now."""
        now = self.environment.now
        while self.next == firing and self.tokens and self.tokens[0][2] <= now:
            self.newest = self.tokens.popleft()[:2]
            self.next = next(self.firings, None)

    def lacks(self, firing: int) -> bool:
        return self.next == firing
