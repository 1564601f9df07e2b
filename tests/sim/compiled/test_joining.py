"""Legs that are put together, and memories that are covered."""

import numpy as np
import pytest

from sim.compiled.cut import Cut, lead
from sim.compiled.engine import CompiledRun
from sim.compiled.gate import WITHOUT_END
from sim.compiled.joining import Leg, cover, join, untouched
from sim.compiled.objects import items
from tests.sim.compiled.test_cut import B, C, held
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def test_a_change_of_a_covered_memory_is_seen():
    machine = held("ijk", 20, "dd")
    start = Cut.of(machine)
    cover(machine)
    assert untouched(machine, start)
    [(_, made, _)] = machine.objects.grown
    items(made, np.dtype(float))[3] = 0
    assert not untouched(machine, start)
    machine.close()


@pytest.mark.parametrize("result", ["dd", "ds", "ss"])
def test_two_legs_are_one_run(result):
    runs = [CompiledRun(held("ijk", after, result)) for after in (0, 20)]
    cuts = [Cut.of(run.machine) for run in runs]
    cover(runs[1].machine)
    runs[1].machine.allow(WITHOUT_END)
    runs[1].go_on()
    second = Leg(runs[1], cuts[1], Cut.of(runs[1].machine), lead(runs[0].machine, *cuts))
    join([Leg(runs[0], None, cuts[0]), second])
    joined = runs[1].report()
    runs[0].machine.allow(WITHOUT_END)
    runs[0].go_on()
    whole = runs[0].report()
    assert (joined.cycles, joined.blocks, joined.streams) == (
        whole.cycles,
        whole.blocks,
        whole.streams,
    )
    assert joined.output.format == whole.output.format
    assert joined.output.to_numpy() == pytest.approx(np.asarray((B @ C).todense()))
    for run in runs:
        run.close()
