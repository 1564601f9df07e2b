"""Where the blocks and streams of a graph stand."""

import re

from sim.report_page.layout import Box, Line, _path, layout
from tests.support.runs import copied


def test_every_block_and_stream_is_inside_of_the_drawing():
    graph = copied(3).graph
    found = layout(graph)
    assert {box.name for box in found.boxes} == {node.name for node in graph.nodes}
    assert {line.edge for line in found.lines} == {str(edge) for edge in graph.edges}
    rounding = 0.01
    for box in found.boxes:
        assert isinstance(box, Box)
        assert box.x - box.width / 2 >= -rounding
        assert box.x + box.width / 2 <= found.width + rounding
        assert box.y - box.height / 2 >= -rounding
        assert box.y + box.height / 2 <= found.height + rounding


def test_a_graph_goes_from_top_to_bottom():
    graph = copied(3).graph
    heights = {box.name: box.y for box in layout(graph).boxes}
    assert all(heights[edge.source.node] < heights[edge.target.node] for edge in graph.edges)


def test_a_spline_of_graphviz_becomes_a_path():
    """Its ``e`` is the tip of the arrow; the origin is at the upper left instead."""
    text = _path("e,10,0 10,90 10,60 10,40 10,8", 100)
    assert text == "M10.0,10.0 C10.0,40.0 10.0,60.0 10.0,92.0 L10.0,100.0"
    assert _path("0,0 1,1 2,2 3,3", 3) == "M0.0,3.0 C1.0,2.0 2.0,1.0 3.0,0.0"
    assert all(re.match(r"M[\d.,-]+ C", line.path) for line in layout(copied(3).graph).lines)
    assert Line("a -> b", "M0,0").edge == "a -> b"
