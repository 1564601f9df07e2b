"""Linked lists."""

import numpy as np

from sam.levels import Linked


def test_nodes_are_appended_to_any_list():
    """To the lists of parents 1, 0, 1, 1: the lists are (1) and (0, 2, 3), parent 2 has none."""
    level = Linked.of(np.array([1, 0, 1, 1]), np.array([3, 7, 5, 8]), 3)
    assert level.heads.tolist() == [1, 0, -1]
    assert level.nexts.tolist() == [2, -1, 3, -1]
    level.validate(3, 9)
    assert [level.fiber(parent) for parent in range(3)] == [(0, 1), (1, 4), (4, 4)]
    assert [level.coordinate(1, step) for step in range(1, 4)] == [3, 5, 8]
    assert [level.position(1, step) for step in range(1, 4)] == [0, 2, 3]
    parents, coordinates = level.trace(np.arange(4))
    assert parents.tolist() == [1, 0, 1, 1]
    assert coordinates.tolist() == [3, 7, 5, 8]
