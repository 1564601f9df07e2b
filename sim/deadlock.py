"""The report of a deadlock: the blocks that wait for each other, and the queues between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sam.graph import Edge
from sam.support.errors import UserError


@dataclass(frozen=True)
class WaitingBlock:
    """A block that waits for room in a full queue that it writes, or for a token in an empty queue.

    ``giver`` is the part that gives to the edge, if that is one half of the edge's source.
    """

    edge: Edge
    full: bool
    giver: str | None = None

    @property
    def waiting(self) -> str:
        """The block that waits."""
        return self._source if self.full else self.edge.target.node

    @property
    def awaited(self) -> str:
        """The block that it waits for."""
        return self.edge.target.node if self.full else self._source

    @property
    def _source(self) -> str:
        return self.giver or self.edge.source.node


def deadlock(waits: Sequence[WaitingBlock], held: Mapping[Edge, int], cycle: int) -> UserError:
    """The error for a machine in which nothing can move after ``cycle``.

    ``waits`` has one entry for each block that is not done; ``held`` the tokens in each queue.
    """
    by_block = {wait.waiting: wait for wait in waits}
    path = [waits[0]]
    while path[-1].awaited in by_block and by_block[path[-1].awaited] not in path:
        path.append(by_block[path[-1].awaited])
    after = by_block.get(path[-1].awaited)
    if after is None:
        last = path[-1]
        return UserError(
            f"the simulation stops after cycle {cycle}: {last.waiting} waits for a token on "
            f"{last.edge}, and {last.awaited} is done"
        )
    circle = path[path.index(after) :]
    lines = [
        f"  {wait.waiting} waits for {'room' if wait.full else 'a token'} on {wait.edge} "
        f"({f'full, {_count(held[wait.edge])}' if wait.full else 'empty'})"
        for wait in circle
    ]
    who = "a block waits for itself"
    if len(circle) > 1:
        who = f"{len(circle)} blocks wait for each other"
    return UserError(
        f"deadlock after cycle {cycle}: {who}\n" + "\n".join(lines),
        hint="make the full queues deeper, as in --set queues.depth=64",
    )


def _count(tokens: int) -> str:
    return "1 token" if tokens == 1 else f"{tokens} tokens"
