"""Sections of YAML files, and mistakes in them."""

import numpy as np
import pytest

from sam.support.errors import UserError
from sam.support.yaml_sections import Count, Depth, Limit, Positive, Section, Text, validated


class Queue(Section):
    depth: Depth = "unbounded"
    name: Text = "q"


class Machine(Section):
    cores: Count
    clock: Positive = 1.0
    room: Limit = 4
    queue: Queue = Queue()


def test_sections_are_read():
    found = validated(Machine, {"cores": 2, "queue": {"depth": 8}}, "m.yaml")
    assert (found.cores, found.clock, found.queue.depth, found.room) == (2, 1.0, 8, 4)
    assert validated(Machine, {"cores": np.int64(3), "room": "unbounded"}, "m").cores == 3


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({}, "m.yaml: cores is missing"),
        ({"cores": 0}, "m.yaml: cores is 0; it must be a whole number of at least 1"),
        ({"cores": True}, "m.yaml: cores is true; it must be a whole number of at least 1"),
        ({"cores": 1, "clock": 0}, "m.yaml: clock is 0; it must be a number greater than 0"),
        ({"cores": 1, "core": 1}, 'm.yaml: unknown key "core"\nhint: did you mean cores?'),
        (
            {"cores": 1, "queue": {"deph": 1}},
            'm.yaml: unknown key "queue.deph"\nhint: did you mean depth?',
        ),
        (
            {"cores": 1, "queue": 7},
            "m.yaml: queue is 7; it must be a section of keys and values",
        ),
        (
            {"cores": 1, "queue": {1: 2}},
            "m.yaml: queue has the key 1, which is not text: put it in quotes",
        ),
        (
            {"cores": 1, "room": "many"},
            'm.yaml: room is "many"; it must be a whole number of at least 1, or "unbounded"',
        ),
        (
            {"cores": 1, "queue": {"depth": 10**7}},
            'm.yaml: queue.depth is 10000000; it must be at most 1000000, or "unbounded"',
        ),
        ({"cores": 1, "queue": {"name": 3}}, "m.yaml: queue.name is 3; it must be text"),
        (5, "m.yaml: it is 5; it must be a section of keys and values"),
    ],
)
def test_mistakes_name_the_file_and_the_key(data, error):
    with pytest.raises(UserError) as caught:
        validated(Machine, data, "m.yaml")
    assert str(caught.value) == error
