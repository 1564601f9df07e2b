"""The report of a machine that has come to a stop."""

from sam.graph import Edge, End
from sim.deadlock import WaitingBlock, deadlock


def edge(source, target):
    return Edge(End(source, "x"), End(target, "in_x"))


def full(source, target, **more):
    return WaitingBlock(edge(source, target), full=True, **more)


def empty(source, target, **more):
    return WaitingBlock(edge(source, target), full=False, **more)


HINT = "hint: make the full queues deeper, as in --set queues.depth=64"


def test_a_waiting_block_and_the_block_it_waits_for():
    assert (full("a", "b").waiting, full("a", "b").awaited) == ("a", "b")
    assert (empty("a", "b").waiting, empty("a", "b").awaited) == ("b", "a")
    assert full("a", "b", giver="a.emitter").waiting == "a.emitter"
    assert empty("a", "b", giver="a.emitter").awaited == "a.emitter"


def test_a_circle_of_two():
    waits = [full("a", "b"), empty("a", "b")]
    other = WaitingBlock(Edge(End("a", "y"), End("b", "in_y")), full=False)
    error = deadlock([waits[0], other], {Edge(End("a", "x"), End("b", "in_x")): 4}, 17)
    assert str(error) == (
        "deadlock after cycle 17: 2 blocks wait for each other\n"
        "  a waits for room on a.x -> b.in_x (full, 4 tokens)\n"
        f"  b waits for a token on a.y -> b.in_y (empty)\n{HINT}"
    )


def test_blocks_outside_the_circle_are_left_out():
    """e waits for d, which waits for c, which waits for b; b and c wait for each other."""
    waits = [empty("d", "e"), empty("c", "d"), empty("b", "c"), full("b", "c")]
    other = WaitingBlock(Edge(End("b", "y"), End("c", "in_y")), full=True)
    error = deadlock([*waits[:3], other], {Edge(End("b", "y"), End("c", "in_y")): 2}, 3)
    assert str(error) == (
        "deadlock after cycle 3: 2 blocks wait for each other\n"
        "  c waits for a token on b.x -> c.in_x (empty)\n"
        f"  b waits for room on b.y -> c.in_y (full, 2 tokens)\n{HINT}"
    )


def test_a_block_that_waits_for_itself():
    error = deadlock([full("a", "a")], {Edge(End("a", "x"), End("a", "in_x")): 1}, 0)
    assert str(error) == (
        "deadlock after cycle 0: a block waits for itself\n"
        f"  a waits for room on a.x -> a.in_x (full, 1 token)\n{HINT}"
    )


def test_waiting_for_a_block_that_is_done():
    error = deadlock([empty("b", "c"), empty("a", "b")], {}, 9)
    assert str(error) == (
        "the simulation stops after cycle 9: b waits for a token on a.x -> b.in_x, and a is done"
    )
