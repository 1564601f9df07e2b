"""Compressed levels: coordinates are appended, and a segment is closed at the end of a fiber."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sam.blocks.base import INSIDE, walk
from sam.blocks.block_memory import Growing, Written
from sam.blocks.writers.base import BOTH, LevelWriting, append_to, end
from sam.graph import Parameters
from sam.levels import Compressed, CompressedNonUnique
from sam.support.errors import StreamError
from sam.token import DATA, DONE, STOP


def append_fibers(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to a compressed level, or closes a segment at the end of a fiber.

    A fiber without coordinates has a segment only at the root of the tensor. At the head of a
    chain, the fibers of the levels that hang on it end inside of the segment.
    """
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        append_to(p, m, value)
        s.filled = True
    elif kind == STOP:
        p.ref.give(STOP, value)
        if value >= m.repeats:
            if s.filled or m.root:
                _append_segment(p, m)
            s.filled = False
    else:
        p.ref.give(DONE, 0)
        return True
    return None


def append_fibers_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Appends to a compressed level whose fibers belong to given positions of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return end(p, found, value)
    p.in_crd.take()
    p.ref.give(DATA, len(m.coordinates))
    while len(m.segments) <= s.value:
        _append_segment(p, m)
    append_to(p, m, value)
    return None


def _append_segment(p: Any, m: Any) -> None:
    if m.regions:
        p.memory.write(m.regions["seg"], len(m.segments))
    m.segments.append(len(m.coordinates))


def compressed(kind: type[Compressed]) -> LevelWriting:
    """The writing of a compressed level; the result is a level of ``kind``."""

    def memory(parameters: Parameters, size: int) -> Mapping[str, Any]:
        coordinates = Growing(written=Written.IN_ORDER)
        by_reference = parameters["by_reference"]
        return {
            "root": parameters["level"] == 0,
            "repeats": parameters.get("repeats", 0),
            "segments": Growing(
                [] if by_reference else [0],
                written=Written.BY_PLACE if by_reference else Written.IN_ORDER,
                lengths_of=coordinates,
            ),
            "coordinates": coordinates,
        }

    def level(memory: Any, parents: int, size: int) -> Compressed:
        coordinates = memory.coordinates.to_numpy(np.int64)
        segments = memory.segments.to_numpy(np.int64)
        if len(segments) > parents + 1:
            raise StreamError(f"it has {len(segments) - 1} fibers for {parents} parents")
        missing = np.full(parents + 1 - len(segments), len(coordinates), np.int64)
        return kind(np.concatenate((segments, missing)), coordinates)

    return LevelWriting(
        append_fibers, append_fibers_by_reference, memory, level, BOTH, {"filled": False}
    )


COMPRESSED = compressed(Compressed)
NON_UNIQUE = compressed(CompressedNonUnique)
