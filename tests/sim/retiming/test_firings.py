"""A run without time: its result, its tokens by kind, and the codes of all firings."""

from contextlib import closing

import numpy as np
import pytest

import custard
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import elaborate
from sim.retiming.codes import unpack
from sim.retiming.firing_kernel import Untraceable
from sim.retiming.firings import Abandoned, Firings
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

PRODUCT = custard.compile("x(i) = b(i) * c(i)", {"b": "s", "c": "s", "x": "s"})
INPUTS = {"b": np.array([1.0, 0, 2, 3]), "c": np.array([0, 5.0, 7, 11])}


def machine(program=PRODUCT, inputs=INPUTS, config=None):
    return elaborate(bind(program.graph, inputs), load(None, config))


def test_the_result_the_tokens_and_the_firings_are_those_of_a_run():
    run = PRODUCT.simulate(INPUTS, engine="simpy")
    with closing(Firings(machine(), 1 << 20)) as firings:
        firings.run()
        assert firings.done
        assert firings.whole
        assert firings.output[0].to_numpy().tolist() == [0, 0, 14, 33]
        for one in firings.parts:
            name = one.part.name
            outputs = [port.name for port in one.part.outputs if port.name != "handover"]
            told = dict(zip(outputs, one.tokens, strict=False))
            assert told == run.blocks[name].tokens
            assert sum(times for _, times in unpack(one.packed)) == one.block.fired
            assert one.block.fired == run.blocks[name].fired


def test_a_run_stops_at_the_limit_of_codes():
    size = 50_000
    inputs = {"b": np.ones(size), "c": np.ones(size) * (np.arange(size) % 3 > 0)}
    with closing(Firings(machine(inputs=inputs), 1)) as firings:
        firings.run()
        assert not firings.done
        assert firings.scheduled.packed >= 1
    with closing(Firings(machine(inputs=inputs), 1 << 30)) as firings:
        firings.run()
        assert firings.done


def test_wires_are_refused():
    skips = custard.compile("x(i) = b(i) * c(i)", {"b": "s", "c": "s", "x": "s"}, ["skip(b,i)"])
    with pytest.raises(Untraceable):
        Firings(machine(skips), 1 << 20)


def test_a_run_that_fails_is_abandoned():
    few = {"blocks.capacity": 3}
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)"])
    inputs = {"B": np.tri(5), "C": np.tri(5)}
    with closing(Firings(machine(program, inputs, few), 1 << 20)) as firings:
        with pytest.raises(Abandoned):
            firings.run()
        assert not firings.done
