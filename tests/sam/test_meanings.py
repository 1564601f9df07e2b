"""References and coordinates that go to blocks that read other ones: refused before anything runs,
or, where nothing is known of them, at the token that is out of bounds, on both engines alike."""

from dataclasses import replace

import numpy as np
import pytest

import custard
import sim
from sam.blocks import KINDS
from sam.blocks.ports import Coordinates, Positions
from sam.graph import Edge, End, Graph, Node, Slot
from sam.meanings import Due
from sam.support.errors import StreamError, UserError
from sam.validate import validate

B = np.array([[1.0, 0, 2], [0, 3, 0]])
C = np.arange(1.0, 13).reshape(3, 4)
SPMV = custard.compile("y(i) = B(i,j) * c(j)").graph
MATMUL = custard.compile("X(i,j) = B(i,k) * C(k,j)", {"X": "dd"}, ["reorder(i,k,j)"]).graph
LOCATING = custard.compile("X(i,j) = B(i,k) * C(k,j)", {"C": "dd"}, ["reorder(i,k,j)"]).graph


def rewired(graph: Graph, *pairs: tuple[str, str]) -> Graph:
    """A graph in which the inputs of some pairs are fed by their outputs."""
    sources = {End(*into.split(".")): End(*source.split(".")) for source, into in pairs}
    edges = [Edge(sources.get(edge.target, edge.source), edge.target) for edge in graph.edges]
    return replace(graph, edges=tuple(edges))


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (
            rewired(SPMV, ("intersect_j.ref0_0", "array_c.in_ref")),
            "edge intersect_j.ref0_0 -> array_c.in_ref carries references to the values of B, "
            "and array_c takes references to the values of c",
        ),
        (
            rewired(SPMV, ("scan_B_i.ref", "repeat_c_i.in_ref")),
            "edge scan_B_i.ref -> repeat_c_i.in_ref has depth 1, "
            "and the other inputs of repeat_c_i ask for depth 0",
        ),
        (
            rewired(SPMV, ("root.ref", "scan_B_j.in_ref")),
            "edge root.ref -> scan_B_j.in_ref carries the reference of the root, "
            "and scan_B_j takes references to level 1 of B",
        ),
        (
            rewired(MATMUL, ("scan_B_k.ref", "scan_C_j.in_ref")),
            "edge scan_B_k.ref -> scan_C_j.in_ref carries references to the values of B, "
            "and scan_C_j takes references to level 1 of C",
        ),
    ],
)
def test_references_to_another_level_or_tensor(graph, text):
    with pytest.raises(UserError) as refusal:
        validate(graph)
    assert str(refusal.value) == text


def test_the_compilers_graphs_need_no_checks_of_tokens():
    assert not any(stream.due for graph in (SPMV, MATMUL) for stream in validate(graph).values())


def test_two_slots_of_the_same_storage_are_one():
    graph = replace(
        SPMV,
        slots=(*SPMV.slots, replace(SPMV.slots[0], name="again")),
        nodes=tuple(
            replace(node, parameters={"slot": "again"}) if node.name == "array_B" else node
            for node in SPMV.nodes
        ),
    )
    run = sim.simulate(graph, {"B": B, "c": np.ones(3)})
    np.testing.assert_array_equal(run.output.to_numpy(), B.sum(axis=1))


def test_coordinates_beyond_the_extent_of_their_reader():
    graph = rewired(LOCATING, ("scan_B_i.crd", "write_X_j.in_crd"))
    wide = rewired(MATMUL, ("scan_C_j.crd", "repeat_B_j.in_coordinates"))
    validate(wide)
    with pytest.raises(UserError) as refusal:
        sim.simulate(graph, {"B": np.ones((9, 3)), "C": C})
    assert (
        "carries coordinates of i, which go to 9, and write_X_j takes those of j, which go to 4"
        in (str(refusal.value))
    )


# References and coordinates that nothing is known of: a source's tokens


def source(stream, tokens, depth=1):
    return Node("given", "source", {"stream": stream, "depth": depth, "tokens": tokens})


def reading(node: Node, stream: str, port: str, tokens: str, **more: str) -> Graph:
    """A node that reads a compressed or dense vector of 3 of the coordinates 0 to 4."""
    edges = [Edge(End("given", stream), End(node.name, port))]
    nodes = [source(stream, tokens, 0 if node.kind == "level_scanner" else 1), node]
    for name, text in more.items():
        nodes.append(Node(name, "source", {"stream": "ref", "depth": 0, "tokens": text}))
        edges.append(Edge(End(name, "ref"), End(node.name, f"in_{name}")))
    slot = Slot("x", "x", "s" if node.kind != "locator" else "d", ((0,),), ("i",))
    return Graph(tuple(nodes), tuple(edges), (slot,))


