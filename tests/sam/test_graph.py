"""Graphs as data."""

import pytest

from sam.blocks import primitives
from sam.graph import Edge, End, Graph, Node

SCALED = Graph(
    nodes=(
        Node("root", "root"),
        Node("scan", "level_scanner", {"slot": "b", "level": 0}),
        Node("values", "array", {"slot": "b"}),
        Node("double", "alu", {"operation": "add"}),
        Node("repeat", "fiber_repeater", {"streams": ["crd"], "depth": 1}),
        Node("write_i", "level_writer", {}),
        Node("write", "value_writer", {}),
    ),
    edges=(Edge(End("root", "ref"), End("scan", "in_ref")),),
)


def test_ends_and_edges_are_named_by_their_nodes_and_ports():
    (edge,) = SCALED.edges
    assert str(edge.source) == "root.ref"
    assert str(edge) == "root.ref -> scan.in_ref"


def test_a_node_by_its_name():
    assert SCALED.node("double") == Node("double", "alu", {"operation": "add"})
    with pytest.raises(KeyError, match="triple"):
        SCALED.node("triple")


def test_counts_are_by_the_primitives_of_table_1():
    """Value writers are level writers, roots are none; a fiber repeater is a repeater."""
    assert primitives(SCALED) == {
        "alu": 1,
        "array": 1,
        "level_scanner": 1,
        "level_writer": 2,
        "repeater": 1,
    }
    assert list(primitives(SCALED)) == sorted(primitives(SCALED))
    assert primitives(Graph((), ())) == {}
