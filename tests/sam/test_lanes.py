"""Which blocks of a graph are copies of each other, one in each lane."""

import custard
from sam.lanes import copies, lanes_of


def graph(expression, *schedule):
    return custard.compile(expression, schedule=list(schedule)).graph


def test_blocks_at_the_same_place_in_each_lane_are_copies():
    """Two products in each lane, whose names do not tell the lane."""
    found = copies(graph("y(i) = A(i,j) * x(j) * w(j)", "parallelize(i,Lanes,2)"))
    assert ["multiply", "multiply_3"] in found
    assert ["multiply_2", "multiply_4"] in found
    assert ["intersect_j", "intersect_j_2"] in found
    assert all(len(group) == 2 for group in found)
    assert not {"deal_i", "join_i", "write_y_i"} & {name for group in found for name in group}


def test_lanes_in_lanes():
    nested = graph(
        "X(i,j) = B(i,k) * C(k,j)",
        *("reorder(i,k,j)", "parallelize(i,Lanes,2)", "parallelize(k,Lanes,3)"),
    )
    groups = {group[0]: len(group) for group in copies(nested)}
    assert groups["scan_C_j"] == 6
    assert groups["intersect_k"] == groups["deal_k"] == 2
    assert lanes_of(nested)["deal_k_2"] == ("deal_i", 1)
    assert lanes_of(nested)["scan_C_j_2"] == ("deal_k", 1)
    assert lanes_of(nested)["root"] is None


def test_a_graph_without_lanes_has_no_copies():
    assert copies(graph("x(i) = b(i) * c(i) * d(i)")) == []
