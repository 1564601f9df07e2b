"""Ports and memory, as steps see them: each notes the tokens and entries of a firing."""

from __future__ import annotations

from typing import Any, TypeAlias

from sam.memory_regions import Region
from sim.memory.hierarchy import Access
from sim.reference.queues import Queue, Wire
from sim.stats import TOKEN_KINDS


class Starved(Exception):
    """A step asked for a token that is not there."""

    def __init__(self, port: StepInput | WireEnd) -> None:
        self.port = port


class WireEnd:
    """An input port that is a wire, as steps see it; it is read before the step."""

    def __init__(self, name: str, wire: Wire) -> None:
        self.name, self.queue = name, wire

    def latest(self) -> tuple[int, Any]:
        return self.queue.newest


class StepInput:
    """An input port, as steps see it."""

    def __init__(self, taken: list[Queue], name: str, queue: Queue) -> None:
        self.taken, self.name, self.queue = taken, name, queue
        self.environment, self.tokens = queue.environment, queue.tokens

    def peek(self) -> tuple[int, Any]:
        if self.tokens:
            kind, value, visible = self.tokens[0]
            if visible <= self.environment.now:
                return kind, value
        raise Starved(self)

    def take(self) -> None:
        self.taken.append(self.queue)


class StepOutput:
    """An output port, as steps see it, with a queue to each of its readers."""

    def __init__(self, given: list[Given], name: str, queues: list[Queue]) -> None:
        self.given, self.name, self.queues = given, name, queues
        self.counts = [0, 0, 0, 0]

    def give(self, kind: int, value: Any) -> None:
        self.given.append((self, kind, value))

    def tokens(self) -> dict[str, int]:
        return dict(zip(TOKEN_KINDS, self.counts, strict=True))


class MemoryAccess:
    """Memory, as steps see it."""

    def __init__(self, accesses: list[Access]) -> None:
        self.accesses = accesses

    def read(self, region: Region, index: int) -> None:
        self.accesses.append((region, index, False))

    def write(self, region: Region, index: int) -> None:
        self.accesses.append((region, index, True))


class IdealMemory:
    """Memory that takes no time, as steps see it."""

    def read(self, region: Region, index: int) -> None:
        pass

    def write(self, region: Region, index: int) -> None:
        pass


Given: TypeAlias = tuple[StepOutput, int, Any]
"""A token that a firing gives: its port, its kind and its value."""
