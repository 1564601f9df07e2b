"""A graph and its inputs, made ready to run: tensors in their slots, extents, block memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sam.blocks import KINDS, Surroundings
from sam.blocks.base import Role
from sam.blocks.ports import Positions
from sam.blocks.writers import written
from sam.derivations import derived, underived
from sam.graph import Edge, Graph, Node, Slot
from sam.inputs import extents as extents_in
from sam.inputs import gather
from sam.levels import WORD_BITS, least_bytes
from sam.memory_regions import RegionTable
from sam.support import free_memory
from sam.support.errors import StreamError, UserError
from sam.tensor import Tensor, no_memory
from sam.token import DATA, Token
from sam.validate import Stream, validate
from sim.config.hardware import BlockTiming
from sim.config.memory import Memory
from sim.misfits import with_reason
from sim.value_types import ValueTypes, value_types


@dataclass(frozen=True)
class BoundGraph:
    """A graph with its inputs: ``tensors`` by slot, ``extents`` by index variable.

    ``streams`` says what each edge carries, ``types`` the type of the values on each output;
    ``given`` has the user's inputs, by name; ``limits``, by node and input, has the bound
    below which tokens from an unchecked source must be.
    """

    graph: Graph
    given: Mapping[str, Tensor]
    streams: Mapping[Edge, Stream]
    tensors: Mapping[str, Tensor]
    extents: Mapping[str, int]
    types: ValueTypes
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """The nodes of the graph, by name."""
        return {node.name: node for node in self.graph.nodes}

    def regions(self, memory: Memory) -> RegionTable | None:
        """A table for the arrays that lie in memory, empty so far; None if memory is ideal.

        The levels that tiles are brought into, and those inside of them, hold nothing else.
        """
        if not memory.levels:
            return None
        graph = self.graph
        loaders = [node.parameters for node in graph.nodes if _role(node) is Role.LOADER]
        tiled = {loader["slot"] for loader in loaders}
        names = [level.name for level in memory.levels]
        outermost = min((names.index(loader["memory"]) for loader in loaders), default=0)
        kept_in = names[outermost - 1] if loaders else None
        result = None if graph.result is None else graph.result.slot
        return RegionTable(graph.slots, result, memory.entry_bytes, tiled, kept_in)

    def surroundings(
        self,
        node: str,
        timing: BlockTiming,
        regions: RegionTable | None = None,
        lists: bool = True,
    ) -> Surroundings:
        """The surroundings of a block, whose ``timing`` the config gives.

        ``regions`` and ``lists`` as ``Surroundings`` has them.
        """
        return Surroundings(
            self.tensors,
            self.extents,
            self.types.nodes[node],
            timing.capacity,
            lists,
            timing.word_bits,
            regions,
            self.limits.get(node, {}),
        )

    def sinks(self, memories: Mapping[str, Any]) -> dict[str, list[Token]]:
        """The tokens that each sink kept."""
        found = {}
        sinks = {node.name for node in self.graph.nodes if _role(node) is Role.SINK}
        for edge, stream in self.streams.items():
            if edge.target.node in sinks:
                memory = memories[edge.target.node]
                tokens = zip(memory.kinds.to_list(), memory.values.to_list(), strict=True)
                found[edge.target.node] = [
                    (kind, _kept(stream.kind, kind, value)) for kind, value in tokens
                ]
        return found

    def output(self, memories: Mapping[str, Any]) -> tuple[Tensor | None, tuple[str, ...]]:
        """The result in the memories of the writers, in the format that the graph asks for.

        Values that this format cannot hold (two coordinates below one of a singleton level) stay
        as they were written; a note says so.
        """
        result = self.graph.result
        if result is None:
            return None, ()
        writers: dict[int, Any] = {}
        for node in self.graph.nodes:
            if _role(node) is Role.LEVEL_WRITER:
                writers[node.parameters["level"]] = memories[node.name]
            elif _role(node) is Role.VALUE_WRITER:
                writers[len(result.slot.levels)] = memories[node.name]
        shape = tuple(self.extents[variable] for variable in result.slot.variables)
        values = _value_writer(self.graph)
        dtype, by_reference = self.types.nodes[values.name], values.parameters["by_reference"]
        memories_of = [writers[n] for n in sorted(writers)]
        try:
            stored = written(result.slot, shape, memories_of, dtype, by_reference)
        except UserError as mistake:
            place = f"the arrays that the graph writes to {result.slot.tensor}"
            raise with_reason(mistake.about(place), self.graph) from None
        around = None
        if result.around is not None:
            around = _by_derived(self.graph, result.slot, self.given[result.around], self.extents)
        tensor = stored.spread(result.slot.modes, around)
        if result.slot.subscripts:
            derivations = self.graph.derived
            tensor = underived(tensor, result.slot.subscripts, derivations, self.extents)
        try:
            return tensor.convert(result.levels, result.mode_order), ()
        except UserError as misfit:
            asked = f"{result.levels}:{','.join(map(str, result.mode_order))}"
            name = result.slot.tensor
            return tensor, (f"{name} is stored as {tensor.format}, not {asked}: {misfit.what}",)


def located(mistake: StreamError, node: Node) -> StreamError:
    """A mistake in the streams that a node takes, with the node and the array that it reads."""
    slot, level = node.parameters.get("slot"), node.parameters.get("level")
    if not KINDS[node.kind].role.reads or slot is None:
        return mistake.about(node.name)
    what = "the values" if level is None else f"level {level}"
    return mistake.about(f"{node.name}, which reads {what} of {slot}")


def _kept(stream: str, kind: int, value: Any) -> Any:
    """The value of a token that a sink has kept; the highest bit of a word is a sign in C."""
    if stream == "bv":
        return int(value) % 2**WORD_BITS
    return value if kind == DATA and (stream == "val" or value % 1) else int(value)


def bind(graph: Graph, inputs: Mapping[str, Any]) -> BoundGraph:
    """Puts the inputs into the graph's slots.

    Raises UserError for an unsound graph, a missing or unknown input, one of the wrong order,
    extents that disagree, and an extent of 0 that the graph was not compiled for.
    """
    streams = validate(graph)
    given = gather(graph.slots, inputs)
    found = extents(graph, given)
    for variable in graph.nonempty:
        if found[variable] == 0:
            raise UserError(
                f"the extent of {variable} is 0, and the graph is compiled for 1 or more",
                hint=f'compile it with dims={{"{variable}": 0}}',
            )
    tensors = {slot.name: _stored(graph, slot, given, found) for slot in graph.slots}
    types = value_types(graph, streams, tensors)
    _require_memory(graph, found, types)
    _require_shape_around(graph, given, found)
    limits = _limits(streams, tensors, found)
    return BoundGraph(graph, given, streams, tensors, found, types, limits)


def _role(node: Node) -> Role:
    return KINDS[node.kind].role


def _value_writer(graph: Graph) -> Node:
    return next(node for node in graph.nodes if _role(node) is Role.VALUE_WRITER)


def _limits(
    streams: Mapping[Edge, Stream], tensors: Mapping[str, Tensor], extents: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """By node and input, the bound below which tokens from an unchecked source must be.

    Raises UserError for coordinates of a variable whose extent is larger than it may be.
    """
    found: dict[str, dict[str, int]] = {}
    for edge, stream in streams.items():
        if stream.due is None:
            continue
        meaning = stream.due.meaning
        if isinstance(meaning, Positions):
            limit = _positions(tensors[meaning.slot or ""], meaning.level)
        else:
            limit = extents[meaning.variable or ""]
            variables = stream.due.variables
            if variables is not None:
                wide = [name for name in sorted(variables) if extents[name] > limit]
                if wide:
                    raise UserError(
                        f"edge {edge} carries coordinates of {wide[0]}, which go to "
                        f"{extents[wide[0]]}, and {edge.target.node} takes those of "
                        f"{meaning.variable}, which go to {limit}"
                    )
                continue
        found.setdefault(edge.target.node, {})[edge.target.port] = limit
    return found


def _positions(tensor: Tensor, level: int | None) -> int:
    """How many positions a tensor has from which the fibers of a level, or its values, hang."""
    positions = 1
    for one in tensor.levels[:level]:
        positions = one.positions(positions)
    return positions


_COPIES = 2
"""The copies of a result in memory, at least: as it is written, and as a tensor."""


def _require_memory(graph: Graph, extents: Mapping[str, int], types: ValueTypes) -> None:
    """Raises UserError if the result does not fit in memory, whatever the inputs are."""
    if graph.result is None:
        return
    slot = graph.result.slot
    shape = [extents[variable] for variable in slot.variables]
    value = types.nodes[_value_writer(graph).name]
    if free_memory.lacks(_COPIES * least_bytes(slot.levels, shape, 8, value.itemsize)):
        written = f"{slot.tensor}({','.join(slot.variables)})"
        raise no_memory(written, shape, slot.levels, "compressed levels instead of dense ones")


def _require_shape_around(
    graph: Graph, given: Mapping[str, Tensor], extents: Mapping[str, int]
) -> None:
    """Raises UserError if the result is written around a tensor of another shape."""
    if graph.result is None or graph.result.around is None:
        return
    slot, around = graph.result.slot, graph.result.around
    variables = dict(enumerate(slot.subscripts))
    if not variables:
        pairs = zip(slot.variables, slot.modes, strict=True)
        variables = {mode: variable for variable, modes in pairs for mode in modes}
    shape = tuple(extents[variables[mode]] for mode in range(len(variables)))
    if given[around].shape != shape:
        raise UserError(
            f"the result has the shape {shape}, and {around}, around which it is written, "
            f"{given[around].shape}"
        )


def _stored(
    graph: Graph, slot: Slot, given: Mapping[str, Tensor], extents: Mapping[str, int]
) -> Tensor:
    """The tensor in a slot."""
    if slot.tensor is None and not slot.levels:
        return Tensor.of(slot.constant)
    if slot.tensor is None and slot.computed:  # a unit
        return Tensor.of(np.full(1, slot.constant)).arrange(slot.levels, slot.modes)
    if slot.tensor is None:
        shape = [extents[variable] for variable in slot.subscripts]
        tensor = Tensor.of(np.full(shape, slot.constant))
        return _by_derived(graph, slot, tensor, extents).arrange(slot.levels, slot.modes)
    try:
        tensor = _by_derived(graph, slot, given[slot.tensor], extents)
        return tensor.arrange(slot.levels, slot.modes)
    except UserError as mistake:
        raise mistake.about(slot.tensor) from None


def _by_derived(graph: Graph, slot: Slot, tensor: Tensor, extents: Mapping[str, int]) -> Tensor:
    """A tensor over the derived variables of a slot, if it has any."""
    if not slot.subscripts:
        return tensor
    return derived(tensor, slot.subscripts, graph.derived, extents, slot.shares)


def extents(graph: Graph, given: Mapping[str, Tensor]) -> dict[str, int]:
    """The extent of each index variable of a graph; raises UserError as ``sam.inputs`` does."""
    needed = [node.parameters.get("variable") for node in graph.nodes]
    needed += [*graph.nonempty, *(graph.result.slot.variables if graph.result else ())]
    names = [name for name in needed if name is not None]
    return extents_in(graph.slots, given, dict(graph.dims), names, graph.derived, graph.spans)
