"""The tokens of a short run, for the page to play."""

from dataclasses import replace

import pytest

from sam.token import DATA, DONE, EMPTY, STOP
from sim.attribution.log import Passed
from sim.report_page.player import MOST_CYCLES, notation, played, why_not
from tests.support.runs import copied, in_two


@pytest.mark.parametrize(
    ("kind", "value", "due"),
    [
        (DATA, 3, "3"),
        (DATA, 0.123456, "0.1235"),
        (EMPTY, 0, "N"),
        (STOP, 1, "S1"),
        (DONE, 0, "D"),
    ],
)
def test_tokens_as_the_paper_writes_them(kind, value, due):
    assert notation(Passed(kind, value, 0, 1)) == due


def test_runs_that_are_not_played():
    run = copied(3)
    assert why_not(run) is None
    assert why_not(in_two()) == "The player shows programs of one graph."
    long = replace(run, cycles=MOST_CYCLES + 1)
    assert why_not(long) == "The player shows runs of up to 20,000 cycles."
    assert played(long) is None
    assert why_not(replace(run, again=None)) == "The player needs the inputs of the run."


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stream_of_three_values(threads):
    run = copied(3, threads=threads)
    found = played(run)
    assert found["cycles"] == run.cycles
    given, visible, taken, texts = found["tokens"]["array_b.val -> write_x_vals.in_val"]
    assert texts == ["1", "1", "1", "S0", "D"]
    assert given[0] > 0
    assert given[1:] == [1, 1, 1, 1]
    assert visible == [1] * 5
    assert taken == [0] * 5
    since, until, what, (fired, interval) = found["waits"]["write_x_vals"]
    assert len(since) == len(until) == len(what)
    assert set(what) <= {0, 1, 2}
    assert (fired, interval) == (run.cycles - 1, 1)
