"""A graph and its inputs, made ready to run: tensors in their slots, extents, block memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sam.blocks import Surroundings
from sam.blocks.arithmetic import ValueType, result_type
from sam.blocks.write import written
from sam.errors import UserError, one_of
from sam.graph import Edge, Graph, Slot
from sam.tensor import Tensor
from sam.token import DATA, Token, parse_stream
from sam.validate import Stream, validate


@dataclass(frozen=True)
class Bound:
    """A graph with its inputs: ``tensors`` by slot, ``extents`` by index variable.

    ``streams`` tells what each edge carries, ``types`` the type of the values on each output.
    """

    graph: Graph
    streams: Mapping[Edge, Stream]
    tensors: Mapping[str, Tensor]
    extents: Mapping[str, int]
    types: Mapping[str, np.dtype[Any]]

    def surroundings(self, node: str, capacity: int | None, lists: bool = True) -> Surroundings:
        """What a block finds that has room for ``capacity`` entries of its own."""
        return Surroundings(self.tensors, self.extents, self.types[node], capacity, lists)

    def sinks(self, memories: Mapping[str, Any]) -> dict[str, list[Token]]:
        """The tokens that each sink kept."""
        found = {}
        for edge, stream in self.streams.items():
            if edge.target.port == "in_stream":
                memory, values = memories[edge.target.node], stream.kind == "val"
                tokens = zip(memory.kinds.to_list(), memory.values.to_list(), strict=True)
                found[edge.target.node] = [
                    (kind, value if kind == DATA and (values or value % 1) else int(value))
                    for kind, value in tokens
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
            if node.kind == "level_writer":
                writers[node.parameters["level"]] = memories[node.name]
            elif node.kind == "value_writer":
                writers[len(result.slot.levels)] = memories[node.name]
        shape = tuple(self.extents[variable] for variable in result.slot.variables)
        dtype = next(self.types[n.name] for n in self.graph.nodes if n.kind == "value_writer")
        stored = written(result.slot, shape, [writers[n] for n in sorted(writers)], dtype)
        modes = tuple(modes[0] for modes in result.slot.modes)
        original = tuple(shape[modes.index(mode)] for mode in range(len(modes)))
        tensor = Tensor(original, modes, stored.levels, stored.values)
        try:
            return tensor.convert(result.levels, result.mode_order), ()
        except UserError as misfit:
            asked = f"{result.levels}:{','.join(map(str, result.mode_order))}"
            name = result.slot.tensor
            return tensor, (f"{name} is stored as {tensor.format}, not {asked}: {misfit.what}",)


def bind(graph: Graph, inputs: Mapping[str, Any]) -> Bound:
    """Puts the inputs into the graph's slots.

    Raises UserError for an unsound graph, a missing or unknown input, one of the wrong order,
    extents that disagree, and an extent of 0 that the graph was not compiled for.
    """
    streams = validate(graph)
    given = gather(graph, inputs)
    found = extents(graph, given)
    for variable in graph.nonempty:
        if found[variable] == 0:
            raise UserError(
                f"the extent of {variable} is 0, and the graph is compiled for 1 or more",
                hint=f'compile it with dims={{"{variable}": 0}}',
            )
    tensors = {slot.name: _stored(slot, given) for slot in graph.slots}
    return Bound(graph, streams, tensors, found, value_types(graph, streams, tensors))


def _stored(slot: Slot, given: Mapping[str, Tensor]) -> Tensor:
    """What a slot holds."""
    if slot.tensor is None:
        return Tensor.of(slot.constant)
    try:
        return given[slot.tensor].arrange(slot.levels, slot.modes)
    except UserError as mistake:
        raise mistake.about(slot.tensor) from None


def value_types(
    graph: Graph, streams: Mapping[Edge, Stream], tensors: Mapping[str, Tensor]
) -> dict[str, np.dtype[Any]]:
    """The type of the values that each node gives or stores, by numpy's promotion rules.

    ``streams`` must have the edges into a node before those out of it.
    """
    slots = {slot.name: slot for slot in graph.slots}
    nodes = {node.name: node for node in graph.nodes}
    arriving: dict[str, dict[str, ValueType]] = {name: {} for name in nodes}

    def given(name: str, port: str) -> ValueType:
        node = nodes[name]
        if node.kind == "array":
            slot = slots[node.parameters["slot"]]
            return tensors[slot.name].dtype if slot.constant is None else slot.constant
        if node.kind == "source":
            numbers = [value for kind, value in parse_stream(node.parameters["tokens"])]
            return next((value for value in numbers if not isinstance(value, int)), 0)
        types = arriving[name]
        if node.kind == "alu":
            return result_type(node.parameters["operation"], *types.values())
        return types.get(f"in_{port}", next(iter(types.values()), 0.0))

    for edge, stream in streams.items():
        if stream.kind == "val":
            arriving[edge.target.node][edge.target.port] = given(edge.source.node, edge.source.port)
    return {name: np.result_type(given(name, "val")) for name in nodes}


def gather(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    """The inputs as tensors; raises UserError for one that is missing, unknown or no tensor."""
    require_inputs(graph, inputs)
    return {name: as_tensor(name, value) for name, value in inputs.items()}


def require_inputs(graph: Graph, inputs: Mapping[str, Any]) -> None:
    """Raises UserError unless every input is given, and nothing else."""
    names = dict.fromkeys(slot.tensor for slot in graph.slots if slot.tensor is not None)
    if not isinstance(inputs, Mapping):
        raise UserError(
            f"the inputs are {type(inputs).__name__}, not a mapping from names",
            hint='as in {"B": B, "C": C}',
        )
    for name in inputs:
        if name not in names:
            raise UserError(
                f"the program has no input {name}",
                hint=one_of(name, names) if names else "it has no inputs",
            )
    missing = [name for name in names if name not in inputs]
    if missing:
        raise UserError(f"no input is given for {', '.join(missing)}")


def as_tensor(name: str, value: Any) -> Tensor:
    """An input as a tensor; raises UserError."""
    try:
        return Tensor.of(value)
    except UserError as mistake:
        raise mistake.about(name) from None


def extents(graph: Graph, given: Mapping[str, Any]) -> dict[str, int]:
    """The extent of each index variable, by the shapes of the inputs; raises UserError where two disagree or none is known."""
    found = dict(graph.dims)
    origin = dict.fromkeys(found, "dims")
    for slot in graph.slots:
        if slot.tensor is None:
            continue
        shape = given[slot.tensor].shape
        order = sum(len(modes) for modes in slot.modes)
        if len(shape) != order:
            raise UserError(
                f"{slot.tensor} has {_modes(order)} in the program, and its input has "
                f"{_modes(len(shape))}"
            )
        for variable, mode in _variable_modes(slot):
            place = f"mode {mode} of {slot.tensor}"
            if found.setdefault(variable, shape[mode]) != shape[mode]:
                raise UserError(
                    f"the extent of {variable} is {found[variable]} by {origin[variable]} "
                    f"and {shape[mode]} by {place}"
                )
            origin.setdefault(variable, place)
    for node in graph.nodes:
        needed = node.parameters.get("variable")
        if needed is not None and needed not in found:
            raise UserError(
                f"no input fixes the extent of {needed}",
                hint=f'give it in dims, as in dims={{"{needed}": 8}}',
            )
    return found


def _variable_modes(slot: Slot) -> list[tuple[str, int]]:
    pairs = [
        (variable, mode)
        for variable, modes in zip(slot.variables, slot.modes, strict=True)
        for mode in modes
    ]
    return sorted(pairs, key=lambda pair: pair[1])


def _modes(count: int) -> str:
    return "1 mode" if count == 1 else f"{count} modes"
