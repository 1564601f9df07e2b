"""Run-length levels in C."""

from dataclasses import replace

import numpy as np

from custard.to_c.loop_ir import Const
from sam.levels import Entries, RunLength
from tests.support.interpreted import StoredLevel, evaluated, place_of

# Rows (0, 1, 3), () and (1, 2): three runs.
RUNS, _ = RunLength.build(Entries(np.array([0, 0, 0, 2, 2]), np.array([0, 1, 3, 1, 2]), 3, 4))


def test_runs_are_gone_through_one_after_the_other():
    level = StoredLevel(RUNS, 4)
    found = [level.scanned(place_of(row)) for row in range(3)]
    assert found == [[(0, 0), (1, 1), (3, 2)], [], [(1, 3), (2, 4)]]
    assert [level.merged(place_of(row)) for row in range(3)] == found
    assert evaluated(level.functions.positions(Const(3)), level.names) == 5


def test_a_merge_may_begin_further_on():
    level = StoredLevel(RUNS, 4)
    assert level.merged(place_of(0), low=1) == [(1, 1), (3, 2)]
    assert level.merged(place_of(0), low=2) == [(3, 2)]
    assert level.merged(place_of(2), low=0) == [(1, 3), (2, 4)]


def test_a_fiber_knows_its_length_and_may_begin_at_a_run():
    level = StoredLevel(RUNS, 4)
    for row, length in enumerate((3, 0, 2)):
        fiber = level.functions.iterate(place_of(row), 0, True, True)
        assert evaluated(fiber.length(), level.names) == length
    assert fiber.mark == fiber.run
    marked = replace(place_of(0), begin=Const(1))
    assert level.merged(marked, low=3) == [(3, 2)]
