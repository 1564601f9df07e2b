"""Locators (Definition 4.1): references by coordinate, instead of scanning and intersecting.

A searcher does the same in levels that list their coordinates: it finds each by search, in one
firing, as window scanners and scanners that skip do.
"""

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
    Step,
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
    return _find(p, s, m, _address, _read_address)


def search(p: Any, s: Any, m: Any) -> bool | None:
    """Finds each coordinate in the fiber of the operand, as ``locate`` does, by search."""
    return _find(p, s, m, _sought, _read_sought)


def _address(m: Any, parent: int, coordinate: int) -> int:
    return m.level.locate(parent, coordinate)


def _read_address(p: Any, m: Any, parent: int, coordinate: int) -> None:
    read(p, m.regions, m.level.touched_by_locate(parent, coordinate))


def _sought(m: Any, parent: int, coordinate: int) -> int:
    return m.level.find(parent, coordinate)


def _read_sought(p: Any, m: Any, parent: int, coordinate: int) -> None:
    """Reads the fiber's bounds, and the coordinate that the search ends at."""
    first, last = m.level.fiber(parent)
    step = m.level.seek(parent, first, last, coordinate)
    read(p, m.regions, m.level.touched_by_fiber(parent))
    if step < last:
        read(p, m.regions, m.level.touched_by_move(parent, -1, step))


def _find(p: Any, s: Any, m: Any, position_of: Any, read_for: Any) -> bool | None:
    """Emits the coordinates that ``position_of`` has a position for; ``read_for`` reads memory."""
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
        position = position_of(m, s.value, value)
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
        read_for(p, m, s.value, value)
    p.in_crd.take()
    for payload in p.payloads:
        payload.take()
    return True if found == FINISHED else None


def _locator(parameters: Parameters) -> Block:
    return _finder(parameters, locate)


def _searcher(parameters: Parameters) -> Block:
    return _finder(parameters, search)


def _finder(parameters: Parameters, step: Step) -> Block:
    """Looks up a level of a slot; ``payloads`` lists the streams that go along, as in ``["ref"]``.

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
        step=step,
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


SEARCHER = Kind(
    "searcher",
    "locator",
    _searcher,
    LOCATOR.parameters,
    role=Role.READER,
    work="searches",
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
    kind: Kind = LOCATOR,
) -> Located:
    """Adds a locator of ``crd`` in the fibers of a level that ``located`` points to.

    ``payloads`` are kinds and ends; with ``keeps``, coordinates that are not found are kept;
    ``computed`` coordinates are those of an affine unit; ``kind`` may be ``SEARCHER``.
    """
    streams = {f"{kind}{n}": end for n, (kind, end) in enumerate(payloads)}
    parameters = {"slot": slot, "level": level, "payloads": [kind for kind, _ in payloads]}
    if keeps:
        parameters["keeps"] = True
    if computed:
        parameters["computed"] = True
    ports = graph.add(kind.name, name, parameters, crd=crd, located=located, **streams)
    return Located(ports["crd"], ports["ref"], [ports[stream] for stream in streams])
