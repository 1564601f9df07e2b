"""Faults for which a graph is refused, and the streams on the edges of sound graphs."""

import gc
import weakref
from dataclasses import replace

import pytest

import custard
from sam.blocks import KINDS
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.support.errors import UserError
from sam.validate import Stream, validate, validated


def wire(source, target):
    return Edge(End(*source.split(".")), End(*target.split(".")))


# x = sum of b(i,j): two scanners, the values, a vector reducer and its writers.
SUM = Graph(
    nodes=(
        Node("root", "root"),
        Node("scan_i", "level_scanner", {"slot": "b", "level": 0}),
        Node("scan_j", "level_scanner", {"slot": "b", "level": 1}),
        Node("values", "array", {"slot": "b"}),
        Node("reduce", "reducer", {"dimensions": 1}),
        Node(
            "write_j",
            "level_writer",
            {"slot": "x", "level": 0, "format": "s", "variable": "j", "by_reference": False},
        ),
        Node("write", "value_writer", {"slot": "x", "by_reference": False}),
    ),
    edges=(
        wire("root.ref", "scan_i.in_ref"),
        wire("scan_i.ref", "scan_j.in_ref"),
        wire("scan_j.ref", "values.in_ref"),
        wire("scan_j.crd", "reduce.in_crd0"),
        wire("values.val", "reduce.in_val"),
        wire("reduce.crd0", "write_j.in_crd"),
        wire("reduce.val", "write.in_val"),
    ),
    slots=(Slot("b", "b", "ss", ((0,), (1,)), ("i", "j")),),
    result=Result(Slot("x", "x", "s", ((0,),), ("j",)), "s", (0,)),
)


def with_edges(*edges, without=()):
    kept = [edge for edge in SUM.edges if str(edge) not in without]
    return replace(SUM, edges=(*kept, *(wire(*edge) for edge in edges)))


def with_nodes(*nodes):
    return replace(SUM, nodes=(*SUM.nodes, *nodes))


def refused(graph):
    with pytest.raises(UserError) as error:
        validate(graph)
    return str(error.value)


def test_streams_on_the_edges():
    assert {str(edge): stream for edge, stream in validate(SUM).items()} == {
        "root.ref -> scan_i.in_ref": Stream("ref", 0),
        "scan_i.ref -> scan_j.in_ref": Stream("ref", 1),
        "scan_j.ref -> values.in_ref": Stream("ref", 2),
        "scan_j.crd -> reduce.in_crd0": Stream("crd", 2),
        "values.val -> reduce.in_val": Stream("val", 2),
        "reduce.crd0 -> write_j.in_crd": Stream("crd", 1),
        "reduce.val -> write.in_val": Stream("val", 1),
    }


def test_an_empty_graph_is_sound():
    assert validate(Graph((), ())) == {}


