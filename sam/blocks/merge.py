"""Intersecters and unioners of any number of operands (Definitions 3.2 and 3.3).

Each operand is a coordinate stream with any number of payload streams of its shape (references
or values). Parameter ``payloads`` lists the streams of each operand's payloads, as in
``[["ref"], ["ref", "val"]]``.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Kind, Step, StreamError, into, out
from sam.graph import Parameters
from sam.token import DATA, EMPTY, STOP


def intersect(p: Any, s: Any, m: Any) -> bool | None:
    """Emits a coordinate that all operands have; else moves those that are behind."""
    largest, waiting = _survey(p.crds)
    if waiting == len(p.crds):
        return _forward(p)
    together = waiting == 0
    for crd in p.crds:
        kind, value = crd.peek()
        if kind == DATA and value < largest:
            together = False
    for payload, owner in zip(p.payloads, m.owners, strict=True):
        kind, value = p.crds[owner].peek()
        if kind == DATA and (together or waiting > 0 or value < largest):
            payload.peek()
    if together:
        p.crd.give(DATA, largest)
    for payload, owner, result in zip(p.payloads, m.owners, p.results, strict=True):
        kind, value = p.crds[owner].peek()
        if kind == DATA and (together or waiting > 0 or value < largest):
            if together:
                payload_kind, payload_value = payload.peek()
                result.give(payload_kind, payload_value)
            payload.take()
    for crd in p.crds:
        kind, value = crd.peek()
        if kind == DATA and (together or waiting > 0 or value < largest):
            crd.take()
    return None


def unite(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the smallest coordinate, with ``N`` for the payloads of operands that lack it."""
    smallest = -1
    waiting = 0
    for crd in p.crds:
        kind, value = crd.peek()
        if kind != DATA:
            waiting += 1
        elif smallest < 0 or value < smallest:
            smallest = value
    if waiting == len(p.crds):
        return _forward(p)
    for payload, owner in zip(p.payloads, m.owners, strict=True):
        kind, value = p.crds[owner].peek()
        if kind == DATA and value == smallest:
            payload.peek()
    p.crd.give(DATA, smallest)
    for payload, owner, result in zip(p.payloads, m.owners, p.results, strict=True):
        kind, value = p.crds[owner].peek()
        if kind == DATA and value == smallest:
            payload_kind, payload_value = payload.peek()
            result.give(payload_kind, payload_value)
            payload.take()
        else:
            result.give(EMPTY, 0)
    for crd in p.crds:
        kind, value = crd.peek()
        if kind == DATA and value == smallest:
            crd.take()
    return None


def _survey(crds: Any) -> tuple[int, int]:
    """The largest coordinate at the heads, and how many operands wait at a stop token."""
    largest = -1
    waiting = 0
    for crd in crds:
        kind, value = crd.peek()
        if kind != DATA:
            waiting += 1
        elif value > largest:
            largest = value
    return largest, waiting


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
    owners = tuple(n for n, payloads in enumerate(operands) for _ in payloads)
    streams = [
        (f"{stream}{n}_{k}", stream)
        for n, payloads in enumerate(operands)
        for k, stream in enumerate(payloads)
    ]
    return Block(
        ports=(
            *(into(f"in_crd{n}", "crd", group="crds") for n in range(len(operands))),
            *(into(f"in_{name}", stream, group="payloads") for name, stream in streams),
            out("crd", "crd"),
            *(out(name, stream, group="results") for name, stream in streams),
        ),
        step=step,
        memory=lambda around: SimpleNamespace(owners=owners),
        groups=("payloads", "results"),
    )


INTERSECTER = Kind("intersecter", "intersecter", partial(_merger, intersect))
UNIONER = Kind("unioner", "unioner", partial(_merger, unite))
