"""What the writers of all level formats share."""

from types import SimpleNamespace

import pytest

from sam.blocks.base import CHILDLESS, CLOSED, FINISHED
from sam.blocks.writers.base import append_to, end, next_parent
from sam.support.errors import StreamError
from sam.token import DONE, STOP


class Ends:
    """A port that keeps the tokens given to it, and counts those taken from it."""

    def __init__(self):
        self.given, self.taken = [], 0

    def give(self, kind, value):
        self.given.append((kind, value))

    def take(self):
        self.taken += 1


@pytest.fixture
def ports():
    return SimpleNamespace(in_crd=Ends(), ref=Ends())


@pytest.mark.parametrize(
    ("found", "value", "given", "taken", "finished"),
    [
        (CLOSED, 0, [(STOP, 0)], 1, None),
        (CLOSED, 2, [(STOP, 2)], 1, None),
        (CHILDLESS, 0, [(STOP, 0)], 1, None),
        (CHILDLESS, 1, [], 0, None),  # the token remains, as the end of what holds the fiber
        (FINISHED, 0, [(DONE, 0)], 1, True),
    ],
)
def test_ends_of_fibers_are_passed_on(ports, found, value, given, taken, finished):
    assert end(ports, found, value) is finished
    assert (ports.ref.given, ports.in_crd.taken) == (given, taken)


def test_a_fiber_with_coordinates_is_followed_by_that_of_the_next_parent(ports):
    state = SimpleNamespace(filled=True, parent=4)
    assert next_parent(ports, state, STOP, 0) is None
    assert (state.parent, state.filled) == (5, False)
    assert next_parent(ports, state, STOP, 1) is None
    assert state.parent == 5
    assert next_parent(ports, state, DONE, 0) is True


def test_coordinates_are_appended_within_the_extent(ports):
    memory = SimpleNamespace(
        coordinates=[7], regions={}, checks=True, limit=9, beyond="outside of the extent"
    )
    append_to(ports, memory, 8)
    assert memory.coordinates == [7, 8]
    with pytest.raises(StreamError, match="outside of the extent"):
        append_to(ports, memory, 9)
