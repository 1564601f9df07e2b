"""Linked lists in C."""

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Linked
from tests.support.interpreted import StoredLevel, place_of


def test_each_node_tells_the_next_one():
    """Nodes 2 and 0 are the list of parent 0, node 1 that of parent 2; parent 1 has none."""
    lists = Linked(np.array([2, -1, 1]), np.array([-1, -1, 0]), np.array([5, 3, 1]))
    level = StoredLevel(lists, 6)
    found = [level.scanned(place_of(n)) for n in range(3)]
    assert found == [[(1, 2), (5, 0)], [], [(3, 1)]]
    assert level.merged(place_of(0)) == [(1, 2), (5, 0)]


def test_the_number_of_nodes_is_not_known():
    lists = Linked(np.array([0]), np.array([-1]), np.array([1]))
    assert StoredLevel(lists, 6).functions.positions(Const(1)) is None
