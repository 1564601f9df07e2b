"""Duplicates that are joined as they are scanned."""

import numpy as np

from sam.levels.deduplicated import joined


def scan(fibers, parent):
    """The coordinates of a fiber with their positions, free steps left out."""
    begin, end = fibers.fiber(parent)
    steps = range(begin, end)
    return [
        (int(fibers.coordinate(parent, n)), int(fibers.position(parent, n)))
        for n in steps
        if fibers.coordinate(parent, n) >= 0
    ]


def test_the_first_of_equal_coordinates_stands_for_all():
    fibers, groups = joined(
        np.array([0]), np.array([5]), np.array([0, 1, 1, 3, 3]), None, segmented=True
    )
    assert scan(fibers, 0) == [(0, 0), (1, 1), (3, 3)]
    assert groups.tolist()[1] == 3
    assert [fibers.key(0, n) for n in range(5)] == [0, 1, 1, 3, 3]
    assert fibers.seek(0, 0, 5, 3) == 3


def test_without_duplicates_there_are_no_groups():
    fibers, groups = joined(
        np.array([0, 2]), np.array([2, 3]), np.array([1, 4, 1]), None, segmented=False
    )
    assert groups is None
    assert [scan(fibers, parent) for parent in (0, 1)] == [[(1, 0), (4, 1)], [(1, 2)]]
    assert "seg" not in fibers.arrays()


def test_the_fiber_of_a_group_has_the_children_of_all():
    """Positions 0 and 1 agree above; their fibers (2) and (2, 5) are one."""
    fibers, _ = joined(
        np.array([0, 1, 3]),
        np.array([1, 3, 4]),
        np.array([2, 2, 5, 7]),
        np.array([2, 2, 3]),
        segmented=True,
    )
    assert scan(fibers, 0) == [(2, 0), (5, 2)]
    assert scan(fibers, 2) == [(7, 3)]
    assert fibers.arrays().keys() == {"seg", "crd"}
