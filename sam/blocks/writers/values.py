"""The values of a result: appended, stored at a position, or added to a stored value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.arithmetic import Operation
from sam.blocks.base import Block, Drawing, Kind, Role, Values
from sam.blocks.block_memory import Growing, Stored, Written
from sam.blocks.parameters import FLAG, TEXT, optional
from sam.blocks.ports import Positions, into
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.memory_regions import VALUE
from sam.token import DATA, DONE, EMPTY


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
    """Adds a value to the one that is stored at its reference."""
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


def _value_writer(parameters: Parameters) -> Block:
    by_reference, accumulates = parameters["by_reference"], parameters.get("accumulate", False)
    references = (into("in_ref", "ref", meaning=Positions(None, None)),) if by_reference else ()
    step = append_values
    if by_reference:
        step = add_values if accumulates else store_values
    return Block(
        ports=(into("in_val", "val"), *references),
        step=step,
        memory=lambda around: SimpleNamespace(
            values=Growing(values=True, written=Written.IN_ORDER),
            stored=Stored(around.zero, written=Written.ADDED if accumulates else Written.BY_PLACE),
            zero=around.zero,
            add=Operation("add", around.dtype),
            regions=around.written_regions(None, {"val": VALUE}),
        ),
        values=Values(sums=accumulates),
    )


VALUE_WRITER = Kind(
    "value_writer",
    "level_writer",
    _value_writer,
    {"slot": optional(TEXT), "by_reference": FLAG, "accumulate": optional(FLAG)},
    role=Role.VALUE_WRITER,
    drawing=Drawing("folder"),
    work="writes",
)


def write_values(
    graph: GraphBuilder, name: str, slot: str, val: End, ref: End | None, accumulate: bool
) -> None:
    """Adds a writer of the values of the result; with ``accumulate`` it adds to stored ones."""
    parameters = {"slot": slot, "by_reference": ref is not None, "accumulate": accumulate}
    inputs = {"val": val} if ref is None else {"val": val, "ref": ref}
    graph.add("value_writer", name, parameters, **inputs)
