"""Pictures of Figure 4 of the SAM paper, drawn with and without a dot program."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import custard
from sam.drawing import draw
from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sim.config.hardware import load
from sim.tiling import with_tiles

NODES = {
    "root B": ("root", {"slot": "B"}),
    "root C": ("root", {"slot": "C"}),
    "scan Bi": ("level_scanner", {"slot": "B", "level": 0, "variable": "i"}),
    "repeat C": ("repeater", {"slot": "C", "variable": "i"}),
    "scan Bk": ("level_scanner", {"slot": "B", "level": 1, "variable": "k"}),
    "scan Ck": ("level_scanner", {"slot": "C", "level": 0, "variable": "k"}),
    "intersect k": ("intersecter", {"variable": "k", "payloads": [["ref"], ["ref"]]}),
    "scan Cj": ("level_scanner", {"slot": "C", "level": 1, "variable": "j"}),
    "repeat B": ("repeater", {"slot": "B", "variable": "j"}),
    "array B": ("array", {"slot": "B"}),
    "array C": ("array", {"slot": "C"}),
    "multiply": ("alu", {"operation": "*"}),
    "reduce k": ("reducer", {"variable": "k", "dimensions": 1}),
    "drop i": ("coordinate_dropper", {"variable": "i"}),
    "write Xi": ("level_writer", {"slot": "X", "level": 0, "variable": "i"}),
    "write Xj": ("level_writer", {"slot": "X", "level": 1, "variable": "j"}),
    "write X": ("value_writer", {"slot": "X"}),
}
EDGES = """
    root B.ref -> scan Bi.in_ref            root C.ref -> repeat C.in_ref
    scan Bi.crd -> repeat C.in_crd          scan Bi.crd -> drop i.in_outer
    scan Bi.ref -> scan Bk.in_ref           repeat C.ref -> scan Ck.in_ref
    scan Bk.crd -> intersect k.in_crd0      scan Bk.ref -> intersect k.in_ref0
    scan Ck.crd -> intersect k.in_crd1      scan Ck.ref -> intersect k.in_ref1
    intersect k.ref0 -> repeat B.in_ref     intersect k.ref1 -> scan Cj.in_ref
    scan Cj.crd -> repeat B.in_crd          scan Cj.crd -> reduce k.in_crd0
    scan Cj.ref -> array C.in_ref           repeat B.ref -> array B.in_ref
    array B.val -> multiply.in_val0         array C.val -> multiply.in_val1
    multiply.val -> reduce k.in_val         reduce k.crd0 -> drop i.in_crd
    drop i.crd -> write Xi.in_crd           drop i.crd_inner -> write Xj.in_crd
    reduce k.val -> write X.in_val
