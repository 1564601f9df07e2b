"""The parts and queues of a machine as the compiled engine keeps them."""

import numpy as np
import pytest

import custard
from sim.binding import bind
from sim.compiled.kernel.ends import QueueEnd
from sim.compiled.layout import CompiledMachine
from sim.compiled.parts import PLACES, SHORT
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def machine(overrides=None, schedule=()):
    program = custard.compile("x(i) = b(i) * c(i)", {"b": "s", "c": "s", "x": "s"}, schedule)
    bound = bind(program.graph, {"b": np.eye(4)[0], "c": np.ones(4)})
    found = CompiledMachine(bound, load(None, overrides))
    found.close()
    return found


@pytest.mark.parametrize(
    ("depth", "places", "short"),
    [("unbounded", PLACES, False), (1, 64, True), (SHORT - 1, 128, True), (SHORT, 128, False)],
)
def test_the_places_of_a_queue(depth, places, short):
    """At least four times as many as its depth, so that no place is used again too soon."""
    queues = machine({"queues.depth": depth}).queues
    for shared in queues if depth == "unbounded" else [one for one in queues if one.depth]:
        assert (shared.places, shared.short) == (places, short)
        assert shared.places > 4 * shared.depth


def test_both_ends_of_a_queue_agree():
    for shared in machine({"queues.depth": 2}).queues:
        given, taken = shared.given_to(), shared.taken_from()
        assert isinstance(given, QueueEnd)
        assert (given.ports, taken.ports) == (shared.bundle.givers, shared.bundle.takers)
        assert (given.places, given.short, given.ahead) == (taken.places, taken.short, taken.ahead)


def test_a_part_waits_for_its_inputs_and_then_for_its_outputs_by_queue():
    for one in machine().parts:
        edges = [str(channel.edge) for channel in one.awaited]
        inputs = [str(port.channel.edge) for port in one.part.inputs]
        assert edges[: len(inputs)] == inputs
        assert len(edges) == len(inputs) + len(one.slots)


def test_parts_that_depend_on_time():
    assert not any(one.ordered for one in machine().parts)
    levels = {"memory.levels": [{"name": "DRAM"}]}
    asking = [one for one in machine(levels).parts if one.ordered]
    assert asking
    assert all(one.asks for one in asking)
    skipping = [one for one in machine(schedule=["skip(b,i)"]).parts if one.wires]
    assert [one.part.node.kind for one in skipping] == ["level_scanner"]
    assert all(one.ordered and not one.asks for one in skipping)
