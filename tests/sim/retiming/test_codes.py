"""Codes of firings: packed and unpacked, and what they stand for."""

from contextlib import closing

import numpy as np

import custard
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import elaborate
from sim.retiming.codes import FiringCode, code_of, unpack
from sim.retiming.firing_kernel import Event
from sim.retiming.firings import Firings
from tests.support.compiler import needs_compiler


def test_bytes_are_codes_and_repetitions():
    assert list(unpack(bytes([3, 3, 224, 0, 226]))) == [(3, 1), (3, 1), (3, 16), (0, 1), (0, 64)]
    assert list(unpack(bytes([222, 223, 44, 1, 225]))) == [(222, 1), (300, 1), (300, 32)]
    assert list(unpack(b"")) == []


def test_a_path_tells_the_waits_in_order():
    events = [
        Event("take", (0, 2)),
        Event("take", (1,)),
        Event("wait", (1,)),
        Event("wait", (0,)),
        Event("give", (0,)),
        Event("wait", (2,)),
    ]
    assert code_of(0b111101, events) == FiringCode(waits=(1, 0, 2), takes=(0, 2), gives=(0,))
    assert code_of(0b000110, events) == FiringCode(waits=(1,), takes=(1,), gives=())


def test_a_path_tells_the_entries_that_are_touched():
    events = [Event("wait", (0,)), Event("read", (3,)), Event("write", (1,), many=True)]
    assert code_of(0b111, events).touches == ((3, False, False), (1, True, True))
    assert code_of(0b001, events).touches == ()


@needs_compiler
def test_codes_of_an_intersecter():
    """b has 0 and 2, c has 1 and 2: b's 0 goes alone, then c's 1, then both, and both are done."""
    program = custard.compile("x(i)=b(i)*c(i)", {"b": "s", "c": "s", "x": "s"})
    bound = bind(program.graph, {"b": np.array([1.0, 0, 1]), "c": np.array([0, 1.0, 1])})
    with closing(Firings(elaborate(bound, load(None)), 1 << 20)) as firings:
        firings.run()
        [one] = [part for part in firings.parts if part.part.node.kind == "intersecter"]
        ports = [port.name for port in one.part.inputs]
        outputs = [port.name for port in one.part.outputs]
        told = [
            (
                [ports[n] for n in one.codes[code].takes],
                [outputs[n] for n in one.codes[code].gives],
            )
            for code, times in unpack(one.packed)
            for _ in range(times)
        ]
    first, second = ["in_crd0", "in_ref0_0"], ["in_crd1", "in_ref1_0"]
    everything = (first + second, ["crd", "ref0_0", "ref1_0"])
    assert [(sorted(takes), sorted(gives)) for takes, gives in told] == [
        (first, []),
        (second, []),
        *[(sorted(everything[0]), everything[1])] * 3,
    ]


@needs_compiler
def test_long_runs_take_few_bytes():
    program = custard.compile("x(i)=b(i)", {"b": "d", "x": "d"})
    bound = bind(program.graph, {"b": np.ones(100_000)})
    with closing(Firings(elaborate(bound, load(None)), 1 << 20)) as firings:
        firings.run()
        assert all(one.block.fired < 2 or len(one.packed) < 2000 for one in firings.parts)
        for one in firings.parts:
            assert sum(times for _, times in unpack(one.packed)) == one.block.fired
        np.testing.assert_array_equal(firings.output[0].to_numpy(), np.ones(100_000))
