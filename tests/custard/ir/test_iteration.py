"""Counts of iterations: counts of real and of assumed inputs agree."""

import numpy as np
import pytest

from custard.autoscheduling.fibers import InputFibers
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.ir.iteration import LoopCount
from custard.language import notation
from custard.language.formats import parse_format
from custard.to_c.cost import ASSUMED
from sam.tensor import Tensor

# A matrix of 4 x 100 with ten entries in a row, each in a column of its own, times an array.
MATRIX = np.zeros((4, 100))
MATRIX[np.repeat(np.arange(4), 10), np.arange(40)] = 1
INPUTS = {"A": Tensor.from_numpy(MATRIX, "ds"), "x": Tensor.from_numpy(np.ones(100), "d")}
TERM = concretize(notation.parse("y(i) = A(i,j) * x(j)")).value
A, X = (one for one in cin.walk(TERM) if isinstance(one, cin.Access))
CODES = {A: {"i": "d", "j": "s"}, X: {"j": "d"}}
MEASURED = InputFibers(INPUTS, {"i": 4, "j": 100})


def test_a_loop_by_hand():
    """Over i four rows; over j, begun in each, the ten entries of a row: A brings them along."""
    rows, entries = MEASURED.count(TERM, ["i", "j"], CODES)
    assert rows == LoopCount("i", entered=1, steps=4, points=4, extent=4)
    assert (entries.entered, entries.steps, entries.points) == (4, 40, 40)
    assert entries.scanned == {A: 40}


@pytest.mark.parametrize("counts", [MEASURED, ASSUMED], ids=["measured", "assumed"])
def test_loops_are_counted_outermost_first_and_begin_at_the_points_of_the_one_around(counts):
    outer, inner = counts.count(TERM, ["i", "j"], CODES)
    assert (outer.variable, inner.variable) == ("i", "j")
    assert outer.entered == 1
    assert inner.entered == outer.points
    for one in (outer, inner):
        assert one.points <= one.steps <= one.entered * one.extent
    assert {*inner.scanned} <= {A, X}


@pytest.mark.parametrize("counts", [MEASURED, ASSUMED], ids=["measured", "assumed"])
def test_a_compressed_tensor_has_fewer_entries_than_places(counts):
    assert counts.entries(A, parse_format("ds")) < counts.entries(A, parse_format("dd"))


def test_entries_by_hand():
    assert MEASURED.entries(A, parse_format("ds")) == 40
    assert MEASURED.entries(A, parse_format("dd")) == 400
