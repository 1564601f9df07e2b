"""Graphs under construction."""

from sam.graph import Edge, End
from sam.graph_builder import GraphBuilder, unused


def test_nodes_are_added_with_their_inputs():
    graph = GraphBuilder()
    root = graph.add("root", "root")
    scan = graph.add("level_scanner", "scan", {"level": 0}, ref=root["ref"])
    assert graph.nodes["scan"].parameters == {"level": 0}
    assert graph.edges == [Edge(End("root", "ref"), End("scan", "in_ref"))]
    assert scan["crd"] == End("scan", "crd")


def test_a_name_that_is_taken_gets_a_number():
    graph = GraphBuilder()
    names = [graph.add("root", "a").node for _ in range(3)]
    assert names == ["a", "a_2", "a_3"]
    assert unused("b", names) == "b"


def test_connections_change_parameters():
    graph = GraphBuilder()
    one = graph.add("root", "one")["ref"]
    graph.add("sink", "two", {"kept": 1})
    graph.connect(one, "two", "in_any", more=2)
    assert graph.nodes["two"].parameters == {"kept": 1, "more": 2}
    assert [node.name for node in graph.readers(one)] == ["two"]
    assert graph.readers(End("two", "any")) == []


def test_nodes_that_lead_to_no_writer_are_removed():
    graph = GraphBuilder()
    root = graph.add("root", "root")["ref"]
    used = graph.add("array", "used", ref=root)["val"]
    graph.add("array", "unused", ref=root)
    graph.add("value_writer", "write", val=used)
    graph.prune(["value_writer"])
    assert list(graph.nodes) == ["root", "used", "write"]
    assert len(graph.edges) == 2
