"""Dense levels: a coordinate has its place, which the writer computes and nothing stores."""

from __future__ import annotations

from typing import Any

from sam.blocks.base import INSIDE, require_within, walk
from sam.blocks.writers.base import LevelWriting, end
from sam.levels import Dense
from sam.token import DATA, DONE


def place(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the position of a coordinate of a dense level at the root of the tensor."""
    kind, value = p.in_crd.peek()
    if kind == DATA:
        require_within(value, m)
    p.in_crd.take()
    p.ref.give(kind, value)
    return True if kind == DONE else None


def place_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the position of a coordinate of a dense level, in the fiber of a given position."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return end(p, found, value)
    require_within(value, m)
    p.in_crd.take()
    p.ref.give(DATA, s.value * m.size + value)
    return None


def place_beside(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the position of a coordinate of a dense level, in the fiber that comes with it."""
    kind, value = p.in_crd.peek()
    parent = p.in_ref.peek()[1]
    if kind == DATA:
        require_within(value, m)
    p.in_crd.take()
    p.in_ref.take()
    p.ref.give(kind, parent * m.size + value if kind == DATA else value)
    return True if kind == DONE else None


DENSE = LevelWriting(
    place,
    place_by_reference,
    lambda parameters, size: {"size": size},
    lambda memory, parents, size: Dense(size),
    {},
    beside=place_beside,
)
