"""How graphs are drawn: shapes, colours, boxes and arrows."""

import custard
from sam.picture import STREAM_STYLES, Picture, stream

PRODUCT = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule=["reorder(i,k,j)"]).graph


def test_nodes_have_the_shape_of_their_kind_and_the_colour_of_their_tensor():
    picture = Picture(PRODUCT)
    by_name = {node.name: picture.of_node(node) for node in PRODUCT.nodes}
    scanned = {by_name[name]["fillcolor"] for name in ("scan_B_i", "scan_B_k")}
    assert len(scanned) == 1
    assert by_name["scan_C_k"]["fillcolor"] not in scanned
    assert by_name["root"]["shape"] == "circle"


def test_arrows_are_those_of_the_paper():
    picture = Picture(PRODUCT)
    assert {stream(edge) for edge in PRODUCT.edges} <= STREAM_STYLES.keys()
    for edge in PRODUCT.edges:
        dashed = picture.of_edge(edge).get("style") == '"dashed"'
        assert dashed == edge.source.port.startswith("ref")


def test_each_loop_has_a_box():
    lines = Picture(PRODUCT).boxes()
    for variable in "ijk":
        assert any(f'"loop {variable}"' in line for line in lines)


def test_each_lane_has_a_box():
    schedule = ["parallelize(i, Lanes, 2)"]
    graph = custard.compile("y(i) = A(i,j) * x(j)", schedule=schedule).graph
    lines = Picture(graph).boxes()
    assert any('"lane 0 of i"' in line for line in lines)
    assert any('"lane 1 of i"' in line for line in lines)


def test_a_graph_that_is_not_sound_has_no_boxes():
    from dataclasses import replace

    torn = replace(PRODUCT, edges=PRODUCT.edges[1:])
    assert Picture(torn).boxes() == []
