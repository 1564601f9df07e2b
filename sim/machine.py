"""A machine: a bound graph under a hardware config, as every engine runs it.

A block becomes one part, or two where its output side works beside its input side (``Emitter`` in
``sam.blocks.base``). An edge becomes a channel, and so does the handover between two halves. An
engine decides only how it runs the steps; the machine is the same for all engines.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sam.blocks import KINDS
from sam.blocks.base import Block, Step
from sam.graph import Edge, End, Node
from sam.memory_regions import asks_memory
from sam.validate import Validated, validated
from sim.binding import BoundGraph
from sim.config.hardware import BlockTiming, Config
from sim.memory.hierarchy import Layout
from sim.order_of_service import Order
from sim.value_types import ValueTypes

HANDOVER = "handover"
"""The port at which the input side of a block in two halves gives what it has finished."""


@dataclass(frozen=True)
class Channel:
    """A queue, or a wire.

    ``number``   its place among the channels of the machine
    ``edge``     the edge of the graph; of a handover, one between the two halves of a block
    ``giver``, ``taker``  the names of the parts at its ends
    ``depth``    the tokens that it holds; None where it always has room
    ``latency``  cycles from a firing that gives a token to the first in which the taker sees it
    ``dtype``    the type of the values that it carries; None for whole numbers
    ``wire``     whether it keeps the newest message only
    """

    number: int
    edge: Edge
    giver: str
    taker: str
    depth: int | None
    latency: int
    dtype: np.dtype[Any] | None
    wire: bool = False


@dataclass(frozen=True)
class InputPort:
    """An input port of a part, with the channel that it takes from."""

    name: str
    channel: Channel


@dataclass(frozen=True)
class OutputPort:
    """An output port of a part, with the channels that it gives to, and the type of its values."""

    name: str
    channels: tuple[Channel, ...]
    dtype: np.dtype[Any] | None


@dataclass(frozen=True)
class Part:
    """A block, or one half of it.

    ``ports``    the attributes of its step's ``p``: a port, or the ports of a group, by name
    ``inputs``, ``outputs``  the same ports, in order
    ``state``    the fields that its state starts with
    ``memory``   the arrays that it reads and fills; two halves of a block share them
    ``dtype``    the type of the values that it gives or stores
    ``asker``    its number among the parts that ask memory; None where it asks none
    ``kept``     data that an engine keeps for later runs, which differ in memory only
    """

    name: str
    node: Node
    step: Step
    state: Mapping[str, Any]
    memory: Any
    timing: BlockTiming
    dtype: np.dtype[Any]
    ports: Mapping[str, InputPort | OutputPort | tuple[InputPort | OutputPort, ...]]
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    asker: int | None = None
    kept: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Machine:
    """The parts and channels of a machine.

    ``parts``     in the order of the graph, which decides ties at a memory
    ``channels``  first those of edges, in the order of the graph, then handovers
    ``memories``  the memory of each block, by its name
    ``askers``    the parts that ask memory
    ``layout``    the memory hierarchy; None where memory is ideal
    """

    bound: BoundGraph
    config: Config
    parts: tuple[Part, ...]
    channels: tuple[Channel, ...]
    memories: Mapping[str, Any]
    askers: tuple[Part, ...] = ()
    layout: Layout | None = None

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each part among all, by its name."""
        return {part.name: n for n, part in enumerate(self.parts)}

    @property
    def shares_memory(self) -> bool:
        """Whether it makes a difference in which order memory serves its parts."""
        return self.layout is not None and self.layout.shared


def elaborate(
    bound: BoundGraph, config: Config, lists: bool = False, order: Order | None = None
) -> Machine:
    """The machine of a bound graph under a config; ``lists`` as in ``Surroundings``.

    ``order`` is that of service, if it is to be kept; raises UserError if that does not fit.

    Its memories are new and a run fills them, so a machine runs once.
    """
    wired, blocks = _wired(bound, config), validated(bound.graph).blocks
    regions = bound.regions(config.memory)
    memories: dict[str, Any] = {}
    parts: list[Part] = []
    askers: list[Part] = []
    for part in wired.parts:
        name = part.node.name
        if name not in memories:
            around = bound.surroundings(name, part.timing, regions, lists)
            memories[name] = blocks[name].memory(around)
        asks = regions is not None and asks_memory(memories[name])
        parts.append(replace(part, memory=memories[name], asker=len(askers) if asks else None))
        if asks:
            askers.append(parts[-1])
    layout = None
    if regions is not None:
        asking, made = [part.memory for part in askers], list(regions.made.values())
        layout = Layout(config.memory, config.clock.clock_ghz, asking, made)
    machine = Machine(bound, config, tuple(parts), wired.channels, memories, tuple(askers), layout)
    if order is not None:
        order.require_fit(machine)
    return machine


