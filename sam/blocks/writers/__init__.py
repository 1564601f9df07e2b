"""Level writers: coordinates and values into memory (Definition 3.8).

A level that appends (compressed, bitvector) takes its coordinates in the order of storage. One that
inserts (dense, hashed) finds the place of each, so its writer gives a reference with it, by which
the writer of the next level, or of the values, knows where its fibers belong. The reference streams
are needed only there: below a level that is appended to, fibers come in the order in which they are
stored.

A linked list is appended to anywhere, so its coordinates may come in another order than that of
storage (SAM paper, Section 6.5). Then all levels down to it, the others of which insert, take their
coordinates ``beside`` each other: one for each that comes to the list, with the reference from the
level above. The levels below it have a fiber for each node, in the order of the nodes.

A list of coordinates (COO) is a chain: a level that is not unique, and the singleton levels that
hang on it. All their coordinates come together, those of the outer ones repeated for each of the
inner ones. A singleton level outside of a chain is written as a compressed one; only at the end is
it known whether each position above it has one coordinate, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    into,
    out,
    walk,
)
from sam.blocks.block_memory import Growing, Stored
from sam.blocks.parameters import FLAG, TEXT, choice, optional, whole
from sam.graph import End, Parameters, Slot
from sam.graph_builder import GraphBuilder
from sam.levels import (
    INDEX,
    WORD,
    WORD_BITS,
    Bitvector,
    Compressed,
    CompressedNonUnique,
    Dense,
    Hashed,
    Ints,
    Level,
    Linked,
    Singleton,
    SingletonNonUnique,
    repeats,
    words_for,
)
from sam.memory_regions import VALUE
from sam.support.errors import UserError
from sam.tensor import Tensor, made
from sam.token import DATA, DONE, EMPTY, STOP


def append_fibers(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to a compressed level, or closes a segment at the end of a fiber.

    A fiber without coordinates has a segment only at the root of the tensor. At the head of a
    chain, the fibers of the levels that hang on it end inside of the segment.
    """
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        _append_coordinate(p, m, value)
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
        return _end(p, found, value)
    p.in_crd.take()
    p.ref.give(DATA, len(m.coordinates))
    while len(m.segments) <= s.value:
        _append_segment(p, m)
    _append_coordinate(p, m, value)
    return None


def _append_segment(p: Any, m: Any) -> None:
    if m.regions:
        p.memory.write(m.regions["seg"], len(m.segments))
    m.segments.append(len(m.coordinates))


def _append_coordinate(p: Any, m: Any, coordinate: Any) -> None:
    if m.regions:
        p.memory.write(m.regions["crd"], len(m.coordinates))
    m.coordinates.append(coordinate)


