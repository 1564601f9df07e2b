"""The kernel that runs a block without time: what its C notes of each firing."""

from types import SimpleNamespace

import pytest

from sam.memory_regions import Region
from sim.retiming.firing_kernel import Event, FiringEnd, Untraceable, firing_kernel
from tests.support.steps import FORWARD, MERGE, REPEAT, translated


def made(body, inputs, outputs, **more):
    return firing_kernel(translated(body, **more).body, inputs, outputs)


def test_a_bit_for_each_wait_and_each_group_of_inputs():
    """The firing is written for data, and for any tokens: each of its waits has two bits."""
    found = made(FORWARD, [FiringEnd((0,))], [FiringEnd((0,))], ports=("a", "crd"))
    assert found.events == (
        Event("take", (0,)),
        Event("wait", (0,)),
        Event("give", (0,)),
        Event("wait", (0,)),
        Event("give", (0,)),
    )
    assert "PATH(low, 0, 1)" in found.source
    assert "PEEK_DATA0 PATH(low, 1, 1)" in found.source
    assert "PEEK0 PATH(low, 3, 1)" in found.source
    assert "any_tokens:;" in found.source


def test_inputs_that_move_together_share_a_bit():
    body = "p.a.peek()\np.b.peek()\np.a.take()\np.b.take()"
    found = made(body, [FiringEnd((0, 1))], [], ports=("a", "b"))
    assert Event("take", (0, 1)) in found.events
    assert found.source.count("iq0->columns") == 2
    assert "PEEK_DATA1" in found.source.partition("int64_t fire")[0]
    assert "PEEK_DATA1 " not in found.source.partition("int64_t fire")[2]


def test_inputs_that_move_alone_have_bits_of_their_own():
    found = made(
        MERGE, [FiringEnd((0,)), FiringEnd((1,))], [FiringEnd((0,))], ports=("a", "b", "crd")
    )
    assert found.events[:2] == (Event("take", (0,)), Event("take", (1,)))


def test_a_handover_has_room_for_one_and_is_given_to_at_once():
    found = made(FORWARD, [FiringEnd((0,))], [FiringEnd((0,), handover=True)], ports=("a", "crd"))
    assert "if (ROOM_IN(0) == 0) { b->which = 0; oq0->crowds = 1; goto blocked; }" in found.source
    assert "blocked:" in found.source
    assert "ROOM_IN(0) < most" not in found.source
    wide = made(FORWARD, [FiringEnd((0,))], [FiringEnd((0,))], ports=("a", "crd")).source
    assert "if (ROOM_IN(0) < most) most = ROOM_IN(0);" in wide
    assert "blocked:" not in wide


def test_a_block_that_hands_over_keeps_its_state():
    more = {"state": {"left": 0}, "ports": ("a", "crd")}
    found = made(REPEAT, [FiringEnd((0,))], [FiringEnd((0,), handover=True)], **more)
    assert "os_left = s_left;" in found.source
    assert "s_left = os_left;" in found.source.partition("blocked:")[2]


def test_wires_and_waits_in_loops_have_no_codes():
    wire = "kind, value = p.told.latest()\np.a.peek()\np.a.take()"
    with pytest.raises(Untraceable, match="wire"):
        made(
            wire, [FiringEnd((0,)), FiringEnd((1,)), FiringEnd((2,))], [], ports=("a", "b", "told")
        )
    loop = "while s.n < 3:\n    p.crd.give(0, 1)\n    s.n = s.n + 1"
    with pytest.raises(Untraceable, match="waits in a loop"):
        made(loop, [], [FiringEnd((0,))], state={"n": 0}, ports=("crd",))


MEMORY = {"state": {"n": 0}, "memory": SimpleNamespace(region=Region("A", 0, "crd"))}


def touching(body, handover=False):
    """The kernel of a step that touches memory between taking a token and giving one."""
    body = f"p.a.peek()\n{body}\np.a.take()\np.crd.give(0, 1)"
    outputs = [FiringEnd((0,), handover=handover)]
    return made(body, [FiringEnd((0,))], outputs, ports=("a", "crd"), **MEMORY)


def test_entries_of_memory_that_a_firing_touches():
    found = touching("p.memory.write(m.region, s.n)")
    assert Event("write", (0,)) in found.events
    assert "TOUCHED(s_n) PATH(low, " in found.source


def test_entries_that_are_touched_in_a_loop_are_noted_behind_their_number():
    found = touching("while s.n < 3:\n    p.memory.read(m.region, s.n)\n    s.n = s.n + 1")
    bit = found.events.index(Event("read", (0,), many=True))
    assert f"TOUCHED_AMONG(low, {bit}, s_n) PATH(low, {bit}, 1)" in found.source


def test_touches_that_have_no_codes():
    two = "while s.n < 3:\n    p.memory.read(m.region, s.n)\n    p.memory.read(m.region, 0)"
    with pytest.raises(Untraceable, match="two entries in each round of a loop"):
        touching(f"{two}\n    s.n = s.n + 1")
    with pytest.raises(Untraceable, match="half of a block touches memory"):
        touching("p.memory.read(m.region, 0)", handover=True)
