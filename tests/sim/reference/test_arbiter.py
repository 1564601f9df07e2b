"""Requests of one cycle are served at its end, in the order of the blocks."""

import simpy

from sim.reference.arbiter import Arbiter


class Hierarchy:
    """Notes requests; each is taken two cycles later, and ready five cycles later."""

    come = None

    def __init__(self):
        self.requests = []

    def request(self, block, now, accesses):
        self.requests.append((now, block, accesses))
        return now + 2, now + 5


def test_requests_are_served_in_the_order_of_the_blocks():
    environment = simpy.Environment()
    arbiter = Arbiter(environment)
    arbiter.hierarchy = Hierarchy()
    served = []

    def asks(block, at):
        yield environment.timeout(at)
        taken, ready, _ = yield arbiter.ask(block, [f"of {block}"])
        served.append((block, taken, ready))

    for block, at in ((2, 1), (0, 1), (1, 0)):
        environment.process(asks(block, at))
    environment.run()
    assert arbiter.hierarchy.requests == [
        (0, 1, ["of 1"]),
        (1, 0, ["of 0"]),
        (1, 2, ["of 2"]),
    ]
    assert served == [(1, 2, 5), (0, 3, 6), (2, 3, 6)]


def test_where_an_order_is_kept_a_request_waits_for_its_turn():
    """Block 2 asks in cycle 1, but block 0 is to be served before it, and asks in cycle 3 only."""
    environment = simpy.Environment()
    arbiter = Arbiter(environment, noted=True, order=iter([1, 0, 2]))
    arbiter.hierarchy = Hierarchy()

    def asks(block, at):
        yield environment.timeout(at)
        yield arbiter.ask(block, [f"of {block}"])

    for block, at in ((2, 1), (0, 3), (1, 0)):
        environment.process(asks(block, at))
    environment.run()
    assert arbiter.hierarchy.requests == [
        (0, 1, ["of 1"]),
        (3, 0, ["of 0"]),
        (3, 2, ["of 2"]),
    ]
    assert arbiter.served == [1, 0, 2]
