"""The C of the plain kernel, in forms."""

import re

from sim.compiled.kernel import c


def test_the_ends_of_a_call_are_labels_that_say_why():
    labels = re.findall(r"^(\w+):\n    b->status = (\w+);\n    goto back;$", c.ENDS + c.LATE, re.M)
    assert labels == [
        ("starved", "STARVED"),
        ("finished", "FINISHED_BLOCK"),
        ("failed", "FAILED"),
        ("over_capacity", "OVER_CAPACITY"),
        ("no_memory", "NO_MEMORY"),
        ("late", "LATE"),
    ]


def test_every_place_of_the_kernel_is_filled_in_once():
    places = re.findall(r"(?<!\{)\{(\w+)\}", c.TEMPLATE)
    assert len(places) == len({*places})
    assert {"macros", "locals", "firings", "ends", "ordered", "blocked", "back"} <= {*places}


def test_a_full_queue_is_told_before_the_cycle_in_which_a_place_was_freed():
    assert "goto blocked;" in c.FULL.format(0, 3)
    freed = c.FREED.format(0, 3, 64)
    assert "taken[f_ & (64 - 1)]" in freed
    assert "cause = 3;" in freed
