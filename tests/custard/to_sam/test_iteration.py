"""Loops that are entered one by one."""

import numpy as np
import pytest

import custard


def order(text, schedule=()):
    """The scanners of a graph in the order in which they were added."""
    graph = custard.compile(text, schedule=schedule).graph
    return [node.name for node in graph.nodes if node.kind == "level_scanner"]


def test_loops_are_entered_in_their_order():
    assert order("X(i,j) = B(i,k) * C(k,j)", ["reorder(i,k,j)"]) == [
        "scan_B_i",
        "scan_B_k",
        "scan_C_k",
        "scan_C_j",
    ]


def test_a_variable_that_no_operand_has_goes_over_its_dimension():
    graph = custard.compile("y(i) = 2", dims={"i": 3}).graph
    assert "scan_i" in {node.name for node in graph.nodes}
    assert custard.compile("y(i) = 2", dims={"i": 3}).run().to_numpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("loop", ["i", "k"])
def test_lanes_give_the_same_result(lanes, loop):
    random = np.random.default_rng(5)
    b, c = (random.random((2, 5, 5)) < 0.5) * random.integers(1, 9, (2, 5, 5)).astype(float)
    schedule = ["reorder(i,k,j)", *([f"parallelize({loop},Lanes,{lanes})"] if lanes > 1 else [])]
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule=schedule)
    np.testing.assert_allclose(program.run({"B": b, "C": c}).to_numpy(), b @ c)


def test_an_empty_dimension_needs_droppers():
    program = custard.compile("y(i) = A(i,j)")
    assert program.run({"A": np.zeros((3, 0))}).to_numpy().tolist() == [0, 0, 0]
