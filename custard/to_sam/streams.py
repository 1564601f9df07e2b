"""The streams of a graph in lowering: payloads, fibers, and nests of computed fibers.

All are values: passing a stream through a block gives a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sam.graph import End


@dataclass(frozen=True)
class Payload:
    """A stream of references, values or coordinates that goes along with coordinates.

    ``kind``   "ref", "val" or "crd"
    ``label``  the tensor that it belongs to, for the names of blocks
    """

    end: End
    kind: str
    label: str = "computed"

    def at(self, end: End) -> Payload:
        """The payload as it comes out of a block."""
        return replace(self, end=end)


@dataclass(frozen=True)
class Fiber:
    """The coordinates over one variable.

    ``nonempty``   whether each parent that is present has at least one
    ``full``       whether each parent that is present has all
    ``scattered``  whether its variable is reduced where the result is stored
    ``in_lane``    whether it is a lane's share of a fiber that was dealt
    ``holed``      whether its values may be ``N``
    ``in_words``   whether the stream has the coordinates as words of bits
    """

    variable: str
    end: End
    nonempty: bool = False
    full: bool = False
    scattered: bool = False
    in_lane: bool = False
    holed: bool = False
    in_words: bool = False

    def thinned(self, end: End) -> Fiber:
        """The fiber as it comes out of a block that may remove any of its coordinates."""
        return replace(self, end=end, nonempty=False, full=False)


# Adds a block for one layer of a nest, given its depth and its streams by kind; gives the streams.
Move = Callable[[int, Mapping[str, End]], Mapping[str, End]]


@dataclass(frozen=True)
class Nest:
    """Computed fibers inside of some coordinates, outermost first, and their values."""

    fibers: tuple[Fiber, ...]
    value: End

    def layers(self) -> list[dict[str, End]]:
        """The streams of each level, by kind: the values go with the innermost coordinates."""
        layers = [{"crd": fiber.end} for fiber in self.fibers]
        if layers:
            layers[-1]["val"] = self.value
        return layers

    def with_layers(self, layers: Sequence[Mapping[str, End]]) -> Nest:
        """The nest with other streams."""
        pairs = zip(self.fibers, layers, strict=True)
        fibers = tuple(replace(fiber, end=layer["crd"]) for fiber, layer in pairs)
        return Nest(fibers, layers[-1]["val"] if layers else self.value)

    def moved(self, depth: int, move: Move) -> Nest:
        """The nest with each layer moved by a block; the outermost lies ``depth`` levels below."""
        return self.with_layers([move(depth + n, layer) for n, layer in enumerate(self.layers())])
