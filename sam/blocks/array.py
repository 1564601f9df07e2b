"""Arrays: values by reference (Definition 3.5, load)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Drawing, Kind, Role, Surroundings, Values, require_within
from sam.blocks.parameters import FLAG, TEXT, optional
from sam.blocks.ports import Positions, into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, DONE, EMPTY


def load(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the value that the reference points to; for ``N`` 0, or a number that is everywhere."""
    kind, value = p.in_ref.peek()
    p.in_ref.take()
    if kind == DATA:
        require_within(value, m)
        p.val.give(DATA, m.values[value])
        if m.regions:
            p.memory.read(m.regions["val"], value)
    elif kind == EMPTY:
        p.val.give(DATA, m.absent)
    else:
        p.val.give(kind, value)
        if kind == DONE:
            return True
    return None


def _array(parameters: Parameters) -> Block:
    slot, everywhere = parameters["slot"], parameters.get("everywhere", False)

    def memory(around: Surroundings) -> SimpleNamespace:
        values = around.numbers(around.tensors[slot].values)
        return SimpleNamespace(
            values=values,
            absent=values[0] if everywhere else around.zero,
            regions=around.value_regions(slot),
            **around.limit("in_ref"),
        )

    return Block(
        ports=(into("in_ref", "ref", meaning=Positions(slot, None)), out("val", "val")),
        step=load,
        memory=memory,
        values=Values(slot=slot),
    )


ARRAY = Kind(
    "array",
    "array",
    _array,
    {"slot": TEXT, "everywhere": optional(FLAG)},
    role=Role.READER,
    drawing=Drawing("cylinder"),
    work="reads values",
)


def load_values(
    graph: GraphBuilder, name: str, slot: str, ref: End, everywhere: bool = False
) -> End:
    """Adds an array: the values of a slot that references point to.

    ``everywhere``  whether the slot is a number that ``N`` stands for, too
    """
    more = {"everywhere": True} if everywhere else {}
    return graph.add("array", name, {"slot": slot, **more}, ref=ref)["val"]
