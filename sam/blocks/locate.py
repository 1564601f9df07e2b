"""Locators (Definition 4.1): references by coordinate, instead of scanning and intersecting."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from sam.blocks.base import (
    CHILDLESS,
    FINISHED,
    INSIDE,
    WALK,
    Block,
    Kind,
    Role,
    read,
    require_within,
    walk,
)
from sam.blocks.parameters import FLAG, STREAM, TEXT, many, optional, whole
from sam.blocks.ports import Coordinates, Positions, into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, EMPTY


def locate(p: Any, s: Any, m: Any) -> bool | None:
    """Finds each coordinate in the fiber of the located operand.

    Emits the coordinate, its payloads and the reference found; nothing where the fiber, or the
    operand (``N``), has no such coordinate; a computed coordinate may be ``N`` too. One that
    ``keeps`` coordinates emits them all, and ``N`` for those that are not found.
    """
    for payload in p.payloads:
        payload.peek()
    found = walk(p.in_located, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found == CHILDLESS and value > 0:
        return None
    position = -1
    if found == INSIDE and s.kind == DATA and kind == DATA:
        require_within(s.value, m.references)
        require_within(value, m.coordinates)
        position = m.level.locate(s.value, value)
    if found != INSIDE:
        p.crd.give(kind, value)
        p.ref.give(kind, value)
        for result in p.results:
            result.give(kind, value)
    elif position >= 0:
        p.crd.give(kind, value)
        p.ref.give(kind, position)
        for payload, result in zip(p.payloads, p.results, strict=True):
            payload_kind, payload_value = payload.peek()
            result.give(payload_kind, payload_value)
    elif m.keeps:
        p.crd.give(kind, value)
        p.ref.give(EMPTY, 0)
    if m.regions and found == INSIDE and s.kind == DATA and kind == DATA:
        read(p, m.regions, m.level.touched_by_locate(s.value, value))
    p.in_crd.take()
    for payload in p.payloads:
        payload.take()
    return True if found == FINISHED else None


def _locator(parameters: Parameters) -> Block:
    """Looks up a level of a slot; ``payloads`` lists the streams that go along, ``["ref"]``.

    ``computed``  whether the coordinates come in any order, and ``N`` where there is none
    """
    computed = parameters.get("computed", False)
    streams = [(f"{stream}{n}", stream) for n, stream in enumerate(parameters["payloads"])]
    slot, level = parameters["slot"], parameters["level"]
    return Block(
        ports=(
            into(
                "in_crd",
                "crd",
                1,
                meaning=Coordinates(slot, level),
                loop=not computed,
                payload=computed,
            ),
            into("in_located", "ref", meaning=Positions(slot, level)),
            *(
                into(f"in_{name}", stream, 1, group="payloads", payload=True)
                for name, stream in streams
            ),
            out("crd", "crd", 1, of=("in_crd",)),
            out("ref", "ref", 1, meaning=Positions(slot, level + 1), below="in_located"),
            *(
                out(name, stream, 1, group="results", of=(f"in_{name}",))
                for name, stream in streams
            ),
        ),
        step=locate,
        state=WALK,
        memory=lambda around: SimpleNamespace(
            level=around.level(slot, level),
            regions=around.level_regions(slot, level),
            references=SimpleNamespace(**around.limit("in_located")),
            coordinates=SimpleNamespace(**around.limit("in_crd")),
            keeps=parameters.get("keeps", False),
        ),
        groups=("payloads", "results"),
    )


LOCATOR = Kind(
    "locator",
    "locator",
    _locator,
    {
        "slot": TEXT,
        "level": whole(),
        "payloads": many(STREAM),
        "keeps": optional(FLAG),
        "computed": optional(FLAG),
    },
    role=Role.READER,
    capability="locates",
    work="locates",
)


class Located(NamedTuple):
    """The streams of a locator; ``payloads`` are those that go along with the coordinates."""

    crd: End
    ref: End
    payloads: list[End]


def locate_level(
    graph: GraphBuilder,
    name: str,
    slot: str,
    level: int,
    crd: End,
    located: End,
    payloads: Sequence[tuple[str, End]] = (),
    keeps: bool = False,
    computed: bool = False,
) -> Located:
    """Adds a locator of ``crd`` in the fibers of a level that ``located`` points to.

    ``payloads`` are kinds and ends; ``keeps`` has coordinates that are not found kept;
    ``computed`` coordinates are those of an affine unit.
    """
    streams = {f"{kind}{n}": end for n, (kind, end) in enumerate(payloads)}
    parameters = {"slot": slot, "level": level, "payloads": [kind for kind, _ in payloads]}
    if keeps:
        parameters["keeps"] = True
    if computed:
        parameters["computed"] = True
    ports = graph.add("locator", name, parameters, crd=crd, located=located, **streams)
    return Located(ports["crd"], ports["ref"], [ports[stream] for stream in streams])