def append_coordinate(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to a singleton level of a chain, at the position of the one above."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        _append_coordinate(p, m, value)
    else:
        p.ref.give(kind, value)
    return True if kind == DONE else None


def _next_parent(p: Any, s: Any, kind: int, value: int) -> bool | None:
    """Passes on the end of a fiber; one with coordinates is followed by that of the next parent."""
    p.ref.give(kind, value)
    if kind == DONE:
        return True
    if s.filled:
        s.parent += 1
    s.filled = False
    return None


def append_bits(p: Any, s: Any, m: Any) -> bool | None:
    """Sets the bit of a coordinate in the words of its fiber, which are those behind the last's."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, s.ones)
        _set_bit(p, s, m, s.parent, value)
        s.filled = True
        return None
    return _next_parent(p, s, kind, value)


def append_bits_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Sets the bit of a coordinate in the words of a given position of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return _end(p, found, value)
    p.in_crd.take()
    p.ref.give(DATA, s.ones)
    _set_bit(p, s, m, s.value, value)
    return None


def link(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to the list of its fiber, which is the one behind the last's."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, len(m.coordinates))
        _link(p, m, s.parent, value)
        s.filled = True
        return None
    return _next_parent(p, s, kind, value)


def link_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a coordinate to the list of a given position of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return _end(p, found, value)
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


def _set_bit(p: Any, s: Any, m: Any, parent: Any, coordinate: Any) -> None:
    word = parent * m.words_of_fiber + coordinate // WORD_BITS
    if m.regions:
        p.memory.write(m.regions["crd"], word)
    m.words[word] = m.words[word] | 1 << coordinate % WORD_BITS
    s.ones += 1


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
    if found != INSIDE:
        return _end(p, found, value)
    p.in_crd.take()
    p.ref.give(DATA, s.value * m.size + value)
    return None


def place_beside(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the position of a coordinate of a dense level, in the fiber that comes with it."""
    kind, value = p.in_crd.peek()
    parent = p.in_ref.peek()[1]
    p.in_crd.take()
    p.in_ref.take()
    p.ref.give(kind, parent * m.size + value if kind == DATA else value)
    return True if kind == DONE else None


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
        return _end(p, found, value)
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
    """Looks at one bucket for a coordinate; one that is found there or put there is taken.

    With it goes the reference ``beside`` it.

    The bucket holds the number of the coordinate in the order of their first coming, and that is
    the reference that goes out: buckets move. All tables have one width. When one is more than half
    full, the width doubles: new tables begin behind the old ones, and before the next coordinate
    all those that have come move into them, in a firing for each bucket that is looked at.
    """
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


def _end(p: Any, found: int, value: Any) -> bool | None:
    """Passes on the end of a fiber, as ``walk`` has found it."""
    if found != CHILDLESS or value == 0:
        p.in_crd.take()
        p.ref.give(DONE if found == FINISHED else STOP, value)
    return True if found == FINISHED else None


def append_values(p: Any, s: Any, m: Any) -> bool | None:
    """Appends a value."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    if kind == DATA or kind == EMPTY:
        if m.regions:
            p.memory.write(m.regions["val"], len(m.values))
        m.values.append(value if kind == DATA else m.zero)
    return True if kind == DONE else None


def store_values(p: Any, s: Any, m: Any) -> bool | None:
    """Stores a value where its reference points to."""
    kind, value = p.in_val.peek()
    position = p.in_ref.peek()[1]
    p.in_val.take()
    p.in_ref.take()
    if kind == DATA or kind == EMPTY:
        if m.regions:
            p.memory.write(m.regions["val"], position)
        m.stored[position] = value if kind == DATA else m.zero
    return True if kind == DONE else None


def add_values(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value to what is stored where its reference points to."""
    kind, value = p.in_val.peek()
    position = p.in_ref.peek()[1]
    p.in_val.take()
    p.in_ref.take()
    if kind == DATA:
        if m.regions:
            p.memory.read(m.regions["val"], position)
            p.memory.write(m.regions["val"], position)
        m.stored[position] = m.add(m.stored[position], value)
    return True if kind == DONE else None


@dataclass(frozen=True)
class _Arrivals:
    """A hashed level as it is written: the parent and the coordinate of each number."""

    parents: Ints
    coordinates: Ints
    padded = False

    def positions(self, parents: int) -> int:
        return len(self.coordinates)

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        return self.parents[positions], self.coordinates[positions]


@dataclass(frozen=True)
class _Writing:
    """How a level format is written.

    ``step``          the step at the root of the tensor, and below a level that appends
    ``by_reference``  the step where the positions of the level above are told
    ``beside``        the step where one is told with each coordinate, down to a linked list
    ``memory``        what they fill, by a node's parameters and the extent
    ``level``         the level in such a memory, by the number of parents and the extent
    ``arrays``        what they write, by part what an entry is (``sam.memory_regions``); ``seg`` of
                      a hash table are its buckets
    ``state``         what they remember, beside what ``walk`` does
    """

    step: Step
    by_reference: Step
    memory: Callable[[Parameters, int], Mapping[str, Any]]
    level: Callable[[Any, int, int], Level | _Arrivals]
    arrays: Mapping[str, str]
    state: Mapping[str, Any] = field(default_factory=dict)
    beside: Step | None = None


_BOTH = {"seg": INDEX, "crd": INDEX}


def _fibers(kind: type[Compressed]) -> _Writing:
    """How a compressed level is written; what comes out is a level of ``kind``."""

    def memory(parameters: Parameters, size: int) -> Mapping[str, Any]:
        return {
            "root": parameters["level"] == 0,
            "repeats": parameters.get("repeats", 0),
            "segments": Growing([] if parameters["by_reference"] else [0]),
            "coordinates": Growing(),
        }

    def level(memory: Any, parents: int, size: int) -> Compressed:
        coordinates = memory.coordinates.to_numpy(np.int64)
        segments = memory.segments.to_numpy(np.int64)
        missing = np.full(parents + 1 - len(segments), len(coordinates), np.int64)
        return kind(np.concatenate((segments, missing)), coordinates)

    return _Writing(
        append_fibers, append_fibers_by_reference, memory, level, _BOTH, {"filled": False}
    )


def _in_chain(kind: type[Singleton]) -> _Writing:
    """How a singleton level of a chain is written, which is never told references."""
    return _Writing(
        append_coordinate,
        append_coordinate,
        lambda parameters, size: {"coordinates": Growing()},
        lambda memory, parents, size: kind(memory.coordinates.to_numpy(np.int64)),
        {"crd": INDEX},
    )


_DENSE = _Writing(
    place,
    place_by_reference,
    lambda parameters, size: {"size": size},
    lambda memory, parents, size: Dense(size),
    {},
    beside=place_beside,
)
_BITS = _Writing(
    append_bits,
    append_bits_by_reference,
    lambda parameters, size: {
        "words_of_fiber": words_for(size),
        "words": Stored(0, integers=True),
    },
    lambda memory, parents, size: Bitvector.of(
        size, memory.words.to_numpy(parents * words_for(size), np.uint64)
    ),
    {"crd": WORD},
    {"filled": False, "parent": 0, "ones": 0},
)
_TABLES = _Writing(
    insert,
    insert_by_reference,
    lambda parameters, size: {
        "parents": Growing(),
        "coordinates": Growing(),
        "buckets": Stored(0, integers=True),
        "lengths": Stored(0, integers=True),
    },
    lambda memory, parents, size: _Arrivals(
        memory.parents.to_numpy(np.int64), memory.coordinates.to_numpy(np.int64)
    ),
    _BOTH,
    {"width": 1, "begin": 0, "last": 0, "probes": 0, "moved": 0, "moving": 0},
    insert_beside,
)
_LISTS = _Writing(
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
    _BOTH,
    {"filled": False, "parent": 0},
    link_beside,
)

_WRITING: Mapping[str, _Writing] = {
    Dense.code: _DENSE,
    Compressed.code: _fibers(Compressed),
    CompressedNonUnique.code: _fibers(CompressedNonUnique),
    Singleton.code: _fibers(Compressed),
    SingletonNonUnique.code: _fibers(Compressed),
    Hashed.code: _TABLES,
    Bitvector.code: _BITS,
    Linked.code: _LISTS,
}
_CHAINED: Mapping[str, _Writing] = {
    kind.code: _in_chain(kind) for kind in (Singleton, SingletonNonUnique)
}


def _level_writer(parameters: Parameters) -> Block:
    """``repeats`` levels below repeat its coordinates; one that is ``chained`` is among such.

    One that is ``beside`` others takes its coordinates in the order of those.
    """
    by_reference, beside = parameters["by_reference"], parameters.get("beside", False)
    ways = _CHAINED if parameters.get("chained") else _WRITING
    if parameters["format"] not in ways:
        raise UserError(f"a level of format {parameters['format']} is not chained")
    writing = ways[parameters["format"]]
    step = writing.by_reference if by_reference else writing.step
    if by_reference and beside:
        if writing.beside is None:
            raise UserError(
                f"a level of format {parameters['format']} is not written beside others"
            )
        step = writing.beside
    references = (into("in_ref", "ref", 1 if beside else 0),) if by_reference else ()
    return Block(
        ports=(
            into("in_crd", "crd", 1, payload=beside or parameters.get("repeats", 0) > 0),
            *references,
            out("ref", "ref", 1),
        ),
        step=step,
        state={**WALK, **writing.state},
        memory=lambda around: SimpleNamespace(
            **writing.memory(parameters, around.extents[parameters["variable"]]),
            regions=around.written_regions(parameters["level"], writing.arrays),
        ),
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
            regions=around.written_regions(None, {"val": VALUE}),
        ),
    )


