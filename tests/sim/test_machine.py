"""What a machine is, before any engine runs it."""

import dataclasses

import numpy as np
import pytest

import custard
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import HANDOVER, elaborate

MATRICES = {"B": np.eye(3), "C": np.eye(3)}


def machine(expression, inputs, config=None, **more):
    return elaborate(bind(custard.compile(expression, **more).graph, inputs), load(None, config))


def test_a_reducer_is_two_parts_with_a_handover_of_one_place():
    made = machine("X(i,j)=B(i,k)*C(k,j)", MATRICES, schedule=["reorder(i,k,j)"])
    names = [part.name for part in made.parts]
    at = names.index("reduce_k")
    assert names[at + 1] == "reduce_k.emitter"
    first, second = made.parts[at : at + 2]
    assert [port.name for port in first.inputs] == ["in_crd0", "in_val"]
    assert [port.name for port in first.outputs] == [HANDOVER]
    assert [port.name for port in second.outputs] == ["crd0", "val"]
    handover = first.outputs[0].channels[0]
    assert (handover.depth, handover.latency) == (1, 1)
    assert (handover.giver, handover.taker) == ("reduce_k", "reduce_k.emitter")
    assert second.inputs[0].channel is handover
    assert {one.giver for one in made.channels if one.edge.source.node == "reduce_k"} == {
        "reduce_k",
        "reduce_k.emitter",
    }


def test_channels_have_the_depth_and_latency_that_the_config_says():
    made = machine(
        "X(i,j)=B(i,j)+C(i,j)",
        MATRICES,
        {"queues.depth": 4, "queues.latency_cycles": 2, "blocks.kinds.array.latency_cycles": 7},
    )
    nodes = made.bound.nodes
    assert [one.edge for one in made.channels] == list(made.bound.graph.edges)
    for channel in made.channels:
        kind = nodes[channel.edge.source.node].kind
        expected = {"root": (None, 0), "array": (4, 8)}.get(kind, (4, 2))
        assert (channel.depth, channel.latency) == expected
    values = [one for one in made.channels if nodes[one.edge.source.node].kind == "array"]
    assert {one.dtype for one in values} == {np.dtype(float)}
    assert made.layout is None
    assert made.askers == ()


def test_numbers_of_those_that_ask_memory_go_by_the_order_of_the_parts():
    made = machine("X(i,j)=B(i,j)*C(i,j)", MATRICES, {"memory.levels": [{"name": "DRAM"}]})
    assert made.layout is not None
    assert [part.asker for part in made.askers] == list(range(len(made.askers)))
    assert [part for part in made.parts if part.asker is not None] == list(made.askers)
    asking = {part.node.kind for part in made.askers}
    assert {"level_scanner", "array", "level_writer"} <= asking
    assert "intersect" not in asking


def test_a_machine_is_frozen():
    made = machine("x=y", {"y": 1.0})
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.parts = ()


def test_a_graph_is_put_together_once_for_each_config_and_its_memories_for_each_run():
    graph = custard.compile("X(i,j)=B(i,k)*C(k,j)").graph
    bound = bind(graph, MATRICES)
    first, again = (elaborate(bind(graph, MATRICES), load(None)) for _ in range(2))
    assert again.channels is first.channels
    writers = [n for n, part in enumerate(first.parts) if part.node.kind == "value_writer"]
    assert all(first.parts[n].memory is not again.parts[n].memory for n in writers)
    assert len(writers) == 1
    short = elaborate(bound, load(None, {"queues.depth": 4}))
    assert {one.depth for one in short.channels} == {None, 1, 4}
    whole = {name: matrix.astype(np.int64) for name, matrix in MATRICES.items()}
    types = {part.name: part.dtype for part in elaborate(bind(graph, whole), load(None)).parts}
    assert types[first.parts[writers[0]].name] == np.int64
