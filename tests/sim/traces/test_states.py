"""The states of each block from cycle to cycle, and the part of a run that a trace shows."""

import numpy as np
import pytest

from sam.support.errors import UserError
from sim.attribution.log import Awaited, Log
from sim.attribution.over_time import OverTime
from sim.traces.states import (
    CycleWindow,
    States,
    TraceSizes,
    parse_window,
    samples,
    shown,
    states,
    within,
)
from tests.support.runs import in_two, sparse_product, waits

SIZES = TraceSizes(lambda found: np.full(len(found.cycles), 40), 0, lambda values: values * 0 + 40)


def log(*blocks, cycles=20):
    return Log([f"b{n}" for n in range(len(blocks))], blocks, cycles, OverTime.of(cycles, {}, []))


def told(found):
    """The changes of a block: the cycle and the new state."""
    pairs = zip(found.cycles.tolist(), found.state.tolist(), strict=True)
    return [(cycle, found.names[state]) for cycle, state in pairs]


def test_a_block_is_busy_between_its_waits_and_done_after_its_last_firing():
    awaited = [Awaited("in", "e", True, 0, 1, 1), Awaited("out", "f", False, 0, 1, 1)]
    one = waits([(0, 2, 0), (3, 9, 0), (9, 10, 1)], awaited, 14)
    assert told(states(log(one), 0)) == [
        (0, "starved by in"),
        (2, "busy"),
        (3, "starved by in"),
        (9, "blocked by out"),
        (10, "busy"),
        (15, "done"),
    ]


def test_a_block_that_never_fires():
    assert told(states(log(waits([], [], -1)), 0)) == [(0, "done")]


def test_the_changes_inside_of_a_window():
    found = States(np.array([0, 5, 9, 12]), np.array([0, 1, 0, 2]), ("busy", "memory", "done"))
    cycles, changes = within(found, CycleWindow(6, 12))
    assert (cycles.tolist(), changes.tolist()) == ([6, 9], [1, 0])
    cycles, changes = within(found, CycleWindow(0, 1))
    assert (cycles.tolist(), changes.tolist()) == ([0], [0])


def test_numbers_are_told_where_they_change_at_the_ends_of_stretches():
    one = log(waits([], [], -1), cycles=1000)
    assert one.over_time.stretch == 4
    values = np.array([2, 2, 3] + [3] * 247)
    assert list(samples(one, values, CycleWindow(0, 1000))) == [(3, 2), (11, 3)]
    assert list(samples(one, values, CycleWindow(5, 1000))) == [(7, 2), (11, 3)]


def test_all_of_a_run_is_shown_if_there_is_room():
    run = sparse_product(attribution=True)
    found = shown(run, None, 10**9, SIZES)
    assert (found.first, found.end, found.note) == (0, run.cycles, None)
    [piece] = found.pieces
    assert (piece.prefix, piece.start, piece.shown) == ("", 0, CycleWindow(0, run.cycles))


def test_graphs_begin_where_those_before_them_end():
    run = in_two(attribution=True)
    first, second = shown(run, None, 10**9, SIZES).pieces
    assert (first.prefix, second.prefix) == ("w.", "y.")
    assert (first.start, second.start) == (0, run.parts[0].cycles)
    later = run.parts[0].cycles + 1
    [piece] = shown(run, (later, later + 2), 10**9, SIZES).pieces
    assert (piece.prefix, piece.shown) == ("y.", CycleWindow(1, 3))


def test_mistakes():
    run = sparse_product(attribution=True)
    for window in ((10**7, 10**7 + 1), (3, 3), (-1, 5)):
        with pytest.raises(UserError) as caught:
            shown(run, window, 10**9, SIZES)
        assert str(caught.value) == (
            f"the window {window[0]}:{window[1]} has no cycle of the run, which has "
            f"{run.cycles:,}\nhint: as in --window 1000:2000"
        )
    assert parse_window(" 10:20") == (10, 20)
    for text in ("10-20", "10:", ":", "a:b", "1:2:3"):
        with pytest.raises(UserError) as caught:
            parse_window(text)
        assert str(caught.value) == (
            f'"{text}" is not a window of cycles\nhint: as in --window 1000:2000'
        )


def test_a_window_without_a_cycle_is_refused_before_the_run():
    for text in ("20:10", "10:10"):
        with pytest.raises(UserError, match=f"^the window {text} has no cycle"):
            parse_window(text)


def test_a_suffix_that_is_no_trace(tmp_path):
    with pytest.raises(UserError) as caught:
        sparse_product().to_trace(tmp_path / "t.json")
    assert str(caught.value).endswith(
        "does not have the suffix of a trace\nhint: one of .pftrace, .vcd"
    )