X = np.array([1.0, 0, 2, 0, 3])
ARRAY = Node("load", "array", {"slot": "x"})
SCAN = Node("scan", "level_scanner", {"slot": "x", "level": 0})
LOCATE = Node("find", "locator", {"slot": "x", "level": 0, "payloads": []})


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (
            reading(ARRAY, "ref", "in_ref", "0, 2, 7, S0, D"),
            "load, which reads the values of x: in_ref: 7 is out of bounds: there are 3",
        ),
        (
            reading(ARRAY, "ref", "in_ref", "3, S0, D"),
            "load, which reads the values of x: in_ref: 3 is out of bounds: there are 3",
        ),
        (
            reading(SCAN, "ref", "in_ref", "1, D"),
            "scan, which reads level 0 of x: in_ref: 1 is out of bounds: there are 1",
        ),
        (
            reading(LOCATE, "crd", "in_crd", "4, 5, S0, D", located="0, D"),
            "find, which reads level 0 of x: in_crd: 5 is out of bounds: there are 5",
        ),
        (
            reading(LOCATE, "crd", "in_crd", "4, S0, D", located="1, D"),
            "find, which reads level 0 of x: in_located: 1 is out of bounds: there are 1",
        ),
    ],
)
def test_tokens_out_of_bounds(graph, text, engine):
    with pytest.raises(StreamError) as refusal:
        sim.simulate(graph, {"x": X}, engine=engine, validate=False)
    assert str(refusal.value) == text


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_tokens_in_bounds_are_read(engine):
    graph = reading(ARRAY, "ref", "in_ref", "0, 2, N, 1, S0, D")
    graph = replace(
        graph,
        nodes=(*graph.nodes, Node("kept", "sink")),
        edges=(*graph.edges, Edge(End("load", "val"), End("kept", "in_stream"))),
    )
    kept = sim.simulate(graph, {"x": X}, engine=engine).sinks["kept"]
    assert [value for kind, value in kept if kind == 0] == [1, 3, 0, 2]


def test_a_meaning_that_is_not_known_is_due():
    streams = validate(reading(LOCATE, "crd", "in_crd", "4, S0, D", located="0, D"))
    assert {edge.target.port: stream.due for edge, stream in streams.items()} == {
        "in_crd": Due(Coordinates(variable="i")),
        "in_located": Due(Positions("x", 0)),
    }


def test_every_output_says_what_it_makes_or_passes_on():
    """Except for computed values, releases of tiles and skip messages, each output of each kind
    tells where its tokens come from, so that nothing of a compiler's graph stays unknown."""
    examples = {
        "level_scanner": {"slot": "x", "level": 0},
        "bitvector_scanner": {"slot": "x", "level": 0},
        "intersecter": {"payloads": [["ref"], ["val"]]},
        "unioner": {"payloads": [["ref"], ["val"]]},
        "repeater": {"stream": "ref"},
        "locator": {"slot": "x", "level": 0, "payloads": ["ref"]},
        "reducer": {"dimensions": 2},
        "coordinate_dropper": {"drop": "coordinates", "inner": ["crd", "ref"]},
        "parallelizer": {"lanes": 2, "streams": ["ref"], "depth": 0},
        "serializer": {"lanes": 2, "streams": ["ref"], "depth": 0},
        "fiber_aligner": {"streams": ["crd"], "depth": 1},
        "fiber_repeater": {"streams": ["crd"], "depth": 1},
        "bitvector_converter": {"references": True},
        "coordinate_converter": {"references": True},
        "bitvector_intersecter": {"operands": 2},
        "bitvector_unioner": {"operands": 2},
        "level_writer": {"level": 0, "format": "s", "variable": "i", "by_reference": False},
        "root": {},
    }
    for kind, parameters in examples.items():
        ports = KINDS[kind].ports(parameters)
        inputs = {port.name for port in ports if port.direction == "in"}
        for port in ports:
            if port.direction == "out" and port.stream != "val":
                assert port.meaning is not None or {*port.of} <= inputs
                assert port.meaning is not None or port.of
