"""Level writers: coordinates and values into memory (Definition 3.8).

A compressed level is appended to; a dense one has a place for every coordinate, so its writer
gives the position of each coordinate as a reference, by which the writer of the next level, or of
the values, knows where its fibers belong. The reference streams are needed only there: below a
compressed level, fibers come in the order in which they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.blocks.arithmetic import Operation
from sam.blocks.base import (
    CHILDLESS,
    FINISHED,
    INSIDE,
    WALK,
    Block,
    Kind,
    Step,
    Surroundings,
    into,
    out,
    walk,
)
from sam.blocks.memories import Growing, Stored
from sam.graph import Parameters, Slot
from sam.levels import Compressed, Dense, Level
from sam.tensor import Tensor
from sam.token import DATA, DONE, EMPTY, STOP


def append_fibers(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to a compressed level, or closes a segment at the end of a fiber.

    A fiber without coordinates has a segment only at the root of the tensor.
    """
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        m.coordinates.append(value)
        s.filled = True
    elif kind == STOP:
        p.ref.give(STOP, value)
        if s.filled or m.root:
            m.segments.append(len(m.coordinates))
        s.filled = False
    else:
        p.ref.give(DONE, 0)
        return True
    return None


def append_fibers_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Appends to a compressed level whose fibers belong to given positions of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found == INSIDE:
        p.in_crd.take()
        p.ref.give(DATA, len(m.coordinates))
        while len(m.segments) <= s.value:
            m.segments.append(len(m.coordinates))
        m.coordinates.append(value)
    elif found == FINISHED:
        p.in_crd.take()
        p.ref.give(DONE, 0)
        return True
    elif found != CHILDLESS or value == 0:
        p.in_crd.take()
        p.ref.give(STOP, value)
    return None


def place(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the position of a coordinate of a dense level at the root of the tensor."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    p.ref.give(kind, value)
    return True if kind == DONE else None


def place_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the position of a coordinate of a dense level, in the fiber of a given position."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found == INSIDE:
        p.in_crd.take()
        p.ref.give(DATA, s.value * m.size + value)
    elif found == FINISHED:
        p.in_crd.take()
        p.ref.give(DONE, 0)
        return True
    elif found != CHILDLESS or value == 0:
        p.in_crd.take()
        p.ref.give(STOP, value)
    return None


def append_values(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a value."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    if kind == DATA or kind == EMPTY:
        m.values.append(value if kind == DATA else m.zero)
    return True if kind == DONE else None


def store_values(p: Any, s: Any, m: Any) -> bool | None:
    """Stores a value where its reference points to."""
    kind, value = p.in_val.peek()
    position = p.in_ref.peek()[1]
    p.in_val.take()
    p.in_ref.take()
    if kind == DATA or kind == EMPTY:
        m.stored[position] = value if kind == DATA else m.zero
    return True if kind == DONE else None


# (level format, whether the level above tells positions) -> step
_STEPS: dict[tuple[str, bool], Step] = {
    (Compressed.code, False): append_fibers,
    (Compressed.code, True): append_fibers_by_reference,
    (Dense.code, False): place,
    (Dense.code, True): place_by_reference,
}


def add_values(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value to what is stored where its reference points to."""
    kind, value = p.in_val.peek()
    position = p.in_ref.peek()[1]
    p.in_val.take()
    p.in_ref.take()
    if kind == DATA:
        m.stored[position] = m.add(m.stored[position], value)
    return True if kind == DONE else None


def _level_writer(parameters: Parameters) -> Block:
    code, by_reference = parameters["format"], parameters["by_reference"]

    def memory(around: Surroundings) -> SimpleNamespace:
        return SimpleNamespace(
            root=parameters["level"] == 0,
            size=around.extents[parameters["variable"]],
            segments=Growing([] if by_reference else [0]),
            coordinates=Growing(),
        )

    references = (into("in_ref", "ref"),) if by_reference else ()
    return Block(
        ports=(into("in_crd", "crd", 1), *references, out("ref", "ref", 1)),
        step=_STEPS[code, by_reference],
        state={**WALK, "filled": False},
        memory=memory,
    )


def _value_writer(parameters: Parameters) -> Block:
    by_reference = parameters["by_reference"]
    references = (into("in_ref", "ref"),) if by_reference else ()
    step = append_values
    if by_reference:
        step = add_values if parameters.get("accumulate") else store_values
    return Block(
        ports=(into("in_val", "val"), *references),
        step=step,
        memory=lambda around: SimpleNamespace(
            values=Growing(values=True),
            stored=Stored(around.zero),
            zero=around.zero,
            add=Operation("add", around.dtype),
        ),
    )


LEVEL_WRITER = Kind("level_writer", "level_writer", _level_writer)
VALUE_WRITER = Kind("value_writer", "level_writer", _value_writer)


def written(slot: Slot, shape: tuple[int, ...], memories: Sequence[Any], dtype: Any) -> Tensor:
    """The tensor in the memories of its level writers, outermost first, and its value writer.

    ``shape`` gives the extent of each level.
    """
    levels: list[Level] = []
    parents = 1
    for code, size, memory in zip(slot.levels, shape, memories[:-1], strict=True):
        level = _written_level(code, size, parents, memory)
        levels.append(level)
        parents = level.positions(parents)
    values = memories[-1].values.to_numpy(dtype)
    if len(values) < parents:
        values = memories[-1].stored.to_numpy(parents, dtype)
    return Tensor(shape, tuple(range(len(shape))), tuple(levels), values)


def _written_level(code: str, size: int, parents: int, memory: Any) -> Level:
    if code == Dense.code:
        return Dense(size)
    coordinates = memory.coordinates.to_numpy(np.int64)
    segments = memory.segments.to_numpy(np.int64)
    missing = np.full(parents + 1 - len(segments), len(coordinates), np.int64)
    return Compressed(np.concatenate((segments, missing)), coordinates)
