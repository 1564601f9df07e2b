"""Singleton levels of a chain, whose coordinates come one for each position above."""

from __future__ import annotations

from typing import Any

import numpy as np

from sam.blocks.block_memory import Growing, Written
from sam.blocks.writers.base import LevelWriting, append_to
from sam.levels import INDEX, Singleton, SingletonNonUnique
from sam.token import DATA, DONE


def append_coordinate(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to a singleton level of a chain, at the position of the one above."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        append_to(p, m, value)
    else:
        p.ref.give(kind, value)
    return True if kind == DONE else None


def in_chain(kind: type[Singleton]) -> LevelWriting:
    """The writing of a singleton level of a chain, whose writer reads no references."""
    return LevelWriting(
        append_coordinate,
        append_coordinate,
        lambda parameters, size: {"coordinates": Growing(written=Written.IN_ORDER)},
        lambda memory, parents, size: kind(memory.coordinates.to_numpy(np.int64)),
        {"crd": INDEX},
    )


SINGLETON = in_chain(Singleton)
NON_UNIQUE = in_chain(SingletonNonUnique)
