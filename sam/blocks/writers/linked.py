"""Linked lists: a coordinate is appended to the list of its fiber, at any time."""

from __future__ import annotations

from typing import Any

import numpy as np

from sam.blocks.base import INSIDE, require_within, walk
from sam.blocks.block_memory import Growing, Stored
from sam.blocks.writers.base import BOTH, LevelWriting, end, next_parent
from sam.levels import Linked
from sam.token import DATA, DONE


def link(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to the list of its fiber, which follows the last fiber's list."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        _link(p, m, s.parent, value)
        s.filled = True
        return None
    return next_parent(p, s, kind, value)


def link_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to the list of a given position of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return end(p, found, value)
    p.in_crd.take()
    p.ref.give(DATA, len(m.coordinates))
    _link(p, m, s.value, value)
    return None


def link_beside(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to the list of the position that comes with it."""
    kind, value = p.in_crd.peek()
    parent = p.in_ref.peek()[1]
    p.in_crd.take()
    p.in_ref.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        _link(p, m, parent, value)
    else:
        p.ref.give(kind, value)
    return True if kind == DONE else None


def _link(p: Any, m: Any, parent: Any, coordinate: Any) -> None:
    """Puts a node at the end of a list. Nodes are numbered from 1 here, for 0 to be none.

    ``seg`` has where the list begins and ends, ``crd`` the coordinate of each node and its next.
    """
    require_within(coordinate, m)
    node = len(m.coordinates) + 1
    last = m.tails[parent]
    if m.regions:
        p.memory.read(m.regions["seg"], parent)
        p.memory.write(m.regions["seg"], parent)
        p.memory.write(m.regions["crd"], 2 * (node - 1))
        if last > 0:
            p.memory.write(m.regions["crd"], 2 * (last - 1) + 1)
    if last == 0:
        m.heads[parent] = node
    else:
        m.nexts[last - 1] = node
    m.tails[parent] = node
    m.coordinates.append(coordinate)


LINKED = LevelWriting(
    link,
    link_by_reference,
    lambda parameters, size: {
        "heads": Stored(0, integers=True),
        "tails": Stored(0, integers=True),
        "nexts": Stored(0, integers=True),
        "coordinates": Growing(),
    },
    lambda memory, parents, size: Linked(
        memory.heads.to_numpy(parents, np.int64) - 1,
        memory.nexts.to_numpy(len(memory.coordinates.to_list()), np.int64) - 1,
        memory.coordinates.to_numpy(np.int64),
    ),
    BOTH,
    {"filled": False, "parent": 0},
    link_beside,
)
