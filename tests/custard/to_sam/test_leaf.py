"""Accesses in graphs: scanned, located, by words, or through a window; a number has an array."""

import numpy as np
import pytest

import custard
from custard import UserError


def kinds(text, formats=None, schedule=()):
    """The kinds of the blocks that the graph of an expression has, by the names of nodes."""
    graph = custard.compile(text, formats, schedule).graph
    return {node.name: node.kind for node in graph.nodes}


def test_a_level_is_scanned_and_the_values_are_loaded():
    found = kinds("y(i) = b(i)")
    assert (found["scan_b_i"], found["array_b"]) == ("level_scanner", "array")


def test_levels_in_the_order_of_storage():
    found = kinds("X(i,j) = B(i,j)", {"B": "ss:1,0", "X": "ss:1,0"}, ["reorder(j,i)"])
    assert {"scan_B_i", "scan_B_j"} <= {*found}


def test_a_bitvector_that_meets_another_is_scanned_by_words():
    found = kinds("y(i) = b(i) * c(i)", {"b": "b", "c": "b"})
    assert "bitvector_scanner" in found.values()


def test_computed_subscripts_have_scanners_of_their_own():
    found = kinds("y(i) = x(i+k) * f(k)")
    assert {"window_scanner", "subsection_scanner"} & {*found.values()}


def test_a_form_in_a_dense_level_is_an_address():
    found = kinds("y(i) = x(i+k) * f(k)", {"x": "d"})
    assert "affine_unit" in found.values()
    assert "window_scanner" not in found.values()


def test_a_window_takes_no_skips():
    with pytest.raises(UserError) as error:
        custard.compile("y(i) = X(i+k) * F(k)", {}, "skip(X,k)")
    assert error.value.what == (
        "X cannot be skipped through at k: its subscript i+k is computed, and a window scanner "
        "takes no skips"
    )


def test_the_values_are_those_of_the_access():
    x = np.array([1.0, 0, 2, 3, 0, 4])
    found = custard.compile("y(i) = x(2*i+1)").run({"x": x}, engine="simpy")
    assert found.to_numpy().tolist() == [0, 3, 4]
