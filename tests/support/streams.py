"""A generator and a checker around one block: streams go in as text and come out as text.

A source feeds each input port, a sink takes from each output port. The sources' depths are worked
out from their stop tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pytest

from sam.blocks import KINDS, Port
from sam.graph import Edge, End, Graph, Node, Slot
from sam.tensor import Tensor
from sam.token import STOP, format_stream, parse_stream
from sim import Run, simulate

BLOCK = "block"


@dataclass(frozen=True)
class Result:
    """The output of a block: ``streams`` as text, by output port, and the whole run."""

    streams: Mapping[str, str]
    run: Run

    def check(self, due: Mapping[str, str]) -> None:
        """Fails at the first token of an output that is not the one that is due."""
        __tracebackhide__ = True
        for port, stream in due.items():
            message = difference(port, self.streams[port], stream)
            if message is not None:
                pytest.fail(message)


def difference(port: str, came: str, due: str) -> str | None:
    """Tells where two streams part, and None where they do not; 1 and 1.0 are one number."""
    pairs = zip_longest(came.split(", "), due.split(", "), fillvalue="nothing")
    for index, (token, expected) in enumerate(pairs):
        if token != expected and _number(token) != _number(expected):
            return (
                f"{port}, token {index}: {token} came, {expected} was due\n"
                f"  came: {came}\n  due:  {due}"
            )
    return None


def _number(token: str) -> complex | str:
    try:
        return complex(token)
    except ValueError:
        return token


def run_block(
    kind: str,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, str],
    *,
    tensors: Mapping[str, Any] | None = None,
    extents: Mapping[str, int] | None = None,
    config: Any = None,
    overrides: Mapping[str, Any] | None = None,
    engine: str = "auto",
) -> Result:
    """Runs one block on an input stream for each port, with ``tensors`` by slot."""
    graph = around(kind, parameters, inputs, tensors or {}, extents or {})
    # A block takes any tokens, well-formed or not.
    run = simulate(graph, tensors, config, overrides, engine, validate=False)
    streams = {name: format_stream(tokens) for name, tokens in run.sinks.items()}
    return Result(streams, run)


def check_block(
    kind: str,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    **more: Any,
) -> None:
    """Checks the streams that come out; also with each input slow, and with short queues.

    A block is a Kahn process: its output must not depend on the cycles of its tokens.
    """
    __tracebackhide__ = True
    overrides = more.pop("overrides", {})
    machines: Sequence[dict[str, int]] = (
        {},
        {"queues.depth": 1},
        *({f"blocks.names.{port}.initiation_interval_cycles": 3} for port in inputs),
    )
    for machine in machines:
        result = run_block(kind, parameters, inputs, overrides={**overrides, **machine}, **more)
        result.check(outputs)


def check_scanner(tensor: Tensor, level: int, ref: str, crd_due: str, ref_due: str) -> None:
    """Checks the streams of a scanner of a tensor's level, for a stream of references."""
    __tracebackhide__ = True
    check_block(
        "level_scanner",
        {"slot": "B", "level": level},
        {"in_ref": ref},
        {"crd": crd_due, "ref": ref_due},
        tensors={"B": tensor},
    )


def around(
    kind: str,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, str],
    tensors: Mapping[str, Any],
    extents: Mapping[str, int],
) -> Graph:
    """The graph of a block, ``block``, with sources and sinks that are named like its ports."""
    ports = {port.name: port for port in KINDS[kind].ports(parameters)}
    depths = _depths(ports, inputs)
    sources = [
        Node(name, "source", {"stream": _kind(ports[name]), "depth": depths[name], "tokens": text})
        for name, text in inputs.items()
    ]
    results = [port.name for port in ports.values() if port.direction == "out"]
    return Graph(
        nodes=(*sources, Node(BLOCK, kind, parameters), *(Node(name, "sink") for name in results)),
        edges=(
            *(Edge(End(name, _kind(ports[name])), End(BLOCK, name)) for name in inputs),
            *(Edge(End(BLOCK, name), End(name, "in_stream")) for name in results),
        ),
        slots=tuple(_slot(name, Tensor.of(tensor)) for name, tensor in tensors.items()),
        dims=tuple(extents.items()),
    )


def _depths(ports: Mapping[str, Port], inputs: Mapping[str, str]) -> dict[str, int]:
    """How deep each input stream is: as little as its own and the others' stop tokens allow."""
    stops = {
        name: max((level + 1 for kind, level in parse_stream(text) if kind == STOP), default=0)
        for name, text in inputs.items()
    }
    base = max([0, *(depth - ports[name].depth for name, depth in stops.items())])
    return {name: base + ports[name].depth for name in inputs}


def _kind(port: Port) -> str:
    return "ref" if port.stream == "any" else port.stream


def _slot(name: str, tensor: Tensor) -> Slot:
    """The slot that holds the tensor as it is."""
    return Slot(
        name,
        name,
        "".join(level.code for level in tensor.levels),
        tuple((mode,) for mode in tensor.mode_order),
        tuple(f"{name}{mode}" for mode in tensor.mode_order),
    )
