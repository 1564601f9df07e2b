"""Run-length levels."""

import numpy as np

from sam.levels import Entries, RunLength


def test_run_length_stores_runs_without_gaps():
    """Rows (0, 1, 3), () and (1, 2): three runs, with positions 0 to 1, 2, and 3 to 4."""
    level, positions = RunLength.build(
        Entries(np.array([0, 0, 0, 2, 2]), np.array([0, 1, 3, 1, 2]), 3, 4)
    )
    assert level.as_lists().segments == [0, 2, 2, 3]
    assert level.as_lists().starts == [0, 2, 3, 5]
    assert level.as_lists().begins == [0, 3, 1]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert [level.fiber(row) for row in range(3)] == [(0, 3), (3, 3), (3, 5)]
    assert [level.coordinate(0, step) for step in range(3)] == [0, 1, 3]
    level.validate(3, 4)


def test_a_search_reads_a_run_once():
    """Runs of two and of one: their begins and starts."""
    level, _ = RunLength.build(Entries(np.array([0, 0, 0]), np.array([0, 1, 3]), 1, 4))
    assert level.touched_by_move(0, -1, 1) == (("crd", 0, True), ("crd", 1, True))
    assert level.touched_by_move(0, 0, 1) == (("crd", 0, False), ("crd", 1, False))
    assert level.touched_by_move(0, 1, 2) == (("crd", 2, True), ("crd", 3, True))
