"""DOT out and in again: equality, the text itself, the errors."""

import math
from dataclasses import replace
from pathlib import Path

import pydot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import custard
from sam.dot import from_dot, to_dot
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.support.errors import UserError
from sam.validate import validate
from tests.support.mutants import require_survival

GOLDEN = Path(__file__).parent / "golden"

VECTOR = Slot("b", "b", "s", ((0,),), ("i",))
SCALING = Graph(
    nodes=(
        Node("root b", "root", {"slot": "b"}),
        Node("scan b.i", "level_scanner", {"slot": "b", "level": 0, "variable": "i"}),
        Node("array b", "array", {"slot": "b"}),
        Node("negate", "alu", {"operation": "neg"}),
        Node("write x.i", "level_writer", {"slot": "x", "level": 0, "variable": "i"}),
        Node("write x", "value_writer", {"slot": "x"}),
    ),
    edges=(
        Edge(End("root b", "ref"), End("scan b.i", "in_ref")),
        Edge(End("scan b.i", "crd"), End("write x.i", "in_crd")),
        Edge(End("scan b.i", "ref"), End("array b", "in_ref")),
        Edge(End("array b", "val"), End("negate", "in_val0")),
        Edge(End("negate", "val"), End("write x", "in_val")),
    ),
    slots=(VECTOR, Slot("two", None, constant=2)),
    result=Result(Slot("x", "x", "s", ((0,),), ("i",)), "d", (0,)),
    title="x(i) = -b(i)",
    nonempty=("i",),
    dims=(("i", 7),),
)

names = st.text(max_size=8) | st.sampled_from(
    [
        "node",
        "graph",
        "edge",
        "",
        "a:b",
        "a:n",
        "\\",
        '\\"',
        '"',
        "\\N",
        "\\\n",
        "<b>",
        "//",
        "#",
        "λ",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=4,
)
slots = st.builds(
    Slot,
    names,
    st.none() | names,
    names,
    st.lists(st.lists(st.integers(0, 3), max_size=2).map(tuple), max_size=3).map(tuple),
    st.lists(names, max_size=2).map(tuple),
    st.none() | st.integers() | st.floats(allow_nan=False),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    nodes = draw(
        st.lists(
            st.builds(Node, names, names, st.dictionaries(names, values, max_size=3)),
            max_size=4,
            unique_by=lambda node: node.name,
        )
    )
    edges = []
    if nodes:
        ends = st.builds(End, st.sampled_from([node.name for node in nodes]), names)
        edges = draw(st.lists(st.builds(Edge, ends, ends), max_size=5))
    return Graph(
        nodes=tuple(nodes),
        edges=tuple(edges),
        slots=tuple(draw(st.lists(slots, max_size=2))),
        result=draw(st.none() | st.builds(Result, slots, names, st.just((1, 0)))),
        title=draw(names),
        nonempty=tuple(draw(st.lists(names, max_size=2))),
        dims=tuple(draw(st.lists(st.tuples(names, st.integers(0)), max_size=2))),
    )


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_any_graph_comes_back_equal(graph: Graph) -> None:
    read = from_dot(to_dot(graph))
    assert read == graph
    assert [type(slot.constant) for slot in read.slots] == [type(s.constant) for s in graph.slots]


def test_graphviz_itself_reads_the_names() -> None:
    nasty = ["a", "node", "a:b", "a:n", '\\"', '"', "\\N", "\\\n", "<b>", "//", "#", "λ", " "]
    graph = Graph(
        tuple(Node(name, name, {name: name}) for name in nasty),
        tuple(Edge(End("a", name), End(name, name)) for name in nasty),
        title="".join(nasty),
    )
    agraph = pytest.importorskip("pygraphviz").AGraph(string=to_dot(graph))
    assert len(agraph.nodes()) == len(nasty)
    assert len(agraph.edges()) == len(nasty)
    assert from_dot(to_dot(graph)) == graph


def test_the_output_of_a_graphviz_layout_can_be_read() -> None:
    agraph = pytest.importorskip("pygraphviz").AGraph(string=to_dot(SCALING))
    agraph.layout(prog="dot")
    read = from_dot(agraph.to_string())
    # Nodes and edges come in an order of Graphviz's own.
    assert set(read.edges) == set(SCALING.edges)
    assert {node.name: node for node in read.nodes} == {node.name: node for node in SCALING.nodes}
    assert replace(read, nodes=SCALING.nodes, edges=SCALING.edges) == SCALING


def test_infinities_come_back() -> None:
    graph = Graph((Node("a", "alu", {"zero": math.inf}),), ())
    assert from_dot(to_dot(graph)) == graph


def test_edges_keep_their_order_among_several_between_two_nodes() -> None:
    pairs = [("a", "b"), ("b", "a"), ("a", "b")]
    graph = Graph(
        (Node("a", "k"), Node("b", "k")),
        tuple(Edge(End(s, f"crd{n}"), End(t, f"in{n}")) for n, (s, t) in enumerate(pairs)),
    )
    assert from_dot(to_dot(graph)) == graph


def test_the_text_is_the_golden_file() -> None:
    assert to_dot(SCALING) == (GOLDEN / "scaling.gv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "target", "drawn"),
    [
        ("crd", "in_crd", {"style": "solid"}),
        ("ref0_1", "in_ref", {"style": "dashed"}),
        ("val", "in_val0", {"color": "black:invis:black"}),
        ("pay0", "in_ref", {"style": "dashed"}),
        ("skip0", "in_skip", {"style": "dotted", "constraint": "false"}),
        ("out", "in", {"style": "solid"}),
    ],
)
def test_an_arrow_tells_its_stream(source: str, target: str, drawn: dict[str, str]) -> None:
    graph = Graph((Node("a", "k"), Node("b", "k")), (Edge(End("a", source), End("b", target)),))
    (edge,) = pydot.graph_from_dot_data(to_dot(graph))[0].get_edges()
    attributes = {key: value.strip('"') for key, value in edge.get_attributes().items()}
    assert attributes == {"source_port": source, "target_port": target} | drawn


def test_a_graph_with_a_loop_comes_back() -> None:
    """Where coordinates are skipped, an intersecter tells a scanner in front of it."""
    graph = custard.compile("x(i) = b(i) * c(i)", schedule=["skip(b,i)", "skip(c,i)"]).graph
    assert from_dot(to_dot(graph)) == graph


def test_attributes_of_other_tools_are_passed_over() -> None:
    text = """
    strict digraph mine { // by hand
      node [shape=box]; graph [rankdir=TB]; edge [color=red];
      subgraph cluster_0 { a [kind=root, parameters="{}", color=red] }
      b [kind=array, parameters="{\\"slot\\": \\"B\\"}"];
      a -> b [source_port=ref, target_port=in_ref, penwidth=2.5];
    }
    """
    read = from_dot(text)
    assert {node.name for node in read.nodes} == {"a", "b"}
    assert read.node("b").parameters == {"slot": "B"}
    assert read.edges == (Edge(End("a", "ref"), End("b", "in_ref")),)


NODE = 'a [kind=root, parameters="{}"]; '


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "digraph {\n  a -> ;\n}",
            "the text is not DOT: line 2 cannot be read\n    a -> ;\n      ^",
        ),
        ("", "the text is not DOT: line 1 cannot be read"),
        (
            "digraph {} x",
            "the text is not DOT: line 1 cannot be read\n  digraph {} x\n             ^",
        ),
        ("graph { }", "the DOT text must hold one digraph"),
        ("digraph { } digraph { }", "the DOT text must hold one digraph"),
        (
            "digraph { a }",
            'node "a" has no attribute "parameters"\n'
            "hint: only graphs written by to_dot or the published compiler can be read",
        ),
        (
            'digraph { a [parameters="{}"] }',
            'node "a" has no attribute "kind"\n'
            "hint: only graphs written by to_dot or the published compiler can be read",
        ),
        (
            'digraph { a [kind=root, parameters="{1}"] }',
            'node "a": attribute "parameters" is not JSON: '
            "expecting property name enclosed in double quotes in line 1\n  {1}\n   ^",
        ),
        (
            "digraph { a [kind=root, parameters=1] }",
            'node "a": attribute "parameters" is not a JSON object',
        ),
        ("digraph { " + NODE * 2 + "}", 'two nodes are named "a"'),
        (
            "digraph { " + NODE + "a -> b }",
            'edge "a" -> "b": there is no node "b"',
        ),
        (
            "digraph { " + NODE + "a -> a [source_port=ref] }",
            'edge "a" -> "a" has no attribute "target_port"\n'
            "hint: only graphs written by to_dot or the published compiler can be read",
        ),
        (
            "digraph { " + NODE + "a -> { a } }",
            "an edge joins subgraphs; it must join two nodes",
        ),
        (
            "digraph " + "{ SAM " * 1000 + "}" * 1000,
            "the DOT text cannot be read: it is nested too deep",
        ),
        (
            'digraph { slots="[{\\"name\\": 3, \\"tensor\\": null}]" }',
            "graph: attribute \"slots\" does not hold a graph's slots: 3 at slots[0]['name']",
        ),
        (
            "digraph { a [name=b] }",
            'an attribute is named "name", "src", "dst" or "obj_dict"',
        ),
        (
            "digraph { dims=x }",
            'graph: attribute "dims" is not JSON: expecting value in line 1\n  x\n  ^',
        ),
        (
            "digraph { dims=" + "9" * 400 + "}",
            'graph: attribute "dims" is not JSON that can be read: '
            "a number has more than 60 digits",
        ),
        (
            'digraph { dims="' + "[" * 100_000 + '"}',
            'graph: attribute "dims" is not JSON that can be read: it is nested too deep',
        ),
    ],
)
def test_mistakes(text: str, error: str) -> None:
    with pytest.raises(UserError) as raised:
        from_dot(text)
    assert str(raised.value) == error


