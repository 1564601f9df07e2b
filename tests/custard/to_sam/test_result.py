"""How results are written."""

import numpy as np
import pytest

import custard


def writers(text, formats, schedule=()):
    graph = custard.compile(text, formats, schedule).graph
    return [node.parameters["format"] for node in graph.nodes if node.kind == "level_writer"]


def test_a_writer_for_each_level():
    assert writers("X(i,j) = B(i,j)", {"X": "ds"}) == ["d", "s"]
    assert writers("y = x(i)", {}) == []


@pytest.mark.parametrize("levels", ["ss", "ds", "sd", "dd", "uq", "hh", "bb", "dl", "sh"])
def test_results_in_any_format(levels):
    b = np.array([[0, 1.0, 0], [0, 0, 0], [2.0, 0, 3.0]])
    found = custard.compile("X(i,j) = B(i,j)", {"X": levels}).run({"B": b}, engine="simpy")
    assert found.format.startswith(f"{levels}:")
    assert found.to_numpy().tolist() == b.tolist()
    found.validate()


def test_a_result_in_another_order_than_the_loops():
    b = np.arange(6.0).reshape(2, 3)
    program = custard.compile("X(j,i) = B(i,j)", {"X": "ss:0,1"}, ["reorder(i,j)"])
    assert program.run({"B": b}, engine="simpy").to_numpy().tolist() == b.T.tolist()


def test_a_diagonal_result():
    program = custard.compile("X(i,i) = x(i)")
    assert program.run({"x": np.array([1.0, 2.0])}, engine="simpy").to_numpy().tolist() == [
        [1, 0],
        [0, 2],
    ]


def test_values_of_a_scattered_sum_are_added_where_they_are_stored():
    program = custard.compile("y(j) = A(i,j)", {"y": "d"}, ["reorder(i,j)"])
    a = np.arange(6.0).reshape(2, 3)
    assert program.run({"A": a}, engine="simpy").to_numpy().tolist() == a.sum(0).tolist()
