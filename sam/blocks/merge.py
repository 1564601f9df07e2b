"""Intersecters and unioners of any number of operands (Definitions 3.2 and 3.3).

Each operand is a coordinate stream with any number of payload streams of its shape (references
or values). A merger looks at the heads of all of them. Parameter ``payloads`` lists the streams
of each operand's payloads, as in ``[["ref"], ["ref", "val"]]``.

An intersecter tells the scanners of the operands that parameter ``skips`` lists, by number, which
place it needs next (coordinate skipping, Section 4.2), each time that such an operand is behind.
Where another operand has come to the end of its fiber, that place is the begin of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from sam.blocks.base import MERGER, Block, Drawing, Kind, Step, StreamError
from sam.blocks.parameters import STREAM, many, optional, whole
from sam.blocks.ports import into, out
from sam.blocks.scan import SPAN
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.support.errors import UserError
from sam.token import DATA, EMPTY, STOP

_BEYOND = 2**62
"""More than any coordinate."""


def intersect(p: Any, s: Any, m: Any) -> bool | None:
    """Emits a coordinate that all operands have; else moves those that are behind."""
    smallest, largest, waiting = _survey(p)
    if waiting == len(p.crds):
        if m.skips:
            s.fibers += 1
        return _forward(p)
    if waiting == 0 and smallest == largest:
        p.crd.give(DATA, largest)
        for payload, result in zip(p.payloads, p.results, strict=True):
            kind, value = payload.peek()
            result.give(kind, value)
        for stream in p.crds + p.payloads:
            stream.take()
        return None
    bound = largest if waiting == 0 else largest + 1
    for n, crd in enumerate(p.crds):
        kind, value = crd.peek()
        if kind == DATA and value < bound:
            crd.take()
            for payload, owner in zip(p.payloads, m.owners, strict=True):
                if owner == n:
                    payload.take()
            for skip, operand in zip(p.skips, m.skips, strict=True):
                if operand == n:
                    needed = largest if waiting == 0 else SPAN
                    skip.give(DATA, s.fibers * SPAN + needed)
    return None


def unite(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the smallest coordinate, with ``N`` for the payloads of operands that lack it."""
    smallest, _, waiting = _survey(p)
    if waiting == len(p.crds):
        return _forward(p)
    p.crd.give(DATA, smallest)
    for n, crd in enumerate(p.crds):
        kind, value = crd.peek()
        if kind == DATA and value == smallest:
            crd.take()
            for payload, owner, result in zip(p.payloads, m.owners, p.results, strict=True):
                if owner == n:
                    payload_kind, payload_value = payload.peek()
                    result.give(payload_kind, payload_value)
                    payload.take()
        else:
            for owner, result in zip(m.owners, p.results, strict=True):
                if owner == n:
                    result.give(EMPTY, 0)
    return None


def _survey(p: Any) -> tuple[int, int, int]:
    """The smallest and the largest coordinate at the heads, and how many wait at a stop token."""
    smallest = _BEYOND
    largest = -1
    waiting = 0
    for n, crd in enumerate(p.crds):
        kind, value = crd.peek()
        if kind != DATA:
            waiting += 1
        elif waiting == n:
            smallest, largest = value, value
        else:
            smallest, largest = min(smallest, value), max(largest, value)
    for payload in p.payloads:
        payload.peek()
    return smallest, largest, waiting


def _forward(p: Any) -> bool | None:
    """Passes on the stop or done token at which all operands wait."""
    kind, value = p.crds[0].peek()
    for stream in p.crds + p.payloads:
        other_kind, other_value = stream.peek()
        if other_kind != kind or other_value != value:
            raise StreamError("the operands of a merger end their fibers differently")
    p.crd.give(kind, value)
    for result in p.results:
        result.give(kind, value)
    for stream in p.crds + p.payloads:
        stream.take()
    return None if kind == STOP else True


def _merger(step: Step, parameters: Parameters) -> Block:
    operands = parameters["payloads"]
    skips = tuple(parameters.get("skips", ()))
    for n in skips:
        if n >= len(operands):
            raise UserError(f"parameter skips has {n}, and there are {len(operands)} operands")
    owners = tuple(n for n, payloads in enumerate(operands) for _ in payloads)
    streams = [
        (f"{stream}{n}_{k}", stream, n)
        for n, payloads in enumerate(operands)
        for k, stream in enumerate(payloads)
    ]
    return Block(
        ports=(
            *(into(f"in_crd{n}", "crd", group="crds", operand=n) for n in range(len(operands))),
            *(
                into(f"in_{name}", stream, group="payloads", operand=n, payload=True)
                for name, stream, n in streams
            ),
            out("crd", "crd", of=tuple(f"in_crd{n}" for n in range(len(operands)))),
            *(
                out(name, stream, group="results", of=(f"in_{name}",))
                for name, stream, _ in streams
            ),
            *(out(f"skip{n}", "crd", group="skips") for n in skips),
        ),
        step=step,
        state={"fibers": 0} if skips else {},
        memory=lambda around: SimpleNamespace(owners=owners, skips=skips),
        groups=("payloads", "results", "skips"),
    )


_PAYLOADS = {"payloads": many(many(STREAM), least=1)}
INTERSECTER = Kind(
    "intersecter",
    "intersecter",
    partial(_merger, intersect),
    {**_PAYLOADS, "skips": optional(many(whole(), distinct=True))},
    drawing=Drawing("hexagon", MERGER),
    work="compares",
    matches="crd",
)
UNIONER = Kind(
    "unioner",
    "unioner",
    partial(_merger, unite),
    _PAYLOADS,
    drawing=Drawing("hexagon", MERGER),
    work="merges",
)


@dataclass(frozen=True)
class Merger:
    """A way to merge the coordinates of operands, as graphs are built with it.

    ``kind``, ``of_words``  the kinds of its nodes, of coordinates and of words of bits
    ``verb``    how the names of its nodes begin
    ``skips``   whether it tells scanners what to skip to
    """

    kind: str
    of_words: str
    verb: str
    skips: bool = False


INTERSECTION = Merger("intersecter", "bitvector_intersecter", "intersect", skips=True)
UNION = Merger("unioner", "bitvector_unioner", "unite")


class Merged(NamedTuple):
    """The streams of a merger: coordinates, payloads by operand, and by number of the operand the
    coordinates to skip to."""

    crd: End
    payloads: list[list[End]]
    skips: dict[int, End]


def merge(
    graph: GraphBuilder,
    merger: Merger,
    name: str,
    operands: Sequence[tuple[End, Sequence[tuple[str, End]]]],
    skips: Sequence[int] = (),
) -> Merged:
    """Adds an intersecter or a unioner.

    Each operand is its coordinates, and its payloads as kinds and ends; ``skips`` lists the
    operands whose scanners are told where to skip to.
    """
    inputs = {f"crd{n}": crd for n, (crd, _) in enumerate(operands)}
    named = [
        {f"{kind}{n}_{k}": end for k, (kind, end) in enumerate(payloads)}
        for n, (_, payloads) in enumerate(operands)
    ]
    for streams in named:
        inputs |= streams
    parameters: dict[str, Any] = {
        "payloads": [[kind for kind, _ in payloads] for _, payloads in operands]
    }
    if skips:
        parameters["skips"] = list(skips)
    ports = graph.add(merger.kind, name, parameters, **inputs)
    payloads = [[ports[stream] for stream in streams] for streams in named]
    return Merged(ports["crd"], payloads, {n: ports[f"skip{n}"] for n in skips})