def test_derivations_of_variables_come_back() -> None:
    schedule = ["split(i,i0,i1,4)", "parallelize(i0,Lanes,2)"]
    graph = custard.compile("y(i) = sum(j, A(i,j) + 1)", {}, schedule).graph
    assert graph.derived
    assert from_dot(to_dot(graph)) == graph
    fused = custard.compile("X(i,j) = B(i,j)", {}, ["fuse(i,j,f)", "pos(f,g,B)"]).graph
    assert from_dot(to_dot(fused)) == fused
    schedule = ["pos(j,p,A)", "split(p,p0,p1,8)", "divide(p1,p2,p3,2)"]
    shared = custard.compile("y(i) = A(i,j) * x(j)", {}, schedule).graph
    assert from_dot(to_dot(shared)) == shared


@pytest.mark.parametrize("dialect", ["custard", "published"])
def test_mutants_of_a_graph_are_read_or_refused(dialect):
    programs = [custard.compile("x = b(i)")]
    if dialect == "custard":
        programs += [
            custard.compile("x(i) = b(i)", {"b": "b", "x": "h"}),
            custard.compile("x(i) = b(i)", schedule=["parallelize(i, Lanes, 2)"]),
            custard.compile("x(i) = b(i)", schedule=["pos(i,p,b)", "split(p,p0,p1,2)"]),
        ]

    def use(data: bytes) -> None:
        graph = from_dot(data.decode("utf-8", "replace"))
        validate(graph)
        to_dot(graph)

    require_survival(use, [to_dot(p.graph, dialect).encode() for p in programs])