def passage(bound: BoundGraph, config: Config, edge: Edge) -> tuple[int | None, int]:
    """The depth of a channel, None where it always has room, and its latency.

    An edge that is not in the graph is a handover, a queue of one place.
    """
    if edge not in bound.streams:
        return 1, 1
    source, stream = bound.nodes[edge.source.node], bound.streams[edge]
    is_source = KINDS[source.kind].source
    if is_source and not stream.wire:
        return None, 0
    reader = bound.nodes[edge.target.node].kind
    depth, latency = config.queue(str(edge), stream.kind, reader)
    if is_source or stream.wire or stream.feedback:
        depth = None
    return depth, latency + config.block(source.name, source.kind).latency - 1


@dataclass
class _Half:
    """A part while it is put together."""

    name: str
    step: Step
    state: Mapping[str, Any]
    ports: dict[str, Any] = field(default_factory=dict)
    inputs: list[InputPort] = field(default_factory=list)
    outputs: list[OutputPort] = field(default_factory=list)

    def add(self, port: InputPort | OutputPort, group: str | None = None) -> None:
        """Adds a port, by its own name or to a group."""
        if group is None:
            self.ports[port.name] = port
        else:
            self.ports[group] = (*self.ports[group], port)
        if isinstance(port, InputPort):
            self.inputs.append(port)
        else:
            self.outputs.append(port)


@dataclass(frozen=True)
class _Wired:
    """The parts of a machine, without their memories, and its channels."""

    config: Config
    types: ValueTypes
    parts: tuple[Part, ...]
    channels: tuple[Channel, ...]


# The last few machines of each graph that still exists, without their memories.
_kept: weakref.WeakKeyDictionary[Validated, list[_Wired]] = weakref.WeakKeyDictionary()
_MOST_KEPT = 4


def _wired(bound: BoundGraph, config: Config) -> _Wired:
    """A bound graph under a config, put together once for all runs with the same types."""
    kept = _kept.setdefault(validated(bound.graph), [])
    for one in kept:
        if one.config == config and one.types == bound.types:
            return one
    kept.append(_Elaboration(bound, config).wired())
    del kept[:-_MOST_KEPT]
    return kept[-1]


class _Elaboration:
    """A machine while it is put together."""

    def __init__(self, bound: BoundGraph, config: Config) -> None:
        self.bound, self.config = bound, config
        self.blocks = validated(bound.graph).blocks
        self.channels = [self._channel(n, edge) for n, edge in enumerate(bound.graph.edges)]
        self.into = {channel.edge.target: channel for channel in self.channels}
        self.out_of: defaultdict[End, list[Channel]] = defaultdict(list)
        for channel in self.channels:
            self.out_of[channel.edge.source].append(channel)
        self.parts: list[Part] = []

    def wired(self) -> _Wired:
        for node in self.bound.graph.nodes:
            self._add(node)
        return _Wired(self.config, self.bound.types, tuple(self.parts), tuple(self.channels))

    def _channel(self, number: int, edge: Edge) -> Channel:
        stream = self.bound.streams[edge]
        depth, latency = passage(self.bound, self.config, edge)
        dtype = self.bound.types.ends[edge.source] if stream.kind == "val" else None
        giver = _giver(edge.source.node, self.blocks[edge.source.node])
        taker = edge.target.node
        return Channel(number, edge, giver, taker, depth, latency, dtype, stream.wire)

    def _add(self, node: Node) -> None:
        """Adds the parts of a node."""
        block, timing = self.blocks[node.name], self.config.block(node.name, node.kind)
        first = _Half(node.name, block.step, block.state)
        halves = [first]
        if block.emitter is not None:
            name = _giver(node.name, block)
            halves.append(_Half(name, block.emitter.step, block.emitter.state))
        self._connect(node, block, first, halves[-1])
        dtype = self.bound.types.nodes[node.name]
        for half in halves:
            self.parts.append(
                Part(
                    name=half.name,
                    node=node,
                    step=half.step,
                    state=half.state,
                    memory=None,
                    timing=timing,
                    dtype=dtype,
                    ports=half.ports,
                    inputs=tuple(half.inputs),
                    outputs=tuple(half.outputs),
                )
            )

    def _connect(self, node: Node, block: Block, taker: _Half, giver: _Half) -> None:
        """Adds the ports of a block to its halves, or to its one part."""
        types = self.bound.types
        grouped = [port.group for port in block.ports if port.group is not None]
        for half in (taker, giver):
            half.ports |= dict.fromkeys((*block.groups, *grouped), ())
        for port in block.ports:
            end = End(node.name, port.name)
            if port.direction == "in":
                taker.add(InputPort(port.name, self.into[end]), port.group)
            else:
                dtype = None
                if port.stream == "val":
                    dtype = types.ends.get(end, types.nodes[node.name])
                giver.add(OutputPort(port.name, tuple(self.out_of[end]), dtype), port.group)
        if giver is not taker:
            edge = Edge(End(taker.name, HANDOVER), End(giver.name, "handed"))
            depth, latency = passage(self.bound, self.config, edge)
            number = len(self.channels)
            handover = Channel(number, edge, taker.name, giver.name, depth, latency, None)
            self.channels.append(handover)
            taker.add(OutputPort(HANDOVER, (handover,), None))
            giver.add(InputPort("handed", handover))


def _giver(node: str, block: Block) -> str:
    """The name of the part that has the outputs of a block."""
    return node if block.emitter is None else f"{node}.emitter"
