"""What the blocks of a run did over time."""

import numpy as np
import pytest

from sim.attribution.log import Awaited, Log
from sim.attribution.over_time import OverTime
from sim.report_page.timeline import STATES, states, stretch
from tests.support.runs import MEMORY, spmv, waits


@pytest.mark.parametrize(("cycles", "due"), [(0, 1), (1, 1), (128, 1), (129, 2), (1000, 8)])
def test_the_number_of_stretches_is_limited(cycles, due):
    assert stretch(cycles) == due


def test_waits_that_go_over_several_stretches():
    """It starves from 3 up to 9, is blocked from 12 up to 13, and is done after 14."""
    awaited = [Awaited("in", "e", True, 0, 1, 1), Awaited("out", "f", False, 0, 1, 1)]
    one = waits([(3, 9, 0), (12, 13, 1)], awaited, 14)
    log = Log(["block"], [one], 20, OverTime.of(20, {}, []))
    found = {name: cycles.tolist() for name, cycles in states(log, 0, np.arange(0, 21, 5)).items()}
    assert found == {
        "busy": [3, 1, 4, 0],
        "starved": [2, 4, 0, 0],
        "blocked": [0, 0, 1, 0],
        "memory": [0, 0, 0, 0],
        "done": [0, 0, 0, 5],
    }


@pytest.mark.parametrize("overrides", [{}, MEMORY])
def test_stretches_add_up_to_the_statistics(overrides):
    run = spmv(overrides, attribution=True)
    edges = np.append(np.arange(0, run.cycles, 7), run.cycles)
    for n, name in enumerate(run.log.blocks):
        found, block = states(run.log, n, edges), run.blocks[name]
        assert tuple(found) == STATES
        assert found["busy"].sum() == block.busy
        assert found["starved"].sum() == sum(block.starved.values())
        assert found["memory"].sum() == block.memory
        assert found["done"].sum() == block.done
        assert (sum(found.values()) == np.diff(edges)).all()
