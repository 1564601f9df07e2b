"""The parts of a figure: the front of a Pareto plot."""

from custard.cli.sweeps.drawing import front


def test_the_front_has_what_no_other_point_beats():
    points = [(4, 9), (2, 9), (1, 12), (3, 7), (3, 8), (5, 7), (6, 1), (1, 12), (1, 13)]
    assert front(points) == [(1, 12), (2, 9), (3, 7), (6, 1)]
    assert front([]) == []
