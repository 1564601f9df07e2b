"""When a machine goes on for ever; blocks that do so are in ``tests/sim/test_endless.py``."""

from contextlib import closing

import numpy as np
import pytest

import custard
from sam.support.errors import UserError
from sim.binding import bind
from sim.compiled.engine import CompiledRun
from sim.compiled.layout import CompiledMachine
from sim.compiled.standstill import OBSERVED, Standstill
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
            assert standstill.look() == 0  # none has fired
        array = machine.by_name["array_b"]
        for _ in range(3):
            array.block.fired += 1
            array.queues_in[0].queue.head += 1
            assert standstill.look() == 0
        array.block.fired += 1
        assert standstill.look() == OBSERVED
        standstill.observe()  # it has not fired since
        array.block.fired += 1
        standstill.observe()
        standstill.observe()
        array.block.fired += 1
        array.queues_in[0].queue.head += 1
        standstill.observe()
        array.queues_in[0].queue.head -= 1
        with pytest.raises(UserError, match="no progress: array_b fires again and again"):
            standstill.observe()


def test_a_part_is_compared_with_its_first_second_and_fourth_look():
    program = custard.compile("y(i) = 2 * b(i)")
    machine = CompiledMachine(bind(program.graph, {"b": np.arange(1.0, 7)}), load(None))
    with closing(CompiledRun(machine)):
        standstill = Standstill(machine)
        standstill.look()
        array, kept = machine.by_name["array_b"], []
        for _ in range(5):
            array.block.fired += 1
            standstill.look()
            kept.append(standstill.suspects["array_b"].fired)
        assert kept == [1, 2, 2, 4, 4]