LEVEL_WRITER = Kind(
    "level_writer",
    "level_writer",
    _level_writer,
    {
        "slot": optional(TEXT),  # it is named to people; the graph's result has it
        "level": whole(),
        "format": choice(_WRITING),
        "variable": TEXT,
        "by_reference": FLAG,
        "repeats": optional(whole()),
        "chained": optional(FLAG),
        "beside": optional(FLAG),
    },
)
VALUE_WRITER = Kind(
    "value_writer",
    "level_writer",
    _value_writer,
    {"slot": optional(TEXT), "by_reference": FLAG, "accumulate": optional(FLAG)},
)


def written(slot: Slot, shape: tuple[int, ...], memories: Sequence[Any], dtype: Any) -> Tensor:
    """The tensor in the memories of its level writers, outermost first, and its value writer.

    ``shape`` gives the extent of each level. The levels are those of the slot, but compressed ones
    for singletons outside of chains.

    Numbers of a hash table are not positions: a bucket is one, and all tables of a level have the
    width that the fullest needs. So where there is one, all is arranged anew.
    """
    hanging = repeats(slot.levels)
    codes = ""
    levels: list[Level | _Arrivals] = []
    parents = 1
    for n, (code, size, memory) in enumerate(zip(slot.levels, shape, memories[:-1], strict=True)):
        in_chain = n > 0 and hanging[n - 1] > 0
        level = (_CHAINED if in_chain else _WRITING)[code].level(memory, parents, size)
        codes += Hashed.code if isinstance(level, _Arrivals) else level.code
        levels.append(level)
        parents = level.positions(parents)
    values = memories[-1].values.to_numpy(dtype)
    if len(values) < parents:
        values = memories[-1].stored.to_numpy(parents, dtype)
    ready = tuple(level for level in levels if isinstance(level, Level))
    if len(ready) == len(levels):
        return made(shape, tuple(range(len(shape))), ready, values)
    positions = np.flatnonzero(values) if levels[-1].padded else np.arange(parents)
    values = values[positions]
    coordinates = np.empty((len(levels), len(positions)), np.int64)
    for n in reversed(range(len(levels))):
        positions, coordinates[n] = levels[n].trace(positions)
    return Tensor.from_coo(coordinates, values, shape, codes)


def write_level(
    graph: GraphBuilder,
    name: str,
    slot: str,
    level: int,
    format: str,
    variable: str,
    crd: End,
    ref: End | None,
    **more: Any,
) -> End:
    """Adds a writer of a level of the result; gives the references to what it writes.

    ``ref`` are the references from the level above, where it must be told them. ``more`` are the
    parameters ``repeats``, ``chained`` and ``beside``.
    """
    parameters = {
        "slot": slot,
        "level": level,
        "format": format,
        "variable": variable,
        "by_reference": ref is not None,
        **more,
    }
    inputs = {"crd": crd} if ref is None else {"crd": crd, "ref": ref}
    return graph.add("level_writer", name, parameters, **inputs)["ref"]


def write_values(
    graph: GraphBuilder, name: str, slot: str, val: End, ref: End | None, accumulate: bool
) -> None:
    """Adds a writer of the values of the result; ``accumulate`` has them added to what is there."""
    parameters = {"slot": slot, "by_reference": ref is not None, "accumulate": accumulate}
    inputs = {"val": val} if ref is None else {"val": val, "ref": ref}
    graph.add("value_writer", name, parameters, **inputs)
