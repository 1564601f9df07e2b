"""Graphs in the published dialect: equal when read again, or refused if it cannot express them."""

import json

import pydot
import pytest

import custard
from experiments import table1
from sam.dot import from_dot, to_dot
from sam.support.errors import UserError


def _table_1():
    """The graphs of Table 1, in all loop orders that the paper's counts depend on."""
    table = json.loads(table1.REFERENCE.read_text())["table1"]
    for name, (expression, *counts) in table["rows"].items():
        paper = dict(zip(table["columns"], counts, strict=True))
        for order in table1._orders(expression, paper):
            formats = table1._formats(expression, order)
            schedule = [f"reorder({','.join(order)})"]
            graph = custard.compile(expression, formats, schedule).graph
            yield pytest.param(graph, id=f"{name}-{''.join(order)}")


@pytest.mark.parametrize("graph", [*_table_1()])
@pytest.mark.parametrize("dialect", ["custard", "published"])
def test_every_graph_of_table_1_comes_back_the_same(graph, dialect):
    assert from_dot(to_dot(graph, dialect)) == graph


@pytest.mark.parametrize(
    "program",
    [
        ("X(i,j) = B(i,k) * C(k,j)", {"X": "dd"}, []),
        ("X(i,j) = B(i,j) + C(i,j)", {"B": "CSC", "C": "CSC", "X": "CSC"}, ["reorder(j,i)"]),
        ("y(i) = 2 * B(i,j) * c(j) + b(i)", {}, []),
        ("X(i,j) = B(i,k) * B(k,j)", {}, ["reorder(i,k,j)"]),
        ("x(i) = b(i) + b(i) * c(i)", {}, []),
        ("y = b(i) * c(i)", {}, []),
    ],
)
def test_other_graphs_come_back_too(program):
    graph = custard.compile(*program).graph
    assert from_dot(to_dot(graph, "published")) == graph


def test_the_text_is_of_the_dialect():
    graph = custard.compile("y(i) = B(i,j) * c(j)").graph
    lines = to_dot(graph, "published").splitlines()
    assert lines[:2] == ["digraph SAM {", '    comment="y=s0,B=ss01,c=s0"']
    (drawn,) = pydot.graph_from_dot_data("\n".join(lines))
    types = sorted(node.get_attributes()["type"].strip('"') for node in drawn.get_nodes())
    assert types == [
        *["arrayvals"] * 2,
        *["broadcast"] * 1,
        "crddrop",
        *["fiberlookup"] * 3,
        *["fiberwrite"] * 2,
        "intersect",
        "mul",
        "reduce",
        "repeat",
        "repsiggen",
    ]
    kinds = {edge.get_attributes()["type"] for edge in drawn.get_edges()}
    assert kinds == {'"crd"', '"ref"', '"val"', '"repsig"'}
    # An output of a published graph has one reader; a broadcast has several.
    sources = [edge.get_source() for edge in drawn.get_edges()]
    broadcasts = {n.get_name() for n in drawn.get_nodes() if "broadcast" in n.get("type")}
    for node in drawn.get_nodes():
        out = [e.get("label") for e in drawn.get_edges() if e.get_source() == node.get_name()]
        assert node.get_name() in broadcasts or len(out) == len({*out})
    assert {*broadcasts} <= {*sources}


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (
            ("X(i,j) = B(i,j) * C(i,j)", {"C": "dd"}, []),
            "node locate_C_i is a locator, for which the published dialect has no type\n"
            "hint: write our own dialect, which has all kinds",
        ),
        (
            ("x(i) = b(i)", {}, ["parallelize(i, Lanes, 2)"]),
            "node deal_i is a parallelizer, for which the published dialect has no type\n"
            "hint: write our own dialect, which has all kinds",
        ),
        (
            ("x(i) = b(i) * c(i)", {}, ["skip(b,i)"]),
            "node scan_b_i skips coordinates, which no type of the published dialect does\n"
            "hint: write our own dialect, which has all kinds",
        ),
        (
            ("x(i) = b(i) + 1", {}, []),
            "node scan_i scans all of i, which no type of the published dialect does\n"
            "hint: write our own dialect, which has all kinds",
        ),
    ],
)
def test_graphs_that_the_dialect_cannot_express_are_mistakes(program, error):
    with pytest.raises(UserError) as refusal:
        to_dot(custard.compile(*program).graph, "published")
    assert str(refusal.value) == error


def test_an_unknown_dialect():
    with pytest.raises(UserError) as refusal:
        to_dot(custard.compile("x(i) = b(i)").graph, "publishd")
    assert str(refusal.value) == ("there is no DOT dialect publishd\nhint: did you mean published?")
