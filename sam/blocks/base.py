"""The description of a block: ports, state, memory and a step.

A *step* is one firing, written once for every engine. It is a plain function ``step(p, s, m)``:

``p``  the ports. ``p.in_crd.peek()`` gives the ``(kind, value)`` of the token at the head of an
       input, ``p.in_crd.take()`` consumes it, ``p.crd.give(kind, value)`` emits one. Of a wire,
       ``p.in_skip.latest()`` gives the newest message, or ``EMPTY`` before the first.
``s``  the state that lasts from firing to firing.
``m``  what the block reads and fills: level arrays, values, its constant parameters.

Where entries of ``m`` lie in a memory that takes time, it says which ones it touches, as in
``p.memory.read(m.regions["val"], position)``, or ``write``: see ``sam.memory_regions``.

It keeps six rules, which let an engine decide when it happens and how fast:

1. at most one token is taken from each input and given to each output;
2. every peek comes before the first take, give or change of state. Where an input that a peek
   asks for is empty, the engine abandons the step there and runs it again later;
3. every give comes before the first change of memory (``sam.blocks.block_memory``);
4. it says what it touches in memory after all gives, the first of it before any change of memory;
5. nothing but the tokens, the state and the memory decides what happens: never the time, but for
   wires. One is read in the first cycle in which the block may fire again, however long the firing
   has to wait after that;
6. it returns True in the firing that gives or takes the last ``D``, and None otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.blocks.parameters import Parameter
from sam.blocks.ports import Port
from sam.blocks.ports import into as into
from sam.blocks.ports import out as out
from sam.blocks.ports import wire as wire
from sam.graph import Parameters
from sam.levels import Fibers, Touches
from sam.memory_regions import Region, Regions, RegionTable, tile_sizes
from sam.support.errors import StreamError, UserError, one_of, quoted
from sam.tensor import Tensor
from sam.token import DATA, DONE, EMPTY, STOP

Step = Callable[[Any, Any, Any], bool | None]


@dataclass(frozen=True)
class Surroundings:
    """The inputs and settings that a block is set up with.

    ``tensors``   by slot, in the storage that the slot asks for
    ``extents``   by index variable
    ``dtype``     the type of the values that it gives or stores
    ``capacity``  the entries that its own memory holds; None where unbounded
    ``lists``     whether its arrays are Python lists: Python reads single elements of these faster
    ``word_bits``  the bits of a word of a bitvector stream, 1 to 64
    ``regions``   the arrays that lie in a memory that takes time; None where none does
    ``limits``    by input, the bound of tokens that are not known to be in range: the number of
                  positions, or the extent
    """

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    extents: Mapping[str, int] = field(default_factory=dict)
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(float))
    capacity: int | None = None
    lists: bool = True
    word_bits: int = 64
    regions: RegionTable | None = None
    limits: Mapping[str, int] = field(default_factory=dict)

    def extent(self, variable: str) -> int:
        """The extent of an index variable. Raises UserError where nothing fixes it."""
        if variable not in self.extents:
            raise UserError(
                f"no input fixes the extent of {quoted(variable)}",
                hint=one_of(quoted(variable), self.extents),
            )
        return self.extents[variable]

    def limit(self, port: str) -> dict[str, Any]:
        """The bound of an input's tokens, for ``require_within`` to read in the block's memory."""
        limit = self.limits.get(port, 0)
        beyond = f"{port}: {{}} is out of bounds: there are {limit}" if port in self.limits else ""
        return {"checks": port in self.limits, "limit": limit, "beyond": beyond}

    def level(self, slot: str, level: int) -> Fibers:
        """A level of a slot, ready to be scanned. Raises UserError where there is none."""
        levels = self.tensors[slot].scanned_levels()
        if level not in range(len(levels)):
            raise UserError(f"slot {slot} has no level {level}")
        return levels[level].as_lists() if self.lists else levels[level]

    def level_regions(self, slot: str, level: int) -> Regions:
        """The arrays of a level of a slot."""
        if self.regions is None:
            return Regions()
        return self.regions.of_level(slot, level, self.tensors[slot].scanned_levels()[level])

    def value_regions(self, slot: str) -> Regions:
        """The values of a slot."""
        if self.regions is None:
            return Regions()
        values = self.tensors[slot].values
        return self.regions.of_values(slot, len(values), values.itemsize)

    def tile_region(
        self,
        slot: str,
        level: int,
        kept_in: str | None = None,
        lives_in: str | None = None,
        sizes: Sequence[int] | None = None,
    ) -> Region | None:
        """The tiles that a slot has below the references into one of its levels: see ``Region``.

        None where memory is ideal: its entries take no time.
        """
        if self.regions is None:
            return None
        if sizes is None:
            sizes = tile_sizes(self.tensors[slot], level, self.regions.entry_bytes)
        return self.regions.of_tiles(slot, level, sizes, kept_in, lives_in)

    def written_regions(self, level: int | None, units: Mapping[str, str]) -> Regions:
        """The arrays of a level of the result, or its values; each part with its unit."""
        if self.regions is None:
            return Regions()
        return self.regions.of_result(level, units, self.dtype.itemsize)

    def numbers(self, values: Any) -> Any:
        """Numbers that the block reads."""
        if not self.lists:
            return np.asarray(values)
        return values.tolist() if isinstance(values, np.ndarray) else list(values)

    @property
    def zero(self) -> Any:
        """The value that ``N`` counts as."""
        return self.dtype.type(0).item()


def _constants(around: Surroundings) -> Any:
    return SimpleNamespace()


@dataclass(frozen=True)
class Values:
    """The type of the values that a block gives or stores.

    By default the type of the values that it takes.

    ``slot``       the slot of the graph that they are read from
    ``number``     a number that has their type
    ``operation``  the operation on its values
    ``sums``       whether values are added up to others of the block
    """

    slot: str | None = None
    number: Any = None
    operation: str | None = None
    sums: bool = False


@dataclass(frozen=True)
class Block:
    """A node of a kind, for given parameters.

    ``state``   the fields of its state, with the values that they start from
    ``memory``  makes its memory, given its surroundings
    ``groups``  the groups of ports that steps ask for although they may have no ports
    ``emitter``  the second half of a block whose output side works beside its input side
    ``values``   the type of the values that it gives or stores
    """

    ports: tuple[Port, ...]
    step: Step
    state: Mapping[str, Any] = field(default_factory=dict)
    memory: Callable[[Surroundings], Any] = _constants
    groups: tuple[str, ...] = ()
    emitter: Emitter | None = None
    values: Values = field(default_factory=Values)


@dataclass(frozen=True)
class Emitter:
    """The output side of a block in two halves, with a state of its own.

    The first half gives what it has finished to ``p.handover``, and the second finds it at
    ``p.handed``, a queue of one place: so the next one is made while the one before is given out.
    """

    step: Step
    state: Mapping[str, Any] = field(default_factory=dict)


class Role(Enum):
    """The part that a kind of block has in binding inputs and collecting the result."""

    INNER = "between the blocks that read and those that write"
    READER = "reads the levels or values of a slot that an input fills"
    SCANNER = "a reader that goes through the coordinates of a loop"
    LOADER = "brings tiles of a slot into a memory"
    LEVEL_WRITER = "writes a level of the result"
    VALUE_WRITER = "writes the values of the result"
    SINK = "keeps the tokens that come"

    @property
    def reads(self) -> bool:
        """Whether the block reads the arrays of an input."""
        return self in (Role.READER, Role.SCANNER, Role.LOADER)

    @property
    def writes(self) -> bool:
        """Whether the block fills the result."""
        return self in (Role.LEVEL_WRITER, Role.VALUE_WRITER)


@dataclass(frozen=True)
class Drawing:
    """How a kind of block is drawn: Graphviz's name of the shape, and a colour to fill it with
    where it belongs to no tensor."""

    shape: str = "box"
    colour: str = "white"


MERGER, COMPUTER = "#fff3b0", "#e3e3e3"
"""The colours of blocks that merge coordinates, and of those that compute."""


@dataclass(frozen=True)
class Kind:
    """A kind of block.

    ``primitive``  its name in Table 1 of the SAM paper; None if it is not in the table
    ``block``      what a node of this kind is under given parameters. It may raise UserError for
                   parameters that do not go together
    ``parameters``  those that it takes, by name; None where any are taken
    ``source``     whether it stands outside the machine, so that its tokens are there at once
    ``role``       its part in binding inputs and collecting the result
    ``capability``  the property of ``sam.levels.Level`` that a level must have to be read by it
    ``drawing``    how it is drawn
    ``work``       the work of a busy block in words, as in "scans"
    ``deals``      whether it deals coordinates out to lanes
    ``matches``    the output that has the coordinates which all operands have, if it has one
    """

    name: str
    primitive: str | None
    block: Callable[[Parameters], Block]
    parameters: Mapping[str, Parameter] | None = None
    source: bool = False
    role: Role = Role.INNER
    capability: str | None = None
    drawing: Drawing = field(default_factory=Drawing)
    work: str = "works"
    deals: bool = False
    matches: str | None = None

    def ports(self, parameters: Parameters) -> tuple[Port, ...]:
        """The ports of a node of this kind."""
        return self.block(parameters).ports


def require_within(value: Any, m: Any) -> None:
    """Raises StreamError for a reference or coordinate that would be read outside of an array.

    If the graph is known to have none, this costs nothing.
    """
    if m.checks and (value < 0 or value >= m.limit):
        raise StreamError(m.beyond, value)


def read(p: Any, regions: Regions, touches: Touches) -> None:
    """Reads entries from memory."""
    for part, index, needed in touches:
        if needed:
            p.memory.read(regions[part], index)


# The answers of ``walk``.
INSIDE, CLOSED, CHILDLESS, FINISHED = 0, 1, 2, 3

# The state that ``walk`` keeps.
WALK: Mapping[str, Any] = {"open": False, "kind": EMPTY, "value": 0}


def walk(outer: Any, inner: Any, s: Any) -> int:
    """Moves along ``outer`` as the stream ``inner``, one level deeper, goes by.

    Each token of ``outer`` owns one fiber of ``inner``. It is taken when the fiber's first token
    comes, and kept in ``s.kind`` and ``s.value``. Takes from ``outer`` alone; tells what the head
    of ``inner`` is:

    INSIDE     a token of the fiber of ``s.value``
    CLOSED     the stop token that ends a fiber, and the token that ends it in ``outer``
    CHILDLESS  a stop token, while the fiber of ``s.value`` is empty: an ``S0`` is used up by
               that; any other remains, as the end of what holds the fiber
    FINISHED   the end of both
    """
    kind, value = inner.peek()
    if kind == DATA or kind == EMPTY:
        if not s.open:
            outer_kind, outer_value = outer.peek()
            outer.take()
            s.kind = outer_kind
            s.value = outer_value
            s.open = True
        return INSIDE
    if kind == STOP and s.open and value == 0:
        s.open = False
        return CLOSED
    outer_kind, outer_value = outer.peek()
    if outer_kind == DATA or outer_kind == EMPTY:
        if kind == DONE or s.open:
            raise StreamError("an outer token is left over")
        outer.take()
        s.kind = outer_kind
        s.value = outer_value
        return CHILDLESS
    if outer_kind != kind or (kind == STOP and outer_value != value - 1):
        raise StreamError("the stop tokens of an outer and an inner stream do not match")
    outer.take()
    s.open = False
    return FINISHED if kind == DONE else CLOSED
