"""The order in which a run was served: its requests to memory, and its reads of wires.

Where blocks share a memory or read wires, a block that is faster changes the order in which others
are served, and that may cost cycles. In a run that keeps the order of another run, each firing does
the same work, and comes no later if what it waits for comes no later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sam.support.errors import UserError

if TYPE_CHECKING:
    from sim.machine import Machine

Array = np.ndarray[Any, Any]

# As in sim/compiled/order.h: the bits of a word that count the requests of a run, and the byte that
# others are added to.
RUN_BITS, MOST_OF_A_BYTE = 8, 255
_MOST_IN_RUN = (1 << RUN_BITS) - 1


@dataclass(frozen=True, eq=False)
class Order:
    """The order of service of a run.

    ``askers``    the blocks that share a memory; none where no two do
    ``requests``  runs of requests of one block: a word each, the number of the block in ``askers``
                  and in the lowest ``RUN_BITS`` how many
    ``reads``     by the number of a wire: for each message that was read, in a byte, the firings of
                  its reader since the message before was read; more bytes are added to a byte of
                  ``MOST_OF_A_BYTE``
    """

    askers: tuple[str, ...]
    requests: Array
    reads: Mapping[int, Array]

    def require_fit(self, machine: Machine) -> None:
        """Raises UserError if the machine is of another graph, or shares its memory otherwise."""
        wires = [channel.number for channel in machine.channels if channel.wire]
        names = tuple(part.name for part in machine.askers)
        fits = self.askers == names if self.askers else not machine.shares_memory
        if not fits or [*self.reads] != wires:
            raise UserError(
                "the order of service is that of another machine",
                hint="the order of a run of the same graph, whose blocks ask the same memory",
            )


def cannot_keep() -> UserError:
    """The error for a machine that has come to a stop, as it cannot be served in an order."""
    return UserError(
        "this machine cannot keep the order of service: the next block to be served waits for a "
        "later one",
        hint="queues that are no shorter than those of the run that the order is of",
    )


def order_of(machine: Machine, requests: Array, reads: Sequence[Array]) -> Order | None:
    """The order of service of a machine, if its work depends on it; ``reads`` are by wire."""
    wires = [one.number for one in machine.channels if one.wire]
    if not (machine.shares_memory or wires):
        return None
    return Order(
        askers=tuple(part.name for part in machine.askers) if machine.shares_memory else (),
        requests=requests,
        reads=dict(zip(wires, reads, strict=True)),
    )


def in_runs(askers: Sequence[int]) -> Array:
    """The runs of requests whose blocks have these numbers."""
    words: list[int] = []
    for asker in askers:
        if words and words[-1] >> RUN_BITS == asker and words[-1] & _MOST_IN_RUN < _MOST_IN_RUN:
            words[-1] += 1
        else:
            words.append(asker << RUN_BITS | 1)
    return np.array(words, np.uint32)


def one_by_one(runs: Array) -> Iterator[int]:
    """The numbers of the blocks of requests, one by one."""
    for word in map(int, runs):
        for _ in range(word & _MOST_IN_RUN):
            yield word >> RUN_BITS


def in_bytes(firings: Iterable[int]) -> Array:
    """The bytes of messages that were read in firings of these numbers."""
    found, before = bytearray(), 0
    for firing in firings:
        more, rest = divmod(firing - before, MOST_OF_A_BYTE)
        found += bytes([MOST_OF_A_BYTE] * more + [rest])
        before = firing
    return np.frombuffer(bytes(found), np.uint8)


def firings_of(read: Array) -> Iterator[int]:
    """The numbers of the firings in which messages were read, one by one."""
    firing = 0
    for byte in map(int, read):
        firing += byte
        if byte < MOST_OF_A_BYTE:
            yield firing
