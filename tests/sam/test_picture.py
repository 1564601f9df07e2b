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


def test_twelve_tensors_have_colours_of_their_own():
    names = "BCDEFGHKLMN"
    graph = custard.compile(f"X(i) = {' + '.join(f'{name}(i)' for name in names)}").graph
    scanners = {f"scan_{name}_i" for name in names}
    named = [node for node in graph.nodes if node.name in {*scanners, "write_X_i"}]
    assert len({Picture(graph).of_node(node)["fillcolor"] for node in named}) == len(named) == 12


def test_a_label_has_the_number_of_lanes():
    schedule = ["reorder(i,k,j)", "parallelize(i,Lanes,2)", "parallelize(k,Lanes,2)"]
    graph = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule=schedule).graph
    labels = {node.name: Picture(graph).of_node(node)["label"] for node in graph.nodes}
    assert labels["deal_k"] == '"deal_k\\nparallelizer 2"'
    assert labels["deal_k_2"] == '"deal_k_2\\nparallelizer 2"'
    assert labels["multiply_2"] == '"multiply_2\\nalu"'


def test_arrows_are_those_of_the_paper():
    picture = Picture(PRODUCT)
    assert {stream(edge) for edge in PRODUCT.edges} <= STREAM_STYLES.keys()
    for edge in PRODUCT.edges:
        dashed = picture.of_edge(edge).get("style") == '"dashed"'
        assert dashed == edge.source.port.startswith("ref")


def boxes(graph):
    """The names of the nodes in each box, by its label."""
    found = {}
    for line in Picture(graph).boxes():
        if "label=" in line:
            inside = found.setdefault(line.partition(";")[0].strip(), [])
        elif line.strip().startswith('"'):
            inside.append(line.strip('"; '))
    return found


def test_the_box_of_a_loop_has_the_blocks_that_go_through_it():
    assert boxes(PRODUCT) == {
        'label="loop i"': ["scan_B_i", "repeat_C_i"],
        'label="loop k"': ["scan_B_k", "scan_C_k", "intersect_k"],
        'label="loop j"': ["scan_C_j", "repeat_B_j"],
    }
    copied = custard.compile("X(i,j) = B(i,j)").graph
    assert boxes(copied) == {'label="loop i"': ["scan_B_i"], 'label="loop j"': ["scan_B_j"]}


def test_each_lane_has_a_box():
    schedule = ["parallelize(i, Lanes, 2)"]
    graph = custard.compile("y(i) = A(i,j) * x(j)", schedule=schedule).graph
    lines = Picture(graph).boxes()
    assert any('"lane 0 of i"' in line for line in lines)
    assert any('"lane 1 of i"' in line for line in lines)


def test_lanes_in_lanes_have_boxes_of_their_own():
    schedule = ["reorder(i,k,j)", "parallelize(i,Lanes,2)", "parallelize(k,Lanes,2)"]
    graph = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule=schedule).graph
    lines = Picture(graph).boxes()
    inner = [n for n, line in enumerate(lines) if "cluster_lane_i_1_k_0" in line]
    assert len(inner) == 1
    rest = lines[inner[0] :]
    box = rest[: rest.index("    }")]
    assert any('"scan_C_j_3"' in line for line in box)
    assert not any('"scan_C_j"' in line for line in box)
    assert sum('"lane 0 of k"' in line for line in lines) == 2


def test_a_graph_that_is_not_sound_has_no_boxes():
    from dataclasses import replace

    torn = replace(PRODUCT, edges=PRODUCT.edges[1:])
    assert Picture(torn).boxes() == []
