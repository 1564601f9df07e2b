"""The section ``memory`` of a hardware config: levels, and the arrays that live in them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from sam.graph import Graph
from sam.levels import INDEX, WORD, WORD_BITS
from sam.memory_regions import PARTS, Region
from sam.support.errors import UserError, one_of
from sam.support.yaml_sections import (
    Depth,
    Limit,
    Section,
    Span,
    Text,
    at_most,
    check_section,
    is_count,
    is_number,
    mistake,
    must_be,
)

PlainText = Annotated[
    str, must_be("text without dots", lambda value: isinstance(value, str) and "." not in value)
]
Cycles = Annotated[
    int,
    must_be(
        "a whole number of at least 0",
        lambda value: is_count(value) or (value == 0 and not isinstance(value, bool | float)),
    ),
    at_most(10**9),
]
Rate = Annotated[
    float | Literal["unbounded"],
    must_be(
        'a number greater than 0, or "unbounded"',
        lambda value: value == "unbounded" or (is_number(value) and value > 0),
    ),
]
Energy = Annotated[
    float,
    must_be("a number of at least 0", lambda value: is_number(value) and value >= 0),
]
Ports = Annotated[
    int | Literal["per_block"],
    must_be(
        'a whole number of at least 1, or "per_block"',
        lambda value: value == "per_block" or is_count(value),
    ),
    at_most(10**6, ', or "per_block"'),
]
Replacement = Annotated[
    Literal["lru", "fifo"],
    must_be('"lru" or "fifo"', lambda value: value in ("lru", "fifo")),
]


class MemoryLevel(Section):
    """A level of memory.

    ``name``                 its name in ``places`` and in statistics
    ``capacity_bytes``       the bytes that it holds; the outermost level holds everything else
    ``bandwidth_gb_per_s``   of each port
    ``latency_cycles``       from a port's taking a request to the data, if they are there
    ``ports``                how many; blocks are dealt to them in turn, in the order of the graph
    ``line_bytes``           the unit in which it keeps data and gets them from the level outside of
                             it; of the outermost level, the least that it moves. A line holds as
                             many whole entries of an array as fit; without lines, each entry is a
                             line
    ``replacement``          which line makes room: ``lru``, the least recently used, or ``fifo``,
                             the one that came first
    ``energy_pj_per_byte``   of what it reads and writes
    """

    name: PlainText
    capacity_bytes: Limit = "unbounded"
    bandwidth_gb_per_s: Rate = "unbounded"
    latency_cycles: Cycles = 1
    ports: Ports = 1
    line_bytes: Span | None = None
    replacement: Replacement = "lru"
    energy_pj_per_byte: Energy = 0.0


class Memory(Section):
    """The memory that tensors lie in. Without levels it is ideal: it takes no time.

    ``levels``                from the outermost, DRAM, inwards
    ``index_bytes``           of a coordinate or a position
    ``value_bytes``           of a value; those of its type, where there is no such key
    ``outstanding_requests``  of one block at a time; 1 for a block that follows linked lists, as a
                              node tells where the next is
    ``places``                where arrays live, by ``TENSOR``, one of its storage levels, ``B.1``,
                              one of its arrays, ``B.crd`` or ``B.1.crd``, or by array, ``crd``:
                              seg, crd, val, tile. All else lives in the outermost level. The
                              levels inside cache an array, and write changed lines back
    """

    levels: tuple[MemoryLevel, ...] = ()
    index_bytes: Span = 4
    value_bytes: Span | None = None
    outstanding_requests: Depth = "unbounded"
    places: Annotated[dict[str, Text], BeforeValidator(check_section)] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _levels_are_a_list(cls, data: Any) -> Any:
        if isinstance(data, dict) and not isinstance(data.get("levels", []), list | tuple):
            raise mistake("has levels that are not a list (from the outermost level inwards)")
        return data

    @model_validator(mode="after")
    def _names_fit(self) -> Memory:
        names = [level.name for level in self.levels]
        for name in names:
            if names.count(name) > 1:
                raise mistake(f"has two levels that are called {name}")
        for place, level in self.places.items():
            if level not in names:
                raise mistake(
                    f'has "{level}" for the place of {place}, and no such level: '
                    f"{one_of(level, names)}"
                )
        return self

    def entry_bytes(self, unit: str, itemsize: int) -> int:
        """The bytes of an entry: an index, a word, or a value of a type of some size."""
        if unit == INDEX:
            return self.index_bytes
        return WORD_BITS // 8 if unit == WORD else self.value_bytes or itemsize

    def home(self, region: Region) -> int:
        """The number of the level that an array lives in."""
        names = [level.name for level in self.levels]
        if region.lives_in is not None:
            return names.index(region.lives_in)
        number = "" if region.level is None else f".{region.level}"
        tensor, part = region.tensor, region.part
        for key in (
            f"{tensor}{number}.{part}",
            f"{tensor}{number}",
            f"{tensor}.{part}",
            tensor,
            part,
        ):
            if key in self.places:
                return names.index(self.places[key])
        return 0

    def require_names_of(self, graph: Graph, elsewhere: Collection[str] = ()) -> None:
        """Raises UserError for a place of a tensor that no graph of the program has."""
        slots = [*graph.slots, *([] if graph.result is None else [graph.result.slot])]
        own = [slot.tensor for slot in slots if slot.tensor is not None]
        tensors = list(dict.fromkeys([*own, *elsewhere]))
        for place in self.places:
            tensor, *rest = place.split(".")
            known = not rest and tensor in PARTS
            if not known and tensor not in tensors:
                raise UserError(
                    f'memory.places has "{place}", and the graph has no tensor {tensor}',
                    hint=one_of(tensor, [*tensors, *PARTS]),
                )
            for word in rest:
                if word not in PARTS and not word.isdecimal():
                    raise UserError(
                        f'memory.places has "{place}", and {word} is not an array',
                        hint=one_of(word, PARTS),
                    )
