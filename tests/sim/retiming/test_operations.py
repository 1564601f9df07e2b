"""What firings move, and how fast tokens pass."""

import numpy as np

import custard
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import elaborate, passage
from sim.retiming.operations import passages_of, shape_of


def test_channels_have_the_passages_of_their_edges():
    bound = bind(custard.compile("x(i) = b(i) * c(i)").graph, {"b": np.ones(3), "c": np.ones(3)})
    plain = load(None, {"queues.depth": 2})
    for keys in (
        {"queues.depth": 4, "queues.kinds.crd.depth": 9, "queues.latency_cycles": 3},
        {"queues.names": {"array_b.val -> multiply.in_val0": {"depth": 7}}},
    ):
        config = load(None, keys)
        machine = elaborate(bound, config)
        found = passages_of([config, plain], machine)
        for one, passages in zip((config, plain), found, strict=True):
            assert passages == [passage(bound, one, n.edge) for n in machine.channels]


def test_a_shape_is_a_number():
    assert shape_of([1, 0, 1, 2]) == ((1 * 256 + 0) * 256 + 1) * 256 + 2
    assert shape_of([256, 0, 0, 0]) == -1
