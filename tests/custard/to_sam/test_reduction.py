"""Sums over loop variables, and coordinates that then hold nothing."""

import numpy as np

import custard


def nodes(text, formats=None, schedule=()):
    graph = custard.compile(text, formats, schedule).graph
    return {node.name: node for node in graph.nodes}


def test_an_empty_fiber_drops_the_coordinate_that_holds_it():
    found = nodes("y(i) = A(i,j) * x(j)")
    assert found["reduce_j"].parameters["dimensions"] == 0
    assert "drop_i" in found


def test_an_empty_fiber_gives_zero_in_a_dense_result():
    found = nodes("y(i) = A(i,j) * x(j)", {"y": "d", "A": "dd", "x": "d"})
    assert not any(name.startswith("drop_") for name in found)


def test_a_sum_over_an_outer_variable_reduces_tensors():
    found = nodes("X(i,j) = B(i,k) * C(k,j)", schedule=["reorder(i,k,j)"])
    assert found["reduce_k"].parameters["dimensions"] == 1
    found = nodes("X(i,j) = B(i,k) * C(k,j)", schedule=["reorder(k,i,j)"])
    assert found["reduce_k"].parameters["dimensions"] == 2


def test_rows_without_a_product_are_not_stored():
    b = np.array([[1.0, 0], [0, 0], [0, 2.0]])
    c = np.array([[0, 3.0], [0, 0]])
    for order in ("i,j,k", "i,k,j", "k,i,j"):
        formats = dict.fromkeys("XBC", "ss")
        program = custard.compile("X(i,j) = B(i,k) * C(k,j)", formats, [f"reorder({order})"])
        found = program.run({"B": b, "C": c}, engine="simpy")
        assert found.to_numpy().tolist() == (b @ c).tolist()
        assert found.levels[0].coordinates.tolist() == [0]
