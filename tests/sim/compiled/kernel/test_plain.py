"""The plain kernel: the C around a firing for the queues at its ends."""

from types import SimpleNamespace

from sam.memory_regions import Region
from tests.support.kernels import kernel, long
from tests.support.steps import FORWARD, MERGE, PORTS, REPEAT

MEMORY = SimpleNamespace(region=Region("A", 0, "crd"))


def plain(body, inputs, outputs, **more):
    """The plain kernel, line by line without indents."""
    text = kernel(body, inputs, outputs, without="all", **more).source()
    return [line.strip() for line in text.splitlines()]


def one(inputs=None, outputs=None, **more):
    return plain(FORWARD, inputs or [long(0)], outputs or [long(0)], ports=("a", "crd"), **more)


def test_there_is_one_firing_and_it_is_for_any_tokens():
    lines = one()
    assert lines.count("FIRED") == 1
    assert "PEEK0" in lines
    assert not any("any_tokens" in line and "#define" not in line for line in lines[-60:])


def test_a_call_of_an_unbounded_queue_ends_with_its_stretch():
    lines = one()
    room = "1024 - (T0 - r0->base)"
    assert f"if (fired + {room} < most) most = fired + {room};" in lines
    assert f"if ({room} <= 0) {{" in lines
    assert "blocked:" not in lines
    assert "Queue *q0 = b->in[0];" in lines
    assert "const int64_t e0 = end_of(q0);" in lines


def test_a_give_looks_for_room_in_a_queue_of_finite_depth():
    lines = one(outputs=[long(0, bounded=True)])
    assert "ROOM0" in lines
    assert "if (T0 - D0 >= H0) { b->port = 1; b->which = 0; goto blocked; } \\" in lines
    assert "blocked:" in lines
    assert not any("r0->base" in line for line in lines)
    assert "#define ROOM0" in one()
    assert "ROOM0" not in one()


def test_a_firing_without_room_leaves_the_state_as_it_was():
    lines = plain(REPEAT, [long(0)], [long(0, bounded=True)], state={"left": 0}, ports=("a", "crd"))
    assert "os_left = s_left;" in lines
    assert lines[lines.index("blocked:") + 3] == "s_left = os_left;"
    unbounded = plain(REPEAT, [long(0)], [long(0)], state={"left": 0}, ports=("a", "crd"))
    assert not any("os_left" in line for line in unbounded)


def test_columns_of_a_queue_move_together():
    body = "p.a.peek()\np.b.peek()\np.a.take()\np.b.take()\np.crd.give(0, 1)\np.val.give(0, 1.5)"
    lines = plain(body, [long(0, 1)], [long(0, 1)])
    assert (
        "out0->control[T0 & 1023] = (now + L0) << 2 | gk0; out0->column0[T0 & 1023] = gv0; "
        "out0->column1[T0 & 1023] = gv1; T0++;" in lines
    )
    assert lines.count("in0->taken[at0] = (uint32_t)now; h0 += 1;") == 1
    assert "PEEK0" in lines
    assert "PEEK1" not in lines
    assert any("int64_t column0[1024 + GAP]; double column1[1024 + GAP];" in line for line in lines)


def test_an_input_may_be_taken_from_or_not():
    lines = plain(
        MERGE.replace("return kind_a == 3", "return None"),
        [long(0), long(1)],
        [long(0)],
        ports=("a", "b", "crd"),
    )
    assert "in0->taken[at0] = (uint32_t)now; h0 += 1;" in lines
    body = "kind, value = p.a.peek()\nif kind == 0:\n    p.a.take()\np.b.peek()\np.b.take()"
    maybe = plain(body, [long(0), long(1)], [], ports=("a", "b"))
    assert "in0->taken[at0] = (uint32_t)now; h0 += take0;" in maybe


def test_the_last_firing_ends_the_block():
    assert "if (last) goto finished; continue;" in one()
    assert "goto finished;" in plain("return True", [], [], ports=())


def test_a_wire_is_read_before_the_firing_and_not_after_the_limit():
    wire = {**PORTS, "told": PORTS["told"].__class__("told", 0, "int64_t", wire=True)}
    body = "kind, value = p.told.latest()\np.crd.give(kind, value)\nreturn True"
    from tests.support import steps

    steps.PORTS, kept = wire, steps.PORTS
    try:
        lines = plain(body, [long(0, wire=True)], [long(0)], ports=("told", "crd"))
    finally:
        steps.PORTS = kept
    limit = lines.index("if (ready > limit) { b->key = ready; b->asks = 0; goto ordered; }")
    assert lines[limit + 1] == ("for (; h0 != e0 && in0->control[h0 & 1023] >> 2 <= ready; h0++) {")
    assert "ordered:" in lines
    assert "state->k0 = k0;" in lines


def test_a_firing_that_touches_memory_keeps_when_its_tokens_are_made():
    body = (
        "kind, value = p.a.peek()\np.memory.read(m.region, value)\np.a.take()\np.crd.give(kind, 1)"
    )
    lines = plain(body, [long(0)], [long(0)], ports=("a", "crd"), memory=MEMORY)
    assert "TOUCH(0, step0_value, 0)" in lines
    assert any(line.endswith("out0->stamps[T0 & 1023] = (uint32_t)now; T0++;") for line in lines)
    assert "b->made = made;" in lines
    assert "ordered:" in lines
