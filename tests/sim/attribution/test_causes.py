"""For each firing that waited, the firing that it waited for: a giver and a taker by hand."""

import numpy as np
import pytest

from sim.attribution.causes import NONE, Events
from sim.attribution.log import Awaited, Log, Requests
from sim.attribution.over_time import OverTime
from tests.support.runs import waits

TOKEN = Awaited("in", "give.out -> take.in", True, 0, 2, 1)
ROOM = Awaited("out", "give.out -> take.in", False, 1, 1, 1)


def log(*blocks):
    return Log(["give", "take"], list(blocks), 20, OverTime.of(20, {}, []))


@pytest.fixture
def events():
    """The giver fires in cycles 0 to 3 and 8; the taker waits up to 2, and from 6 up to 10.

    A token is visible two cycles after it is given. The giver waits from 4 up to 8 for room that
    the taker makes in cycle 7, which it does not.
    """
    giver = waits([(4, 8, 0)], [ROOM], 8)
    taker = waits([(0, 2, 0), (6, 10, 0)], [TOKEN], 10)
    return Events(log(giver, taker))


def test_each_block_begins_with_an_event_of_its_own(events):
    assert events.starts.tolist() == [0, 2, 5]
    assert events.block.tolist() == [0, 0, 1, 1, 1]
    assert events.ready.tolist() == [0, 4, 0, 0, 6]
    assert events.fired.tolist() == [0, 8, 0, 2, 10]
    assert events.cause.tolist() == [NONE, 0, NONE, 0, 0]


def test_the_last_event_up_to_a_cycle(events):
    assert events.at(0, np.array([0, 7, 8, 99])).tolist() == [0, 0, 1, 1]
    assert events.at(1, 9) == 3


def test_events_are_grouped_by_the_thing_awaited(events):
    assert [(b, c, e.tolist()) for b, c, e in events.groups()] == [(0, 0, [1]), (1, 0, [3, 4])]


def test_a_token_comes_from_a_firing_a_latency_before(events):
    """The taker's token of cycle 10 was given in 8, when the giver had waited: its event 1."""
    origins = events.origins
    assert origins.cycle.tolist() == [0, 7, 0, 0, 8]
    assert origins.parent.tolist() == [0, 3, 2, 0, 1]
    assert origins.served.tolist() == [NONE] * 5


def column(*numbers):
    return np.array(numbers, np.int64)


def test_a_token_whose_data_came_from_memory_follows_from_the_request():
    """The giver asks in 1, and its data come in 7; the taker sees the token in 9."""
    one, no = column(0), np.array([False])
    request = Requests(
        column(1),
        column(1),
        column(2),
        column(7),
        one,
        no,
        one,
        ~no,
        column(0)[:, None],
        no[:, None],
        column(5)[:, None],
    )
    giver = waits([], [ROOM], 2, request)
    taker = waits([(0, 9, 0)], [TOKEN], 9)
    events = Events(log(giver, taker))
    assert events.asked.tolist() == [0, 1, 0, 9]
    assert events.fired.tolist() == [0, 2, 0, 9]
    assert events.request.tolist() == [NONE, 0, NONE, NONE]
    origins = events.origins
    assert (origins.cycle[3], origins.parent[3], origins.served[3]) == (7, 1, 0)
