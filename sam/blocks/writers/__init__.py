"""Level writers: coordinates and values into memory (Definition 3.8).

A level that appends (compressed, bitvector) takes its coordinates in the order of storage. One that
inserts (dense, hashed) finds the place of each, so its writer gives a reference with it, by which
the writer of the next level, or of the values, knows where its fibers belong. The reference streams
are needed only there: below a level that is appended to, fibers come in the order in which they are
stored.

A linked list is appended to anywhere, so its coordinates may come in another order than that of
storage (SAM paper, Section 6.5). Then all levels down to the list (those above it insert) take
their coordinates ``beside`` each other: one for each coordinate that comes to the list, with the
reference from the level above. The levels below it have a fiber for each node, in the order of the
nodes.

A list of coordinates (COO) is a chain: a level that is not unique, and the singleton levels that
hang on it. All their coordinates come together, those of the outer ones repeated for each of the
inner ones. A singleton level outside of a chain is written as a compressed one; only at the end is
it known whether each position above it has one coordinate, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.blocks.base import WALK, Block, Drawing, Kind, Role
from sam.blocks.parameters import FLAG, TEXT, choice, optional, whole
from sam.blocks.ports import Coordinates, Positions, into, out
from sam.blocks.writers import bitvector, compressed, dense, hashed, linked, singleton
from sam.blocks.writers.base import Arrivals, LevelWriting
from sam.blocks.writers.values import VALUE_WRITER, write_values
from sam.graph import End, Parameters, Slot
from sam.graph_builder import GraphBuilder
from sam.levels import (
    Bitvector,
    Compressed,
    CompressedNonUnique,
    Dense,
    Hashed,
    Level,
    Linked,
    Singleton,
    SingletonNonUnique,
    repeats,
)
from sam.support.errors import StreamError, UserError
from sam.tensor import Tensor

__all__ = [
    "CHAINED",
    "LEVEL_WRITER",
    "VALUE_WRITER",
    "WRITING",
    "write_level",
    "write_values",
    "written",
]

WRITING: Mapping[str, LevelWriting] = {
    Dense.code: dense.DENSE,
    Compressed.code: compressed.COMPRESSED,
    CompressedNonUnique.code: compressed.NON_UNIQUE,
    Singleton.code: compressed.COMPRESSED,
    SingletonNonUnique.code: compressed.COMPRESSED,
    Hashed.code: hashed.HASHED,
    Bitvector.code: bitvector.BITVECTOR,
    Linked.code: linked.LINKED,
}
"""The writing of each level format that can be written, outside of a chain."""

CHAINED: Mapping[str, LevelWriting] = {
    Singleton.code: singleton.SINGLETON,
    SingletonNonUnique.code: singleton.NON_UNIQUE,
}
"""The writing of the formats that can hang on a level that is not unique."""


def _level_writer(parameters: Parameters) -> Block:
    """``repeats`` is the number of levels below that repeat its coordinates; a ``chained`` writer
    is one of such levels. A writer ``beside`` others takes its coordinates in their order.
    """
    by_reference, beside = parameters["by_reference"], parameters.get("beside", False)
    ways = CHAINED if parameters.get("chained") else WRITING
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
    level = parameters["level"]
    above = into("in_ref", "ref", 1 if beside else 0, meaning=Positions(None, level))
    along = Coordinates(variable=parameters["variable"])
    return Block(
        ports=(
            into(
                "in_crd",
                "crd",
                1,
                payload=beside or parameters.get("repeats", 0) > 0,
                meaning=along,
            ),
            *(above,) * by_reference,
            out("ref", "ref", 1, meaning=Positions(None, level + 1)),
        ),
        step=step,
        state={**WALK, **writing.state},
        memory=lambda around: SimpleNamespace(
            **writing.memory(parameters, around.extent(parameters["variable"])),
            regions=around.written_regions(level, writing.arrays),
            **around.limit("in_crd"),
        ),
    )


LEVEL_WRITER = Kind(
    "level_writer",
    "level_writer",
    _level_writer,
    {
        "slot": optional(TEXT),  # its name is for people; the graph's result has the tensor
        "level": whole(),
        "format": choice(WRITING),
        "variable": TEXT,
        "by_reference": FLAG,
        "repeats": optional(whole()),
        "chained": optional(FLAG),
        "beside": optional(FLAG),
    },
    role=Role.LEVEL_WRITER,
    drawing=Drawing("folder"),
    work="writes",
)


def written(
    slot: Slot, shape: tuple[int, ...], memories: Sequence[Any], dtype: Any, by_reference: bool
) -> Tensor:
    """The tensor in the memories of its level writers, outermost first, and its value writer.

    ``shape`` gives the extent of each level. The levels are those of the slot, but compressed ones
    for singletons outside of chains. The values were stored ``by_reference``, or else appended.

    The numbers that a hash table's writer gives are not positions: a position is a bucket, and all
    tables of a level have the width that the fullest needs. So a tensor with a hashed level is
    arranged anew.

    Raises UserError where the parts make no tensor, as a graph can come from anywhere.
    """
    hanging = repeats(slot.levels)
    codes = ""
    levels: list[Level | Arrivals] = []
    parents = 1
    for n, (code, size, memory) in enumerate(zip(slot.levels, shape, memories[:-1], strict=True)):
        in_chain = n > 0 and hanging[n - 1] > 0
        level = (CHAINED if in_chain else WRITING)[code].level(memory, parents, size)
        if isinstance(level, Arrivals) and level.parents.max(initial=-1) >= parents:
            raise StreamError(f"its level {n} has fibers for more than {parents} parents")
        codes += Hashed.code if isinstance(level, Arrivals) else level.code
        levels.append(level)
        parents = level.positions(parents)
    memory = memories[-1]
    values = (
        memory.stored.to_numpy(parents, dtype) if by_reference else memory.values.to_numpy(dtype)
    )
    if len(values) != parents:
        raise StreamError(f"it has {len(values)} values for {parents} positions")
    ready = tuple(level for level in levels if isinstance(level, Level))
    if len(ready) == len(levels):
        return Tensor(shape, tuple(range(len(shape))), ready, values).validated()
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

    ``ref`` has the references from the level above, if the writer reads them; ``more`` the
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
