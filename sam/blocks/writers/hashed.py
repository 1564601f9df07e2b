"""Hashed levels: a coordinate is inserted into the table of its fiber, bucket by bucket."""

from __future__ import annotations

from typing import Any

import numpy as np

from sam.blocks.base import INSIDE, require_within, walk
from sam.blocks.block_memory import Growing, Stored
from sam.blocks.writers.base import BOTH, Arrivals, LevelWriting, end
from sam.token import DATA, DONE


def insert(p: Any, s: Any, m: Any) -> bool | None:
    """Inserts a coordinate into the hash table at the root of the tensor: see ``_probe``."""
    kind, value = p.in_crd.peek()
    if kind == DATA:
        _probe(p, s, m, 0, value, False)
        return None
    p.in_crd.take()
    p.ref.give(kind, value)
    return True if kind == DONE else None


def insert_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Inserts a coordinate into the hash table of a given position of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return end(p, found, value)
    _probe(p, s, m, s.value, value, False)
    return None


def insert_beside(p: Any, s: Any, m: Any) -> bool | None:
    """Inserts a coordinate into the hash table of the position that comes with it."""
    kind, value = p.in_crd.peek()
    parent = p.in_ref.peek()[1]
    if kind == DATA:
        _probe(p, s, m, parent, value, True)
        return None
    p.in_crd.take()
    p.in_ref.take()
    p.ref.give(kind, value)
    return True if kind == DONE else None


def _probe(p: Any, s: Any, m: Any, parent: Any, coordinate: Any, beside: bool) -> None:
    """Looks at one bucket for a coordinate, which is taken if it is found or put there.

    With it goes the reference ``beside`` it.

    The bucket holds the number of the coordinate in the order of their first coming, and that is
    the reference that goes out: buckets move. All tables have one width. When a table is more than
    half full, the width doubles: new tables begin behind the old ones. Before the next coordinate
    is taken, all earlier ones move into the new tables, in a firing for each bucket that is looked
    at.
    """
    require_within(coordinate, m)
    moving = s.moved < s.moving
    owner = m.parents[s.moved] if moving else parent
    wanted = m.coordinates[s.moved] if moving else coordinate
    bucket = s.begin + owner * s.width + (wanted + s.probes) % s.width
    number = m.buckets[bucket] - 1
    if moving and number < 0:
        s.probes = 0
        s.moved += 1
        _look_at(p, m, bucket)
        _fill(p, m, bucket)
        m.buckets[bucket] = s.moved
    elif moving or (number >= 0 and m.coordinates[number] != wanted):
        s.probes += 1
        _look_at(p, m, bucket)
    elif number >= 0:
        p.in_crd.take()
        if beside:
            p.in_ref.take()
        p.ref.give(DATA, number)
        _look_at(p, m, bucket)
        s.probes = 0
    else:
        p.in_crd.take()
        if beside:
            p.in_ref.take()
        p.ref.give(DATA, len(m.coordinates))
        _look_at(p, m, bucket)
        _fill(p, m, bucket)
        if m.regions:
            p.memory.write(m.regions["crd"], len(m.coordinates))
        s.probes = 0
        s.last = max(s.last, owner)
        m.buckets[bucket] = len(m.coordinates) + 1
        m.parents.append(owner)
        m.coordinates.append(wanted)
        m.lengths[owner] = m.lengths[owner] + 1
        if 2 * m.lengths[owner] > s.width:
            s.begin += (s.last + 1) * s.width
            s.width = 2 * s.width
            s.moved = 0
            s.moving = len(m.coordinates)


def _look_at(p: Any, m: Any, bucket: Any) -> None:
    if m.regions:
        p.memory.read(m.regions["seg"], bucket)


def _fill(p: Any, m: Any, bucket: Any) -> None:
    if m.regions:
        p.memory.write(m.regions["seg"], bucket)


HASHED = LevelWriting(
    insert,
    insert_by_reference,
    lambda parameters, size: {
        "parents": Growing(),
        "coordinates": Growing(),
        "buckets": Stored(0, integers=True),
        "lengths": Stored(0, integers=True),
    },
    lambda memory, parents, size: Arrivals(
        memory.parents.to_numpy(np.int64), memory.coordinates.to_numpy(np.int64)
    ),
    BOTH,
    {"width": 1, "begin": 0, "last": 0, "probes": 0, "moved": 0, "moving": 0},
    insert_beside,
)
