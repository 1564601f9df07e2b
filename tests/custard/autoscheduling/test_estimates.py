"""What candidates would take."""

import dataclasses

import numpy as np
import pytest

from custard.autoscheduling.candidates import Candidate, ThreadedLoop
from custard.autoscheduling.estimates import estimate
from custard.autoscheduling.fibers import InputFibers
from custard.ir import cin
from custard.language import notation
from custard.language.formats import parse_format
from custard.targets import TARGETS
from sam.tensor import Tensor

# One row in ten has entries, which are all there.
MATRIX = np.zeros((40, 40))
MATRIX[::10] = 1.0
FIBERS = InputFibers({"A": Tensor.of(MATRIX).convert("ds")}, {"i": 40, "j": 40})


def candidate(**more):
    program = cin.concretize(notation.parse("y(i) = A(i,j) * x(j)"))
    formats = {"y": "d", "A": "ds", "x": "d"}
    stored = {name: parse_format(form) for name, form in formats.items()}
    return dataclasses.replace(Candidate((), stored, (program,)), **more)


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_more_work_takes_longer(target):
    full = InputFibers({"A": Tensor.of(np.ones((40, 40))).convert("ds")}, {"i": 40, "j": 40})
    assert 0 < estimate(candidate(), FIBERS, target) < estimate(candidate(), full, target)


def test_cycles_are_about_those_of_the_scan():
    """The scanner of the four rows gives 160 coordinates, and each of 40 rows ends."""
    assert 160 <= estimate(candidate(), FIBERS, TARGETS["sam"]) <= 2 * (160 + 40)


def test_threads_take_their_time_to_begin():
    shared = estimate(candidate(shared=ThreadedLoop("i", 4)), FIBERS, TARGETS["c"])
    assert shared > estimate(candidate(), FIBERS, TARGETS["c"])


def test_a_share_that_is_larger_takes_longer():
    """Each of two shares has two of the full rows, or one share has all four."""
    even = estimate(candidate(shared=ThreadedLoop("i", 2)), FIBERS, TARGETS["c"])
    uneven = np.zeros((40, 40))
    uneven[:4] = 1.0
    fibers = InputFibers({"A": Tensor.of(uneven).convert("ds")}, {"i": 40, "j": 40})
    assert estimate(candidate(shared=ThreadedLoop("i", 2)), fibers, TARGETS["c"]) > even