"""


def _end(text: str) -> End:
    return End(*text.rsplit(".", 1))


FIGURE_4 = Graph(
    nodes=tuple(Node(name, *rest) for name, rest in NODES.items()),
    edges=tuple(
        Edge(*map(_end, edge.split(" -> "))) for edge in re.split(r"\s{2,}", EDGES.strip())
    ),
    title="X(i,j) = B(i,k) * C(k,j)",
)


@pytest.fixture(scope="module")
def svg(tmp_path_factory: pytest.TempPathFactory) -> ElementTree.Element:
    path = tmp_path_factory.mktemp("svg") / "figure.svg"
    draw(FIGURE_4, path)
    return ElementTree.parse(path).getroot()


def _classed(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [group for group in svg.iter() if group.get("class") == name]


def test_every_block_and_every_stream_is_drawn(svg: ElementTree.Element) -> None:
    legend_names, legend_arrows = 3, 3
    assert len(_classed(svg, "node")) == 17 + legend_names
    assert len(_classed(svg, "edge")) == 23 + legend_arrows


def test_labels_tell_kind_tensor_and_variable(svg: ElementTree.Element) -> None:
    words = ["".join(text.itertext()) for text in svg.iter() if text.tag.endswith("text")]
    assert {"scan Bi", "level scanner", "intersect k", "intersecter", "reduce k"} <= set(words)
    assert "X(i,j) = B(i,k) * C(k,j)" in words
    assert {"coordinates", "references", "values"} <= set(words)
    assert not {"words of bits", "where to go on", "tiles done with"} & set(words)


def test_references_are_stippled(svg: ElementTree.Element) -> None:
    references = [edge for edge in FIGURE_4.edges if edge.source.port.startswith("ref")]
    arrows = [path.get("stroke-dasharray") for path in svg.iter()]
    stippled = [dashes for dashes in arrows if dashes == "5,2"]
    assert len(references) == 10
    assert len(stippled) == len(references) + 1  # the legend's


def test_png_is_large_enough_to_read(tmp_path: Path) -> None:
    draw(FIGURE_4, tmp_path / "figure.png")
    data = (tmp_path / "figure.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 400
    assert height > 1000


def _drawn(program, tmp_path: Path) -> tuple[list[str], ElementTree.Element]:  # type: ignore[no-untyped-def]
    """The words of the picture of a graph, and the picture."""
    draw(program, tmp_path / "drawn.svg")
    root = ElementTree.parse(tmp_path / "drawn.svg").getroot()
    return ["".join(text.itertext()) for text in root.iter() if text.tag.endswith("text")], root


def test_loops_and_lanes_have_boxes(tmp_path: Path) -> None:
    schedule = ["parallelize(i, Lanes, 4)"]
    graph = custard.compile("y(i) = A(i,j) * x(j)", schedule=schedule).graph
    words, root = _drawn(graph, tmp_path)
    assert [words.count(f"lane {n} of i") for n in range(5)] == [1, 1, 1, 1, 0]
    assert (words.count("loop i"), words.count("loop j")) == (1, 4)
    assert {"scan_A_j_3", "intersect_j_2", "parallelizer 4"} <= {*words}
    # Four lanes with a loop in each, the loop around them, and the legend.
    assert len(_classed(root, "cluster")) == 4 + 4 + 1 + 1


def test_tile_loaders_and_skip_wires_are_drawn(tmp_path: Path) -> None:
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", {}, ["tile(128)"])
    words, _ = _drawn(with_tiles(program.graph, load("extensor")), tmp_path)
    assert {"load_B", "release_C", "tile loader peb", "tiles done with"} <= {*words}
    words, _ = _drawn(custard.compile("x(i) = b(i) * c(i)", {}, ["skip(b,i)"]).graph, tmp_path)
    assert "where to go on" in words


@pytest.mark.parametrize(
    ("expression", "shared"),
    [("X(i,j) = B(i,k) * C(k,j) * E(i,j)", "i"), ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "k")],
)
def test_a_graph_of_sixty_nodes_fits_a_page(expression: str, shared: str, tmp_path: Path) -> None:
    """On an A4 page with margins, upright or on its side, the text is more than 4 points high."""
    schedule = [f"parallelize({shared}, Lanes, 4)"]
    graph = custard.compile(expression, schedule=schedule).graph
    assert len(graph.nodes) > 60
    _, root = _drawn(graph, tmp_path)
    width, height = (float(root.attrib[side].removesuffix("pt")) for side in ("width", "height"))
    short, long = (mm / 25.4 * 72 for mm in (190, 277))
    assert 11 * max(min(short / width, long / height), min(long / width, short / height)) > 4


def test_pdf_and_a_suffix_in_capitals(tmp_path: Path) -> None:
    draw(FIGURE_4, tmp_path / "figure.PDF")
    assert (tmp_path / "figure.PDF").read_bytes().startswith(b"%PDF")
    assert os.listdir(tmp_path) == ["figure.PDF"]


def test_names_reach_the_picture_as_they_are(tmp_path: Path) -> None:
    names = ['"; evil [', "\\N\\G", "&lt;é λ", "<b>x</b>"]
    draw(Graph(tuple(Node(n, "array", {"slot": n}) for n in names), ()), tmp_path / "x.svg")
    words = {
        "".join(text.itertext())
        for text in ElementTree.parse(tmp_path / "x.svg").iter()
        if text.tag.endswith("text")
    }
    assert set(names) <= words


def test_nothing_is_printed(tmp_path: Path) -> None:
    program = (
        "from sam.drawing import draw; from sam.graph import Graph, Node;"
        f"draw(Graph((Node('a', 'alu'),), ()), {str(tmp_path / 'a.png')!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def _program(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "dot").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_a_dot_program_on_the_path_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, 'echo "called with $1"; cat', monkeypatch)
    draw(FIGURE_4, tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text().startswith("called with -Tsvg\ndigraph sam {\n")


def test_a_failing_dot_program_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, 'echo "Error: no plugin" >&2; exit 1', monkeypatch)
    (tmp_path / "x.svg").write_text("old")
    with pytest.raises(UserError) as raised:
        draw(FIGURE_4, tmp_path / "x.svg")
    assert str(raised.value) == "Graphviz cannot draw the graph: Error: no plugin"
    assert (tmp_path / "x.svg").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["dot", "x.svg"]


def test_a_dot_program_that_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is longer than a pipe holds, and SIGPIPE ends whoever does not ignore it."""
    _program(tmp_path, "exit 1", monkeypatch)
    program = (
        "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "from sam.drawing import draw; from sam.graph import Graph, Node\n"
        "from sam.support.errors import UserError\n"
        "nodes = tuple(Node(f'a{n}', 'alu') for n in range(2000))\n"
        "try: draw(Graph(nodes, ()), 'a.svg')\n"
        "except UserError as mistake: print(mistake)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Graphviz cannot draw the graph: no message\n")


def test_without_any_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sam.drawing.find_spec", lambda name: None)
    with pytest.raises(UserError) as raised:
        draw(FIGURE_4, tmp_path / "x.svg")
    assert str(raised.value) == (
        "no Graphviz is installed to draw with\nhint: pip install pygraphviz"
    )


def test_notebooks_show_graphs_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = custard.compile("y(i) = A(i,j) * x(j)")
    assert program._repr_svg_() == program.graph._repr_svg_()
    assert program.graph._repr_svg_().count('class="node"') == 13 + 3
    many = Graph(tuple(Node(str(n), "sink") for n in range(400)), ())
    assert "a graph of 400 blocks: sam.drawing.draw(graph, path) draws it" in many._repr_svg_()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sam.drawing.find_spec", lambda name: None)
    assert "a graph of 13 blocks; no Graphviz is installed" in program._repr_svg_()


@pytest.mark.parametrize("name", ["x.gif", "x"])
def test_an_unknown_suffix(name: str) -> None:
    with pytest.raises(UserError) as raised:
        draw(FIGURE_4, name)
    assert str(raised.value) == (
        f"cannot draw to {name}: its suffix is not that of a picture\nhint: one of .svg, .png, .pdf"
    )


def test_a_missing_folder(tmp_path: Path) -> None:
    target = tmp_path / "none" / "x.svg"
    with pytest.raises(UserError) as raised:
        draw(FIGURE_4, target)
    assert str(raised.value) == f"cannot write {target}: there is no folder {target.parent}"
