"""When a machine goes on for ever; blocks that do so are in ``tests/sim/test_endless.py``."""

from contextlib import closing

import numpy as np
import pytest

import custard
from sam.support.errors import UserError
from sim.binding import bind
from sim.compiled.engine import CompiledRun
from sim.compiled.layout import CompiledMachine
from sim.compiled.standstill import Standstill
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def test_a_part_repeats_if_it_has_fired_and_all_else_is_as_before():
    """Firings alone tell, after two looks; a token taken or another state clears the part."""
    program = custard.compile("y(i) = 2 * b(i)")
    machine = CompiledMachine(bind(program.graph, {"b": np.arange(1.0, 7)}), load(None))
    with closing(CompiledRun(machine)):
        standstill = Standstill(machine)
        for _ in range(3):
            standstill.require_progress()  # none has fired
        array = machine.by_name["array_b"]
        for _ in range(3):
            array.block.fired += 1
            array.queues_in[0].queue.head += 1
            standstill.require_progress()
        for _ in range(2):
            array.block.fired += 1
            if array.queues_in[0].queue.head == 3:
                array.queues_in[0].queue.head = 0
            standstill.require_progress()
        array.block.fired += 1
        with pytest.raises(UserError, match="no progress: array_b fires again and again"):
            standstill.require_progress()
