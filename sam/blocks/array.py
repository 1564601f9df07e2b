"""Arrays: values by reference (Definition 3.5, load)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Drawing, Kind, Role, Values, require_within
from sam.blocks.parameters import TEXT
from sam.blocks.ports import Positions, into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, DONE, EMPTY


def load(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the value that the reference points to; 0 for ``N``."""
    kind, value = p.in_ref.peek()
    p.in_ref.take()
    if kind == DATA:
        require_within(value, m)
        p.val.give(DATA, m.values[value])
        if m.regions:
            p.memory.read(m.regions["val"], value)
    elif kind == EMPTY:
        p.val.give(DATA, m.zero)
    else:
        p.val.give(kind, value)
        if kind == DONE:
            return True
    return None


def _array(parameters: Parameters) -> Block:
    slot = parameters["slot"]
    return Block(
        ports=(into("in_ref", "ref", meaning=Positions(slot, None)), out("val", "val")),
        step=load,
        memory=lambda around: SimpleNamespace(
            values=around.numbers(around.tensors[slot].values),
            zero=around.zero,
            regions=around.value_regions(slot),
            **around.limit("in_ref"),
        ),
        values=Values(slot=slot),
    )


ARRAY = Kind(
    "array",
    "array",
    _array,
    {"slot": TEXT},
    role=Role.READER,
    drawing=Drawing("cylinder"),
    work="reads values",
)


def load_values(graph: GraphBuilder, name: str, slot: str, ref: End) -> End:
    """Adds an array: the values of a slot that references point to."""
    return graph.add("array", name, {"slot": slot}, ref=ref)["val"]
