"""Ports, as the kinds of block declare them."""

import pytest

from sam.blocks import KINDS
from sam.blocks.ports import into, out, wire


def test_outputs_may_be_left_unconnected_and_inputs_not():
    assert out("crd", "crd").optional
    assert not into("in_crd", "crd").optional
    assert (into("in_crd", "crd").direction, out("crd", "crd").direction) == ("in", "out")


def test_a_wire_is_an_input_without_a_queue():
    port = wire("in_skip", "crd")
    assert (port.direction, port.wire) == ("in", True)
    assert not into("in_crd", "crd").wire


MADE = {
    "repeater": {"stream": "ref"},
    "intersecter": {"payloads": [["ref"], ["ref", "val"]], "skips": [0]},
    "reducer": {"dimensions": 2},
    "locator": {"slot": "B", "level": 0, "payloads": ["val"]},
    "parallelizer": {"lanes": 2, "streams": ["ref"], "depth": 0},
}


@pytest.mark.parametrize("kind", MADE)
def test_ports_refer_to_ports_of_the_same_block(kind):
    """An output passes on inputs of its block, and references hang below one of them."""
    ports = {port.name: port for port in KINDS[kind].ports(MADE[kind])}
    inputs = {name for name, port in ports.items() if port.direction == "in"}
    for port in ports.values():
        assert {*port.of} <= inputs
        assert port.below is None or port.below in inputs
        assert port.direction == "out" or port.of == ()
    assert len(ports) == len(KINDS[kind].ports(MADE[kind]))
