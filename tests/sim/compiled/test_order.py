"""The order of service in C is that of the reference engine, with large numbers too."""

import numpy as np

import custard
from sim.order_of_service import firings_of
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def same_order(program, inputs, overrides):
    """The order of a run, which both engines note, and keep to the same statistics."""
    one, other = (
        program.simulate(inputs, overrides=overrides, engine=engine, attribution=True)
        for engine in ("compiled", "simpy")
    )
    [order], [due] = one.orders, other.orders
    assert order.askers == due.askers
    np.testing.assert_array_equal(order.requests, due.requests)
    for number, reads in due.reads.items():
        np.testing.assert_array_equal(order.reads[number], reads)
    for run in (one, other):
        kept = run.again(config=run.config, orders=run.orders)
        assert kept.cycles == one.cycles
        assert kept.blocks == one.blocks
        assert kept.memory == one.memory
    return order


def test_hundreds_of_requests_of_one_block_in_a_row():
    """The writer gets values when all 600 have been loaded: 255, 255 and 90 requests in a row."""
    program = custard.compile("x(i) = b(i)", {"b": "d", "x": "d"})
    overrides = {
        "memory.levels": [{"name": "DRAM", "latency_cycles": 1}],
        "blocks.names.array_b.latency_cycles": 5000,
    }
    order = same_order(program, {"b": np.ones(600)}, overrides)
    load, store = (order.askers.index(name) for name in ("array_b", "write_x_vals"))
    rows = [255, 255, 90]
    assert order.requests.tolist() == [load << 8 | n for n in rows] + [store << 8 | n for n in rows]


def test_hundreds_of_firings_between_two_messages():
    """c has each other coordinate, which the scanner of b is told of some 400 cycles too late."""
    program = custard.compile("x = b(i) * c(i)", {"b": "s", "c": "s"}, ["skip(b,i)"])
    overrides = {"queues.names.scan_b_i.in_skip.latency_cycles": 400}
    inputs = {"b": np.ones(900), "c": 1.0 * (np.arange(900) % 2 == 0)}
    [reads] = same_order(program, inputs, overrides).reads.values()
    assert reads[0] == 255
    assert 400 <= next(firings_of(reads)) < 410
