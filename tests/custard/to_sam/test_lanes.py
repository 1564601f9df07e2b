"""Lanes: what lies in a fiber, copied."""

import custard


def counted(text, schedule, formats=None):
    graph = custard.compile(text, formats, schedule).graph
    found = {}
    for node in graph.nodes:
        found[node.kind] = found.get(node.kind, 0) + 1
    return found


def test_blocks_inside_of_a_dealt_loop_are_copied_and_others_are_not():
    found = counted("y(i) = A(i,j) * x(j)", ["parallelize(i,Lanes,3)"])
    assert (found["parallelizer"], found["serializer"]) == (1, 1)
    assert (found["intersecter"], found["reducer"]) == (3, 3)
    assert found["level_scanner"] == 1 + 2 * 3


def test_a_loop_that_is_summed_over_needs_no_order():
    """Its lanes are added up by one reducer."""
    found = counted("X(i,j) = B(i,k) * C(k,j)", ["reorder(k,i,j)", "parallelize(k,Lanes,2)"])
    assert found["reducer"] == 1
    assert "serializer" not in found


def test_lanes_may_be_in_lanes():
    schedule = ["parallelize(i,Lanes,2)", "parallelize(j,Lanes,2)"]
    found = counted("X(i,j) = B(i,j) * C(i,j)", schedule)
    assert found["parallelizer"] >= 3
    assert found["alu"] == 4