def test_an_output_may_have_several_readers_or_none():
    graph = replace(
        with_nodes(Node("more", "sink")),
        edges=(*SUM.edges, wire("scan_j.crd", "more.in_stream")),
    )
    assert validate(graph)[wire("scan_j.crd", "more.in_stream")] == Stream("crd", 2)


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (with_nodes(Node("scan_i", "sink")), "two nodes of the graph are named scan_i"),
        (
            with_nodes(Node("more", "unionr")),
            "node more is of the unknown kind unionr\nhint: did you mean unioner?",
        ),
        (
            with_nodes(Node("more", "reducer")),
            "node more: parameter dimensions is missing; it must be a whole number from 0 to 65536",
        ),
        (
            with_nodes(Node("more", "alu", {"operation": "ad"})),
            'node more: parameter operation is "ad"; '
            "it must be one of add, subtract, multiply, divide, negate",
        ),
        (
            replace(SUM, slots=(replace(SUM.slots[0], variables=("i",)),)),
            "slot b has different numbers of levels, modes and variables",
        ),
        (
            replace(SUM, slots=(replace(SUM.slots[0], modes=3),)),
            "slot b: modes is 3, which is not a tuple",
        ),
        (
            replace(SUM, slots=(replace(SUM.slots[0], modes=(0, 1)),)),
            "slot b: modes has 0, which is not a tuple of the numbers of modes",
        ),
        (
            replace(SUM, slots=(replace(SUM.slots[0], levels=None),)),
            "slot b: levels is null, which is not a str",
        ),
        (replace(SUM, slots=SUM.slots * 2), "two slots of the graph are named b"),
        (
            replace(SUM, slots=(replace(SUM.slots[0], modes=((0,), (2,))),)),
            "slot b does not store each mode of its tensor once",
        ),
        (
            replace(SUM, slots=(replace(SUM.slots[0], tensor=None),)),
            "slot b must have a tensor or a constant, and not both",
        ),
        (
            replace(SUM, result=replace(SUM.result, mode_order=(1,))),
            "the result does not store each mode once",
        ),
        (
            replace(SUM, result=replace(SUM.result, slot=replace(SUM.result.slot, levels="d"))),
            "slot x needs one writer for each level, of its format and variable, "
            "and one for the values",
        ),
        (
            with_nodes(Node("more", "array", {"slot": "x"})),
            "node more names the unknown slot x\nhint: one of b",
        ),
        (replace(SUM, dims=(("i", -1),)), "the graph gives i the extent -1"),
        (
            replace(SUM, slots=(replace(SUM.slots[0], levels="sz"),)),
            "slot b has the unknown level format z\nhint: one of d, s, u, q, c, h, r, o, b, l, n",
        ),
        (
            with_nodes(Node("more", "array", {"slot": "bb"})),
            "node more names the unknown slot bb\nhint: did you mean b?",
        ),
        (
            with_edges(("scan_jj.ref", "values.in_ref")),
            "edge scan_jj.ref -> values.in_ref names the unknown node scan_jj\n"
            "hint: did you mean scan_j?",
        ),
        (
            with_edges(("scan_i.val", "values.in_ref")),
            "edge scan_i.val -> values.in_ref names an unknown output port of scan_i\n"
            "hint: one of crd, ref",
        ),
        (
            with_edges(("scan_i.in_ref", "values.in_ref")),
            "edge scan_i.in_ref -> values.in_ref names an unknown output port of scan_i\n"
            "hint: did you mean ref?",
        ),
        (
            with_edges(("scan_i.ref", "values.in_ref0")),
            "edge scan_i.ref -> values.in_ref0 names an unknown input port of values\n"
            "hint: did you mean in_ref?",
        ),
        (
            with_edges(("scan_i.ref", "root.in_ref")),
            "edge scan_i.ref -> root.in_ref names an unknown input port of root\n"
            "hint: there is none",
        ),
        (
            Graph(
                (
                    Node("given", "source", {"stream": "bv", "depth": 1, "tokens": "1, S0, D"}),
                    Node("pack", "bitvector_converter", {"references": False}),
                ),
                (wire("given.bv", "pack.in_crd"),),
            ),
            "edge given.bv -> pack.in_crd carries bv into a crd port",
        ),
        (
            replace(SUM, slots=(), result=None),
            "node scan_i names the unknown slot b\nhint: there is none",
        ),
        (with_edges(("scan_i.ref", "values.in_ref")), "input values.in_ref has two producers"),
        (
            with_edges(without=["scan_j.ref -> values.in_ref"]),
            "input values.in_ref has no producer",
        ),
        (
            with_edges(("scan_j.crd", "values.in_ref"), without=["scan_j.ref -> values.in_ref"]),
            "edge scan_j.crd -> values.in_ref carries crd into a ref port",
        ),
        (
            with_edges(("scan_i.crd", "reduce.in_crd0"), without=["scan_j.crd -> reduce.in_crd0"]),
            "edge scan_i.crd -> reduce.in_crd0 has depth 1, "
            "and the other inputs of reduce ask for depth 2",
        ),
    ],
)
def test_unsound_graphs(graph, text):
    assert refused(graph) == text


def test_a_stream_that_is_not_deep_enough():
    graph = Graph(
        nodes=(
            Node("a", "source", {"stream": "val", "depth": 0, "tokens": "1, D"}),
            Node("sum", "reducer", {"dimensions": 0, "empty": "zero"}),
        ),
        edges=(wire("a.val", "sum.in_val"),),
    )
    assert refused(graph) == (
        "edge a.val -> sum.in_val has depth 0, and the other inputs of sum ask for depth 1"
    )


def test_a_loop():
    graph = Graph(
        nodes=(
            Node("a", "alu", {"operation": "negate"}),
            Node("b", "alu", {"operation": "negate"}),
        ),
        edges=(wire("a.val", "b.in_val0"), wire("b.val", "a.in_val0")),
    )
    assert refused(graph) in (
        "the graph has a loop: a -> b -> a",
        "the graph has a loop: b -> a -> b",
    )


# b is scanned, and the intersecter of b with itself tells its scanner where to go on.
SKIPPING = Graph(
    nodes=(
        Node("root", "root"),
        Node("scan", "level_scanner", {"slot": "b", "level": 0, "skips": True}),
        Node("both", "intersecter", {"payloads": [["ref"], []], "skips": [0]}),
        Node("kept", "sink"),
    ),
    edges=(
        wire("root.ref", "scan.in_ref"),
        wire("both.skip0", "scan.in_skip"),
        wire("scan.crd", "both.in_crd0"),
        wire("scan.ref", "both.in_ref0_0"),
        wire("scan.crd", "both.in_crd1"),
        wire("both.crd", "kept.in_stream"),
    ),
    slots=(Slot("b", "b", "s", ((0,),), ("i",)),),
)


def test_a_loop_may_go_through_a_wire():
    streams = validate(SKIPPING)
    assert len(streams) == len(SKIPPING.edges)
    assert streams[wire("both.skip0", "scan.in_skip")] == Stream("crd", 1, wire=True)
    assert [str(edge.target) for edge, stream in streams.items() if stream.wire] == ["scan.in_skip"]


