"""The ports of blocks: the kind of a stream that goes in or comes out, and what its tokens mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Positions:
    """The meaning of references: positions from which fibers of a level of a tensor hang.

    ``slot``   the slot of the graph; None for the result, whose writers number its positions
    ``level``  the level; the number of all levels, or None, for the values
    """

    slot: str | None
    level: int | None


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of a level of a slot, or of an index ``variable`` where that is not None."""

    slot: str | None = None
    level: int | None = None
    variable: str | None = None


ROOT = Positions("", 0)
"""The one position from which the outermost levels of all tensors hang."""

Meaning = Positions | Coordinates


@dataclass(frozen=True)
class Port:
    """A port of a kind of block.

    ``stream``  "crd", "ref", "val" or "bv" (words of bits); "any" where the block passes on
                whatever comes
    ``depth``   the depth of its stream, counted from the shallowest port of the block
    ``group``   the name of the tuple of ports that steps see it in, if it is one of several
    ``optional``  whether it may be left unconnected
    ``operand``   which operand of the block an input belongs to. Inputs of one operand are one
                  nested list: of one depth they have one shape, and a token of a shallower one
                  owns a fiber of a deeper one. Two operands share only the ends of their fibers
    ``payload``   whether it takes any tokens that go along with coordinates; a crd input that is
                  none takes coordinates in order
    ``own``       how many levels of its operand's shallowest stream no other operand shares: a lane
                  has fibers of its own
    ``wire``      whether it is no queue: its writer never waits for room, its reader never for a
                  message, and each message takes the place of the one before. Streams to wires
                  have no shape and no end, and loops of a graph may go through them
    ``feedback``  whether its stream may come back in a loop of the graph, as a list of released
                  tiles does; its queue is a counter, and always has room
    ``of``        of an output: the inputs whose tokens it passes on, some or all, in any order
    ``below``     of an output: the input from whose positions the ones that it gives hang
    ``loop``      whether its coordinates are those of a loop that the block adds to the references
                  that go through it
    ``meaning``   what the tokens mean: of an input, what they must mean for the block to find what
                  it reads; of an output that makes them, what it makes
    ``counts``    the port of words of bits whose ones these references count, word by word
    """

    name: str
    direction: str
    stream: str
    depth: int = 0
    group: str | None = None
    optional: bool = False
    operand: int = 0
    payload: bool = False
    own: int = 0
    wire: bool = False
    feedback: bool = False
    of: tuple[str, ...] = ()
    below: str | None = None
    loop: bool = False
    meaning: Meaning | None = None
    counts: str | None = None


def into(name: str, stream: str, depth: int = 0, **more: Any) -> Port:
    """An input port."""
    return Port(name, "in", stream, depth, **more)


def wire(name: str, stream: str) -> Port:
    """An input port that is a wire."""
    return Port(name, "in", stream, wire=True)


def out(name: str, stream: str, depth: int = 0, **more: Any) -> Port:
    """An output port; one that nothing reads may always be left unconnected."""
    return Port(name, "out", stream, depth, optional=True, **more)
