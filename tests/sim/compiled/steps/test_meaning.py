"""Steps of a user's own blocks mean in C what they mean in Python."""

import pytest

import sim
from sam.blocks import KINDS, StreamError
from sam.blocks.base import Block, Kind, into, out
from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sam.token import format_stream
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def stepped(step, tokens, state, engine):
    """The stream that a block of one's own gives: one input, one output, of values."""
    ports = (into("in_val", "val"), out("val", "val"))
    KINDS["one's own"] = Kind("one's own", None, lambda parameters: Block(ports, step, state))
    try:
        graph = Graph(
            nodes=(
                Node("from", "source", {"stream": "val", "depth": 1, "tokens": tokens}),
                Node("block", "one's own"),
                Node("to", "sink"),
            ),
            edges=(
                Edge(End("from", "val"), End("block", "in_val")),
                Edge(End("block", "val"), End("to", "in_stream")),
            ),
        )
        run = sim.simulate(graph, engine=engine, validate=False)
        return format_stream(run.sinks["to"])
    finally:
        del KINDS["one's own"]


def truths(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    if s.count and s.on:
        s.count = s.count - 1
        p.val.give(kind, value)
    elif kind != 0 or not (s.count and value > 100):
        p.val.give(kind, value)
    s.on = s.count > 1 or not s.on
    return True if kind == 3 else None


def whole(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    if kind == 0:
        s.a = s.a - 3
        bits = (s.a + 100 << 33) + (s.a + 100 >> 1 & 12 | 1)
        p.val.give(kind, value + s.a // s.b * 100 + s.a % s.b * 10 + bits % 7 + bits // 8 % 5)
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def divides_by_zero(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    p.val.give(kind, value + (kind + 5) % s.a)
    return True if kind == 3 else None


def swaps(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    s.a, s.b = s.b, s.a
    p.val.give(kind, value + s.a * 100 + bump(s, s.b) if kind == 0 else value)
    return True if kind == 3 else None


def swaps_apart(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    s.a, s.b = s.b, s.a
    total = s.a * 100 + bump(s, s.b)
    if kind == 0:
        p.val.give(kind, value + total)
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def bump(s, amount):
    s.a += 1
    s.b += 1
    return s.a + amount


def widest(p, s, m):
    kind, value = p.in_val.peek()
    p.in_val.take()
    if kind == 0:
        p.val.give(kind, max(value, 0.25, min(value, 2.75)))
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def one_behind(p, s, m):
    """Mostly it holds a value back, and gives the one before."""
    kind, value = p.in_val.peek()
    if kind != 0 and s.holding:
        p.val.give(0, s.held)
        s.holding = False
        return None
    p.in_val.take()
    if kind == 0:
        if s.holding:
            p.val.give(0, s.held)
        s.held = value
        s.holding = True
    else:
        p.val.give(kind, value)
    return True if kind == 3 else None


def on_and_off(p, s, m):
    """A state that most firings leave, but not all."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    if not s.on:
        s.on = True
        s.mask = 5
        more = 10
    else:
        more = (0 if s.mask == 5 else 20) + (0 if s.on else 50)
    s.mask = 7 if s.on and value > 3 else s.mask
    more = more + s.mask.bit_count() + s.mask // 2 % 3
    s.on = s.on and value != 3.5
    p.val.give(kind, value + more if kind == 0 else value)
    return True if kind == 3 else None


def loops(p, s, m):
    """A value known ahead of a loop may change in it."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    s.rounds = 0
    total = 0
    while s.rounds < 3:
        total = total + s.rounds
        s.rounds = s.rounds + 1
    s.most = s.rounds > 2
    if s.most:
        total = total + 100
    p.val.give(kind, value + total if kind == 0 else value)
    return True if kind == 3 else None


@pytest.mark.parametrize(
    ("step", "state"),
    [
        (one_behind, {"holding": False, "held": 0.0}),
        (on_and_off, {"on": False, "mask": 0}),
        (loops, {"rounds": 9, "most": False}),
        (truths, {"count": 2, "on": True}),
        (swaps_apart, {"a": 1, "b": 5}),
        (widest, {}),
        (whole, {"a": 0, "b": 4}),
        (whole, {"a": 0, "b": -4}),
    ],
)
def test_steps_mean_in_c_what_they_mean_in_python(step, state):
    many = ", ".join(str(n / 4) for n in range(30))
    tokens = f"1.5, 2.5, 0.125, S0, 3.5, S0, {many}, S0, D"
    assert stepped(step, tokens, state, "compiled") == stepped(step, tokens, state, "simpy")


def test_a_division_by_zero_ends_the_run():
    with pytest.raises(StreamError, match="a division by zero"):
        stepped(divides_by_zero, "1.5, S0, D", {"a": 0}, "compiled")


def test_a_step_that_might_mean_something_else_in_c_is_refused():
    with pytest.raises(UserError) as caught:
        stepped(swaps, "1.5, S0, D", {"a": 1, "b": 5}, "compiled")
    assert str(caught.value) == (
        "swaps, in `p.val.give(kind, value + s.a * 100 + bump(s, s.b) if kind == 0 else value)`: "
        "value + s.a * 100 + bump(s, s.b) in an arm of a conditional expression has no "
        "translation to C\nhint: use engine simpy"
    )


def ends_scaled(p, s, m):
    return scaled(p, factor=s.a)


def scaled(p, factor=1):
    kind, value = p.in_val.peek()
    p.in_val.take()
    p.val.give(kind, value * factor if kind == 0 else value)
    return True if kind == 3 else None


def test_arguments_by_keyword_are_refused_where_a_firing_ends_with_a_call():
    with pytest.raises(UserError) as caught:
        stepped(ends_scaled, "1.5, S0, D", {"a": 2}, "compiled")
    assert str(caught.value) == (
        "ends_scaled, in `return scaled(p, factor=s.a)`: an argument by keyword has no "
        "translation to C\nhint: use engine simpy"
    )
