"""Each target has its part of the search for a schedule, and tells how many share a loop."""

import pytest

from custard.autoscheduling.autoscheduler import Autoscheduler, MeasuringMachine, autoscheduler
from custard.targets import TARGETS
from sam.support.errors import UserError


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_every_target_has_an_autoscheduler(target):
    assert isinstance(autoscheduler(target), Autoscheduler)


def test_lanes_or_threads_share_a_loop():
    found = {
        name: autoscheduler(one).parts(4, MeasuringMachine(2)) for name, one in TARGETS.items()
    }
    assert found == {"sam": 4, "c": 2}
    with pytest.raises(UserError, match=r"^threads is 0, not a whole number from 1 to 1024$"):
        autoscheduler(TARGETS["c"]).parts(4, MeasuringMachine(0))
