"""SAM graphs: nodes with ports, edges that carry streams, and the tensors that they read and write.

A graph is plain data. The table ``sam.blocks.KINDS`` tells what a node's kind means and which ports
it has; the graph's slots tell what the nodes read from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sam.derivations import Derivation
from sam.subscripts import Affine, Span

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Slot:
    """A tensor in the storage that a graph's nodes want it in.

    ``tensor``     the user's name for it; None for a number of the program
    ``levels``     one level format code per storage level, as in ``"ds"``
    ``modes``      for each storage level the tensor's modes that it holds; more than one mode on
                   a level asks for the diagonal of those modes
    ``variables``  the index variable that iterates each level
    ``constant``   the number, where ``tensor`` is None; where there are levels, it is everywhere
    ``subscripts``  the variables of the tensor's modes, where it is stored by variables that the
                    graph derives from them; ``modes`` are then the modes of the derived tensor
    ``shares``     the shares of the tensor's entries that it has as modes before those
    ``computed``   for each level the form of its subscript, None where it is the variable itself;
                   empty where none is computed
    """

    name: str
    tensor: str | None
    levels: str = ""
    modes: tuple[tuple[int, ...], ...] = ()
    variables: tuple[str, ...] = ()
    constant: float | int | None = None
    subscripts: tuple[str, ...] = ()
    computed: tuple[Affine | None, ...] = ()
    shares: tuple[str, ...] = ()

    def form(self, level: int) -> Affine | None:
        """The form of a level's subscript; None where the subscript is the variable itself."""
        return self.computed[level] if self.computed else None


@dataclass(frozen=True)
class Result:
    """The tensor that a graph makes: the slot that its writers fill, and the format asked for.

    The format is that of the tensor, not of a tensor derived from it.

    ``around``  where the slot has a diagonal, the input whose entries off the diagonal the result
                takes over; where None, they are zero
    """

    slot: Slot
    levels: str
    mode_order: tuple[int, ...]
    around: str | None = None


@dataclass(frozen=True)
class Node:
    """One block: its name (unique), its kind (a key of ``sam.blocks.KINDS``), its parameters."""

    name: str
    kind: str
    parameters: Parameters = field(default_factory=dict)


# Tuples, because ends and edges are keys of dictionaries, and tuples are hashed in C.
class End(NamedTuple):
    """A port of a node."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


class Edge(NamedTuple):
    """A stream from an output port to an input port. An output may feed several inputs."""

    source: End
    target: End

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True)
class Graph:
    """A SAM program: nodes in the order in which they were made, edges, slots and a result."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    slots: tuple[Slot, ...] = ()
    result: Result | None = None
    title: str = ""
    # Variables whose extent the graph takes to be at least 1 (an empty mode needs more droppers).
    nonempty: tuple[str, ...] = ()
    # Extents that no input fixes.
    dims: tuple[tuple[str, int], ...] = ()
    # Which variables are derived from others, in turn.
    derived: tuple[Derivation, ...] = ()
    # Variables whose extents follow from forms of others.
    spans: tuple[Span, ...] = ()
    # The inputs that other graphs of the same program compute before.
    computed: tuple[str, ...] = field(default=(), compare=False)

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        from sam.drawing import svg_or_words  # here, as graphs are plain data

        return svg_or_words(self)

    def node(self, name: str) -> Node:
        """The node of that name; raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)
