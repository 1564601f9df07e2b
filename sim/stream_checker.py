"""Watches every stream of a run, token by token, as its blocks give them.

Each stream is checked by itself: it must be an n-deep nested list, then one ``D`` (SAM paper,
Section 3.2), of the coordinates or references that its reader expects. Streams are also checked
against each other, as far as they have come: those that one block takes together, as its ports
declare, and those that are stored as one result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from sam.blocks import KINDS, Port, StreamError
from sam.blocks.base import Role
from sam.graph import Edge, End, Graph, Node
from sam.levels import WORD_BITS
from sam.token import DATA, DONE, EMPTY, STOP, D, Token, format_token, stop
from sam.validate import Stream

Watch = Callable[[int, Any], None]
Head = tuple[Any, ...]


class Validator:
    """Watches the edges of one run of a graph that are no wires.

    Raises StreamError at the first wrong token; it names the edge, the index of the token, the
    token that came and the one that was due.
    """

    def __init__(self, graph: Graph, streams: Mapping[Edge, Stream]) -> None:
        readers: dict[str, dict[str, Port]] = {
            node.name: {port.name: port for port in KINDS[node.kind].ports(node.parameters)}
            for node in graph.nodes
        }
        taken: dict[str, list[_Watched]] = {node.name: [] for node in graph.nodes}
        self._streams: dict[Edge, _Watched] = {}
        for edge, stream in streams.items():
            if stream.wire:
                continue
            watched = _Watched(edge, stream, readers[edge.target.node][edge.target.port])
            self._streams[edge] = watched
            if not stream.feedback:
                taken[edge.target.node].append(watched)
        for inputs in taken.values():
            _compare_inputs(inputs)
        into = {edge.target: watched for edge, watched in self._streams.items()}
        _compare_levels(graph.nodes, into)

    def watch(self, edge: Edge) -> Watch:
        """The function to call with the kind and value of each token that is given to an edge."""
        return self._streams[edge].see

    def finish(self) -> None:
        """Raises StreamError for a stream that has not ended."""
        for stream in self._streams.values():
            if not stream.ended:
                raise StreamError(f"edge {stream.edge} has ended without D")


def _compare_inputs(inputs: Iterable[_Watched]) -> None:
    """Compares each input of a block with one other; the other relations follow."""
    operands: dict[int, list[_Watched]] = {}
    for stream in sorted(inputs, key=lambda stream: stream.depth):
        operands.setdefault(stream.port.operand, []).append(stream)
    shallowest = sorted((of_one[0] for of_one in operands.values()), key=lambda s: s.depth)
    for other in shallowest[1:]:
        _SameEnds(shallowest[0], other)
    for first, *others in operands.values():
        outer = first
        for stream in others:
            if stream.depth == outer.depth:
                _SameShape(outer, stream)
            else:
                _Nested(outer, stream)
                outer = stream


def _compare_levels(nodes: Iterable[Node], into: Mapping[End, _Watched]) -> None:
    """Compares what the writers of a result append to its levels, and then to its values.

    A writer that stores by references is compared with them by its ports.
    """
    writers = [node for node in nodes if KINDS[node.kind].role is Role.LEVEL_WRITER]
    writers.sort(key=lambda node: node.parameters["level"])
    levels = [into[End(node.name, "in_crd")] for node in writers]
    for node, outer, inner in zip(writers[1:], levels, levels[1:], strict=False):
        if node.parameters.get("chained"):
            _SameShape(outer, inner)
        elif not node.parameters["by_reference"]:
            _OwnedFibers(outer, inner)
    for node in nodes:
        appends = levels and not node.parameters.get("by_reference")
        if KINDS[node.kind].role is Role.VALUE_WRITER and appends:
            _SameShape(levels[-1], into[End(node.name, "in_val")])


class _Watched:
    """A stream, with the comparisons that it takes part in."""

    def __init__(self, edge: Edge, stream: Stream, port: Port) -> None:
        self.edge, self.depth, self.port = edge, stream.depth, port
        self.coordinates = port.stream == "crd" and not port.payload
        self.references = stream.kind == "ref"
        self.words = stream.kind == "bv"
        self.count = 0
        self.ended = False
        self.whole = False
        self.coordinate = -1
        self.compare: list[Callable[[int, int, Any], None]] = []

    def see(self, kind: int, value: Any) -> None:
        """Checks a token by itself, then against the streams that go with this one."""
        due = self._due(kind, value)
        if due is not None:
            raise StreamError(_differs(self.edge, self.count, (kind, value), due))
        if kind == DATA and self.coordinates:
            self.coordinate = value
        elif kind == STOP:
            self.coordinate = -1
        self.whole = value == self.depth - 1 if kind == STOP else self.depth == 0
        self.ended = kind == DONE
        for compare in self.compare:
            compare(self.count, kind, value)
        self.count += 1

    def _due(self, kind: int, value: Any) -> str | None:
        """The token that was due in place of one that cannot come here; None if it can."""
        if self.ended:
            return "no token behind D"
        if self.whole and kind != DONE:
            return f"D at depth {self.depth}"
        if kind == DONE:
            if self.whole:
                return None
            return f"S{self.depth - 1} before D" if self.depth else "one token before D"
        if kind == STOP:
            if 0 <= value < self.depth:
                return None
            return f"a stop token below S{self.depth}" if self.depth else "one token before D"
        if self.coordinates:
            if kind == EMPTY or not _is_whole(value):
                return "a coordinate"
            return None if value > self.coordinate else f"a coordinate above {self.coordinate}"
        if self.references and kind == DATA and not _is_whole(value):
            return "a reference"
        if self.words and (kind == EMPTY or not _is_whole(value) or value >= 2**WORD_BITS):
            return "a word of bits"
        return None


class _Comparison(ABC):
    """Two streams, of which the inner must fit the outer. Tokens wait here for their counterparts.

    A head is the index, the kind and the value of a token; ``deeper`` tells by how many levels the
    inner stream is deeper.
    """

    def __init__(self, outer: _Watched, inner: _Watched) -> None:
        self.outer, self.inner = outer, inner
        self.deeper = inner.depth - outer.depth
        self.outers: deque[Head] = deque()
        self.inners: deque[Head] = deque()
        outer.compare.append(partial(self.see, self.outers))
        inner.compare.append(partial(self.see, self.inners))

    def see(self, heads: deque[Head], index: int, kind: int, value: Any) -> None:
        """Queues a token, and compares the streams as far as both have come."""
        self.put(heads, (index, kind, value))

    def put(self, heads: deque[Head], head: Head) -> None:
        heads.append(head)
        while self.outers and self.inners:
            self.step(self.outers[0], self.inners[0])

    @abstractmethod
    def step(self, outer: Head, inner: Head) -> None:
        """Compares the heads, and moves on along at least one of the streams."""

    def meet(self, due: Token) -> None:
        """Moves on along both streams, if the head of the inner one is the token that is due."""
        if self.inners[0][1:] != due:
            raise self.refuse(format_token(due))
        self.outers.popleft()
        self.inners.popleft()

    def raised(self, outer: Head) -> Token:
        """The token that is due in the inner stream at a stop token, or ``D``, of the outer one."""
        return (STOP, outer[2] + self.deeper) if outer[1] == STOP else D

    def refuse(self, due: str) -> StreamError:
        """The mistake that the head of the inner stream does not go with that of the outer."""
        index, kind, value = self.inners[0][:3]
        outer_index, outer_kind, outer_value = self.outers[0][:3]
        other = format_token((outer_kind, outer_value))
        return StreamError(
            f"{_differs(self.inner.edge, index, (kind, value), due)}; "
            f"edge {self.outer.edge} has {other} as its token {outer_index}"
        )


class _SameShape(_Comparison):
    """Tokens meet tokens, ``N`` or not; stop tokens meet stop tokens of the same level."""

    def step(self, outer: Head, inner: Head) -> None:
        if outer[1] > EMPTY:
            self.meet(self.raised(outer))
        elif inner[1] > EMPTY:
            raise self.refuse("a token")
        else:
            self.outers.popleft()
            self.inners.popleft()


class _SameEnds(_Comparison):
    """The fibers of two operands end alike, whatever is in them."""

    def see(self, heads: deque[Head], index: int, kind: int, value: Any) -> None:
        least = self.outer.port.own + (self.deeper if heads is self.inners else 0)
        if kind == DONE or (kind == STOP and value >= least):
            self.put(heads, (index, kind, value))

    def step(self, outer: Head, inner: Head) -> None:
        self.meet(self.raised(outer))


class _Nested(_Comparison):
    """Streams where each outer token owns a fiber of the inner stream, ``deeper`` levels deep.

    An outer fiber without tokens looks like an outer fiber whose only token owns an empty fiber: in
    the inner stream nothing comes before the stop token that ends them.
    """

    def __init__(self, outer: _Watched, inner: _Watched) -> None:
        super().__init__(outer, inner)
        self.open = False  # whether an outer token has been taken, and its fiber has not ended

    def step(self, outer: Head, inner: Head) -> None:
        _, kind, value = inner
        last = self.deeper - 1
        if outer[1] <= EMPTY and not self.open:
            if kind == DONE:
                raise self.refuse("a fiber")
            self.outers.popleft()
            self.open = True
        elif self.open and (kind <= EMPTY or (kind == STOP and value < last)):
            self.inners.popleft()
        elif self.open and (outer[1] <= EMPTY or outer[1] == DONE):
            if (kind, value) != stop(last):
                raise self.refuse(format_token(stop(last)))
            self.inners.popleft()
            self.open = False
        else:
            self.meet(self.raised(outer))
            self.open = False


class _OwnedFibers(_Comparison):
    """Streams where each coordinate of a compressed level owns a fiber that is not empty.

    Streams two or more levels inside a stream that a dropper has cleaned still hold the stop tokens
    of removed fibers (``custard.to_sam.lowering``), and writers that append pass over them. So the
    comparison is of the places where fibers begin, and of the highest stop token between them.
    """

    def __init__(self, outer: _Watched, inner: _Watched) -> None:
        super().__init__(outer, inner)
        self.ended = [outer.depth, inner.depth]  # the highest since a head; -1 for none

    def see(self, heads: deque[Head], index: int, kind: int, value: Any) -> None:
        side = 1 if heads is self.inners else 0
        if kind == STOP:
            self.ended[side] = max(self.ended[side], value)
        elif kind == DONE or side == 0 or self.ended[side] >= self.deeper - 1:
            head = (index, kind, value, self.ended[side])
            self.ended[side] = -1
            self.put(heads, head)

    def step(self, outer: Head, inner: Head) -> None:
        if outer[1] == DONE or inner[1] == DONE:
            if outer[1] != inner[1]:
                raise self.refuse("D" if outer[1] == DONE else "a fiber")
        elif inner[3] != outer[3] + self.deeper:
            raise self.refuse(f"S{outer[3] + self.deeper} before it")
        self.outers.popleft()
        self.inners.popleft()


def _differs(edge: Edge, index: int, came: Token, due: str) -> str:
    return f"edge {edge}, token {index}: {format_token(came)} came, {due} was due"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and bool(value >= 0)