def test_a_wire_needs_a_writer_of_coordinates():
    untold = tuple(edge for edge in SKIPPING.edges if edge.target.port != "in_skip")
    assert refused(replace(SKIPPING, edges=untold)) == "input scan.in_skip has no producer"
    wrong = (*untold, wire("both.ref0_0", "scan.in_skip"))
    assert refused(replace(SKIPPING, edges=wrong)) == (
        "edge both.ref0_0 -> scan.in_skip carries ref into a crd port"
    )


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"slot": "b", "level": 2}, "slot b has no level 2"),
        ({"slot": "b"}, "a scanner has a slot and a level, or a variable, and not both"),
        (
            {"slot": "b", "level": 0, "variable": "i"},
            "a scanner has a slot and a level, or a variable, and not both",
        ),
        ({}, "a scanner has a slot and a level, or a variable, and not both"),
        (
            {"slot": "b", "level": "0"},
            'parameter level is "0"; it must be a whole number from 0 to 65536',
        ),
        (
            {"slot": "b", "level": True},
            "parameter level is true; it must be a whole number from 0 to 65536",
        ),
        (
            {"slot": "b", "level": -1},
            "parameter level is -1; it must be a whole number from 0 to 65536",
        ),
        (
            {"slot": "b", "level": 10**5000},
            "parameter level is a number that is too large to show; "
            "it must be a whole number from 0 to 65536",
        ),
        ({"slot": ["b"], "level": 0}, 'parameter slot is ["b"]; it must be text'),
        (
            {"slot": "b", "levl": 0},
            'unknown parameter "levl"\nhint: did you mean level?',
        ),
    ],
)
def test_parameters_that_a_kind_does_not_take(parameters, text):
    nodes = (replace(SUM.nodes[1], parameters=parameters), *SUM.nodes[2:], SUM.nodes[0])
    assert refused(replace(SUM, nodes=nodes)) == f"node scan_i: {text}"


@pytest.mark.parametrize(
    ("kind", "parameters", "text"),
    [
        (
            "intersecter",
            {"payloads": ["ref"]},
            'payloads is ["ref"]; it must be a list of at least 1, each a list, '
            "each one of crd, ref, val, bv",
        ),
        (
            "intersecter",
            {"payloads": [[], []], "skips": [2]},
            "skips has 2, and there are 2 operands",
        ),
        (
            "intersecter",
            {"payloads": [[], []], "skips": [1, 1]},
            "skips is [1, 1]; it must be a list, each a whole number from 0 to 65536, "
            "none of them twice",
        ),
        ("reducer", {"dimensions": 0}, "empty is missing"),
        ("coordinate_dropper", {"drop": "coordinates"}, "inner is missing"),
        (
            "serializer",
            {"lanes": 0, "streams": [], "depth": 0},
            "lanes is 0; it must be a whole number from 1 to 65536",
        ),
    ],
)
def test_parameters_of_other_kinds(kind, parameters, text):
    refusal = refused(with_nodes(Node("more", kind, parameters)))
    assert refusal == f"node more: parameter {text}"


SHARED = custard.compile(
    "y(i) = A(i,j) * x(j)", {}, "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,4)"
).graph


def test_a_slot_may_be_stored_by_shares_of_its_entries():
    validate(SHARED)
    (slot,) = (slot for slot in SHARED.slots if slot.tensor == "A")
    assert slot.shares == ("p0",)
    assert refused(replace(SHARED, derived=())) == (
        "slot A has a share of entries that the graph does not derive"
    )
    others = [replace(one, shares=("p0",)) if one.tensor == "x" else one for one in SHARED.slots]
    assert refused(replace(SHARED, slots=tuple(others))) == (
        "slot x has a share of entries that the graph does not derive"
    )


@pytest.mark.parametrize(
    "change", [{"size": 0}, {"around": ((0, False),)}, {"variables": ("k",)}, {"above": 2}]
)
def test_malformed_shares_are_refused(change):
    derived = tuple(replace(one, **change) for one in SHARED.derived)
    assert refused(replace(SHARED, derived=derived)) == (
        "the graph cannot share the entries of A out as p0"
    )


def test_a_graph_is_validated_once_as_long_as_it_stays_as_it_is() -> None:
    parameters = {"slot": "b", "level": 0}
    scan = replace(SUM.nodes[1], parameters=parameters)
    graph = replace(SUM, nodes=(SUM.nodes[0], scan, *SUM.nodes[2:]))
    assert validated(graph) is validated(graph)
    parameters["level"] = 2
    with pytest.raises(UserError, match="slot b has no level 2"):
        validate(graph)
    parameters["level"] = 0
    assert validate(graph) == validate(SUM)


def test_a_kind_that_becomes_another_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = validated(SUM)
    monkeypatch.setitem(KINDS, "array", replace(KINDS["array"], work="loads"))
    assert validated(SUM) is not before


def test_facts_about_a_graph_are_forgotten_with_it() -> None:
    graph = replace(SUM)
    known = weakref.ref(validated(graph))
    del graph
    gc.collect()
    assert known() is None
