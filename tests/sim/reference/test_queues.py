"""When a token becomes visible, and when room becomes usable."""

from functools import partial

import simpy

from sam.graph import Edge, End
from sam.token import DATA, EMPTY
from sim.machine import Channel
from sim.reference.queues import KeptWire, Queue, WatchedQueue, Wire


def made(kind=Queue, depth=2, latency=3):
    """A queue from a.x to b.y, and the time that it is in."""
    environment = simpy.Environment()
    edge = Edge(End("a", "x"), End("b", "y"))
    channel = Channel(0, edge, "a", "b", depth, latency, None)
    return environment, kind(environment, channel)


def test_a_token_is_visible_a_latency_after_it_is_made():
    environment, queue = made()
    queue.push(DATA, 7, 0)
    environment.run(queue.token_comes())
    assert environment.now == 3


def test_room_of_a_take_is_usable_in_the_next_cycle():
    environment, queue = made(depth=1)
    assert queue.room()
    queue.push(DATA, 7, 0)
    assert not queue.room()
    queue.pop()
    assert not queue.room()
    environment.run(queue.room_comes())
    assert environment.now == 1
    assert queue.room()


def test_a_reader_and_a_writer_wait_for_each_other():
    _, queue = made(depth=1)
    comes = queue.token_comes()
    queue.push(DATA, 7, 0)
    assert comes.triggered
    room = queue.room_comes()
    queue.pop()
    assert room.triggered


def test_the_peak_counts_a_token_that_is_taken_in_the_same_cycle():
    _, queue = made(depth=None)
    for value in range(3):
        queue.push(DATA, value, 0)
    queue.pop()
    queue.push(DATA, 3, 0)
    assert queue.peak == 4
    assert queue.room()


def test_a_validator_is_told():
    _, queue = made(WatchedQueue)
    told = []
    queue.watch = lambda kind, value: told.append((kind, value))
    queue.push(DATA, 7, 0)
    assert told == [(DATA, 7)]


def test_a_wire_keeps_the_newest_visible_message():
    _, wire = made(Wire, depth=None, latency=2)
    assert wire.newest == (EMPTY, 0)
    wire.push(DATA, 5, 0)
    wire.push(DATA, 6, 1)
    for firing, (cycle, newest) in enumerate([(1, (EMPTY, 0)), (2, (DATA, 5)), (9, (DATA, 6))]):
        wire.read(firing, cycle)
        assert wire.newest == newest
    assert wire.read_in == [1, 2]
    assert wire.room()


def test_a_wire_whose_order_is_kept_lets_a_firing_wait_for_its_messages():
    """Firing 1 reads the first two messages, which are visible in cycles 2 and 3, and no third."""
    environment, wire = made(partial(KeptWire, firings=iter([1, 1, 4])), depth=None, latency=2)
    assert not wire.lacks(0)
    assert wire.lacks(1)
    for value, cycle in ((5, 0), (6, 1), (7, 1)):
        wire.push(DATA, value, cycle)
    for now, newest, lacks in ((1, (EMPTY, 0), True), (2, (DATA, 5), True), (3, (DATA, 6), False)):
        environment.run(until=now)
        wire.read(1, 0)
        assert (wire.newest, wire.lacks(1)) == (newest, lacks)
    wire.read(2, 0)
    assert wire.newest == (DATA, 6)
    wire.read(4, 0)
    assert wire.newest == (DATA, 7)
    assert not wire.lacks(5)
