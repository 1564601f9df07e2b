"""Codes of firings: the effect of each firing on the ports of its part.

The tokens of a graph without wires do not depend on time (it is a Kahn
network), and neither do the codes: one run without time finds them for all machines. Together with
depths, latencies and initiation intervals they decide the cycle of each firing, and which port was
the last that it waited for. The entries of memory that a firing touches do not depend on time
either: which region it touches is part of the code, and the indices are kept beside the codes.

A part has few distinct codes: ``FiringCode`` is the meaning of a code. The firings of a part are a
sequence of bytes:

=========  ==========================================================================
0 to 222   a firing with that code
223        a firing with the code in the next two bytes, the lower one first
224 + n    the last firing comes again, 16 * 2**n times more (n up to 30)
=========  ==========================================================================

So a firing takes a byte at most, unless a part has more than 223 codes, and long runs take next to
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sim.retiming.firing_kernel import Event

WIDE, REPEAT, GROUP = 223, 224, 16


@dataclass(frozen=True)
class FiringCode:
    """The effect of a firing, by the numbers of its part's inputs and outputs.

    ``waits``  the inputs at which it needs a token, in the order in which its step asks for them
    ``takes``  the inputs of ``waits`` whose token it takes
    ``gives``  the outputs that it gives a token to, in order; it waits for room in each
    ``touches``  the entries of memory that it touches, in order: the region, whether it writes, and
                 whether these are any number of entries, which comes ahead of their indices
    """

    waits: tuple[int, ...]
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    touches: tuple[tuple[int, bool, bool], ...] = ()


def code_of(path: int, events: Sequence[Event]) -> FiringCode:
    """The code that a path of bits stands for."""
    sides: dict[str, dict[int, None]] = {"wait": {}, "take": {}, "give": {}}
    touches = []
    for bit, event in enumerate(events):
        if path >> bit & 1:
            if event.side in sides:
                sides[event.side] |= dict.fromkeys(event.ports)
            else:
                touches += [(region, event.side == "write", event.many) for region in event.ports]
    waits, takes, gives = (tuple(side) for side in sides.values())
    return FiringCode(waits, tuple(sorted(takes)), gives, tuple(touches))


def unpack(packed: bytes) -> Iterator[tuple[int, int]]:
    """The codes in order, each with the number of times that it repeats."""
    at, code = 0, -1
    while at < len(packed):
        byte = packed[at]
        at += 1
        if byte >= REPEAT:
            yield code, GROUP << (byte - REPEAT)
            continue
        code = byte
        if byte == WIDE:
            code = packed[at] | packed[at + 1] << 8
            at += 2
        yield code, 1
