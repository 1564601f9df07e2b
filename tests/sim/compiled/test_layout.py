"""A machine laid out for C: who shares a queue."""

import numpy as np

import custard
from sim.binding import bind
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def test_streams_that_move_together_share_a_queue():
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)"])
    inputs = {"B": np.eye(3), "C": np.eye(3)}

    def shared(config):
        machine = CompiledMachine(bind(program.graph, inputs), load(None, config))
        try:
            groups = {tuple(map(str, channel.edges)) for channel in machine.channels.values()}
            return sorted(group for group in groups if len(group) > 1)
        finally:
            machine.close()

    vector = ("reduce_k.crd0 -> drop_i.in_inner_crd", "reduce_k.val -> drop_i.in_inner_val")
    assert shared({}) == [
        vector,
        ("scan_B_k.crd -> intersect_k.in_crd0", "scan_B_k.ref -> intersect_k.in_ref0_0"),
        ("scan_C_k.crd -> intersect_k.in_crd1", "scan_C_k.ref -> intersect_k.in_ref1_0"),
    ]
    assert shared({"queues.kinds.ref.depth": 2}) == [vector]
    assert shared({"queues.kinds.crd.latency_cycles": 2}) == []


def test_nothing_is_in_a_queue_before_the_run():
    program = custard.compile("x(i) = b(i) * c(i)", {"b": "s", "c": "s"})
    machine = CompiledMachine(bind(program.graph, {"b": np.ones(2), "c": np.ones(2)}), load(None))
    try:
        assert {*machine.held().values()} == {0}
        assert machine.last_cycle() == -1
    finally:
        machine.close()
