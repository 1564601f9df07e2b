"""The graph of a run as SVG."""

import re
from xml.etree import ElementTree

from sim.attribution.shares import Shares
from sim.report_page.drawing import PARTS, _short, of_graph, split
from sim.report_page.layout import layout
from tests.support.runs import spmv

SHARES = Shares(5, {"in": {"a": 2, "memory of b": 1}}, {"out": {"c": 4}}, {"DRAM latency": 3}, 7)


def test_cycles_by_state():
    found = split(SHARES)
    assert found == {"busy": 5, "starved": 3, "blocked": 4, "memory": 3, "done": 7}
    assert tuple(found) == PARTS


def test_the_drawing_has_all_blocks_and_streams():
    run = spmv()
    text = of_graph(run, layout(run.graph), "g-")
    svg = ElementTree.fromstring(text)
    groups = svg.iter("g")
    found = {(g.get("class"), g.get("data-block") or g.get("data-edge")) for g in groups}
    assert {("block", node.name) for node in run.graph.nodes} <= found
    assert {("stream", str(edge)) for edge in run.graph.edges} <= found


def test_a_block_has_a_bar_of_its_cycles():
    run = spmv()
    text = of_graph(run, layout(run.graph), "g-")
    multiply = text[text.index('data-block="multiply"') :].partition("</g>")[0]
    widths = [
        float(w)
        for w in re.findall(
            r'<rect class="(?:busy|starved|blocked|memory|done)" '
            r'x="[\d.]+" y="[\d.]+" width="([\d.]+)"',
            multiply,
        )
    ]
    [box] = [box for box in layout(run.graph).boxes if box.name == "multiply"]
    assert abs(sum(widths) - (box.width - 8)) < 0.5
    share = round(100 * run.attribution["multiply"].busy / run.cycles)
    assert f"multiply, alu: busy {share} %" in multiply


def test_long_names_are_cut():
    assert _short("scan_B_i", 100) == "scan_B_i"
    assert _short("a_name_that_is_too_long", 56) == "a_name_th…"
