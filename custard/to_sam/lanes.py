"""Lanes: copies of the blocks inside of a fiber whose coordinates are dealt (Section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from custard.ir import cin
from custard.to_sam.builder import Builder, moved
from custard.to_sam.cursor import Cursor
from custard.to_sam.reduction import without
from custard.to_sam.streams import Fiber, Nest
from sam.blocks.lanes import deal_to_lanes, join_lanes
from sam.blocks.reduce import reduce_to_tensors
from sam.graph import End


@dataclass(frozen=True)
class Lane:
    """The result of a lane: its share of the dealt fiber, and the nest inside of that."""

    own: Fiber
    nest: Nest


def lanes_of(builder: Builder, variable: str) -> int:
    """How many lanes the coordinates of a variable are dealt to."""
    return builder.lanes.get(cin.base(variable), 1)


def deal(builder: Builder, fiber: Fiber, cursor: Cursor) -> list[tuple[Fiber, Cursor]]:
    """Deals a fiber with its payloads and nests: a fiber and a cursor for each lane."""
    lanes, name = lanes_of(builder, fiber.variable), f"deal_{fiber.variable}"
    payloads = cursor.payloads()
    streams = [(payload.kind, payload.end) for payload in payloads]
    dealt = deal_to_lanes(builder.graph, name, lanes, fiber.end, streams)
    nests: list[list[Nest]] = [[] for _ in dealt]
    for nest in cursor.nests():
        layers: list[list[dict[str, End]]] = [[] for _ in dealt]
        for depth, layer in enumerate(nest.layers(), 1):
            kinds = list(layer.items())
            found = deal_to_lanes(builder.graph, name, lanes, fiber.end, kinds, depth)
            for of_lane, (_, ends) in zip(layers, found, strict=True):
                of_lane.append(dict(zip(layer, ends, strict=True)))
        for of_nest, of_lane in zip(nests, layers, strict=True):
            of_nest.append(nest.with_layers(of_lane))
    return [
        (
            Fiber(fiber.variable, crd, in_lane=True),
            cursor.with_payloads(moved(payloads, ends)).with_nests(own),
        )
        for (crd, ends), own in zip(dealt, nests, strict=True)
    ]


def joined(builder: Builder, dealt: Fiber, lanes: Sequence[Lane]) -> tuple[Fiber, Nest]:
    """The dealt fiber and the nest inside of it, back in order."""
    name = f"join_{dealt.variable}"
    owns = [lane.own.end for lane in lanes]
    nest = lanes[0].nest
    if nest.fibers:
        crd, _ = join_lanes(builder.graph, name, [], [(own, []) for own in owns])
        of_lanes = [lane.nest.layers() for lane in lanes]
        layers = []
        for depth, of_depth in enumerate(zip(*of_lanes, strict=True), 1):
            kinds = list(of_depth[0])
            pairs = zip(owns, of_depth, strict=True)
            streams = [(own, list(layer.values())) for own, layer in pairs]
            _, ends = join_lanes(builder.graph, name, kinds, streams, depth)
            layers.append(dict(zip(kinds, ends, strict=True)))
        nest = nest.with_layers(layers)
    else:
        streams = [(lane.own.end, [lane.nest.value]) for lane in lanes]
        crd, (value,) = join_lanes(builder.graph, name, ["val"], streams)
        nest = replace(nest, value=value)
    if lanes[0].own.holed:
        fiber, value = without(builder, Fiber(dealt.variable, crd), nest.value, "absent")
        return fiber, replace(nest, value=value)
    return replace(dealt, end=crd), nest


def reduced_lanes(builder: Builder, lanes: Sequence[Lane]) -> Nest:
    """The sum over the variable of a fiber that was dealt to lanes, with other fibers in it."""
    streams = [([fiber.end for fiber in lane.nest.fibers], lane.nest.value) for lane in lanes]
    name = f"reduce_{lanes[0].own.variable}"
    crds, value = reduce_to_tensors(builder.graph, name, streams)
    fibers = (
        replace(fiber.thinned(crd), nonempty=k > 0)
        for k, (fiber, crd) in enumerate(zip(lanes[0].nest.fibers, crds, strict=True))
    )
    return Nest(tuple(fibers), value)
