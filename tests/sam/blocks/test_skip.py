"""Coordinate skipping (SAM paper, Section 4.2): scanners that are told where to go on."""

from types import SimpleNamespace

import numpy as np
import pytest

import custard
from sam.blocks import KINDS, Surroundings
from sam.blocks.scan import SPAN
from sam.support.errors import UserError
from sam.tensor import Tensor
from sam.token import parse_stream
from tests.sam.blocks.test_scan import ROWS, fibers
from tests.support.streams import BLOCK, run_block

TOLD = f"{BLOCK}.in_skip"


def scanned(tensor, level, ref, messages, latency=1):
    """The stream of a scanner that gets a message in each cycle, from cycle 0 on."""
    tokens = ", ".join([*map(str, messages), "D"])
    return run_block(
        "level_scanner",
        {"slot": "B", "level": level, "skips": True},
        {"in_ref": ref, "in_skip": tokens},
        tensors={"B": tensor},
        overrides={f"queues.names.{TOLD}.latency_cycles": latency},
    )


def crd(*arguments, **more):
    return scanned(*arguments, **more).streams["crd"]


def test_a_scanner_goes_on_where_it_is_told():
    """It is told in cycle 1; row 1 has the columns 1, 4, 7."""
    found = scanned(ROWS, 1, "1, D", [6] * 9)
    assert found.streams == {"crd": "1, 7, S0, D", "ref": "0, 2, S0, D"}
    assert crd(ROWS, 1, "1, D", [4] * 9) == "1, 4, 7, S0, D"
    assert crd(ROWS, 1, "1, D", [0] * 9) == "1, 4, 7, S0, D"


def test_a_message_comes_after_its_latency():
    assert crd(ROWS, 1, "1, D", [6] * 9, latency=2) == "1, 4, 7, S0, D"
    assert crd(ROWS, 1, "1, D", [8] * 9, latency=2) == "1, 4, S0, D"
    assert crd(ROWS, 1, "1, D", [0, 8] * 9) == "1, 4, S0, D"


def test_it_takes_a_firing_to_find_that_nothing_is_left():
    whole, cut = scanned(ROWS, 1, "1, D", [0] * 9), scanned(ROWS, 1, "1, D", [8] * 9)
    assert (whole.run.blocks[BLOCK].fired, cut.run.blocks[BLOCK].fired) == (5, 4)
    assert cut.streams["crd"] == "1, S0, D"


def test_a_message_for_a_fiber_that_is_over_has_no_effect():
    """Rows 1, 3 and 1 again: the first is cut off after a coordinate, the others are whole."""
    assert crd(ROWS, 1, "1, 3, 1, S0, D", [8] * 30) == "1, S0, 0, 2, S0, 1, 4, 7, S1, D"


def test_the_begin_of_the_next_fiber_is_behind_all_coordinates():
    assert crd(ROWS, 1, "1, 3, 1, S0, D", [SPAN] * 30) == "1, S0, 0, 2, S0, 1, 4, 7, S1, D"
    second = [0, 0, 0, *[SPAN + 2] * 30]
    assert crd(ROWS, 1, "1, 3, 1, S0, D", second) == "1, 4, 7, S0, 2, S0, 1, 4, 7, S1, D"


def test_empty_and_unknown_fibers_are_counted():
    """Row 1 is the fourth fiber, and the third; the first coordinate comes with its reference."""
    told = [3 * SPAN + 7] * 30
    assert crd(ROWS, 1, "0, 2, N, 1, S0, D", told) == "S0, S0, S0, 7, S1, D"
    assert crd(ROWS, 1, "S0, S0, 1, S0, S1, D", [2 * SPAN + 5] * 30) == "S1, S1, 1, 7, S1, S2, D"


@pytest.mark.parametrize("levels", ["dd", "ds", "dr", "db", "du", "ss"])
@pytest.mark.parametrize("place", [0, 1, 5, 6, 7, 69, 70, 80])
def test_every_format(levels, place):
    """It is told of a place in its second fiber, while it is in the first."""
    row = np.zeros(80)
    row[slice(72) if levels == "dr" else slice(None) if levels == "dd" else [0, 1, 5, 7, 70]] = 1
    tensor = Tensor.of(np.stack([row, row]), levels)
    left = [str(c) for c in np.flatnonzero(row) if c >= place]
    due = ", ".join(["0", "S0", *left, "S1", "D"])
    assert crd(tensor, 1, "0, 1, S0, D", [SPAN + place] * 99) == due


def test_rows_of_coo_are_joined_and_skipped():
    coo = Tensor.from_coo([[0, 1, 1, 5, 5, 5, 6], [1, 0, 2, 0, 1, 3, 0]], np.ones(7), (9, 4), "uq")
    assert crd(coo, 0, "0, D", [5] * 9) == "0, 5, 6, S0, D"
    assert crd(coo, 0, "0, D", [2] * 9) == "0, 5, 6, S0, D"
    assert crd(coo, 1, "0, 3, S0, D", [SPAN + 2] * 9) == "1, S0, 3, S1, D"


def test_a_level_of_more_than_all_places_is_refused():
    huge = Tensor.from_coo([[0, 2**32]], [1.0, 2.0], (2**32 + 1,), "s")
    with pytest.raises(UserError, match="B has an extent above 4294967296"):
        crd(huge, 0, "0, D", [0])


def test_an_intersecter_tells_the_scanners_that_are_behind():
    """By hand: b waits for 9 twice; c, which has ended, lets it go to the next fiber."""
    parameters = {"payloads": [[], []], "skips": [0, 1]}
    streams = {"in_crd0": "1, 2, 9, 12, S0, 3, S1, D", "in_crd1": "9, S0, 3, S1, D"}
    assert told(parameters, streams) == {"skip0": [9, 9, SPAN], "skip1": []}


def told(parameters, inputs):
    """The messages of an intersecter, by port, as its step gives them."""
    block = KINDS["intersecter"].block(parameters)
    found = {port.name: [] for port in block.ports if port.group == "skips"}
    heads = {name: list(parse_stream(text)) for name, text in inputs.items()}

    def port(name):
        return SimpleNamespace(
            peek=lambda: heads[name][0],
            take=lambda: heads[name].pop(0),
            give=lambda kind, value: found.get(name, []).append(value),
        )

    p = SimpleNamespace(
        crd=port("crd"),
        crds=[port(name) for name in inputs],
        payloads=[],
        results=[],
        skips=[port(name) for name in found],
    )
    s, m = SimpleNamespace(**block.state), block.memory(Surroundings())
    while not block.step(p, s, m):
        pass
    return found


def test_three_operands_of_which_two_skip():
    parameters = {"payloads": [[], [], []], "skips": [0, 2]}
    streams = {
        "in_crd0": "1, 4, 6, S0, 1, S1, D",
        "in_crd1": "4, 6, S0, S1, D",
        "in_crd2": "0, 2, 6, S0, 5, S1, D",
    }
    found = told(parameters, streams)
    assert found == {"skip0": [4, 6, 2 * SPAN], "skip2": [4, 4, 2 * SPAN]}


def test_skipped_coordinates_worked_out_by_hand():
    """b has 0 to 9, and c 9 alone.

    Both scanners emit in cycle 1 for the first time. In cycle 2 the intersecter sees 0 and 9, and
    b is told in cycle 3, when 1 and 2 lie before the intersecter already: those are dropped in
    cycles 3 and 4, and 9 is there in cycle 4.
    """
    b, c = np.ones(10), np.zeros(10)
    c[9] = 1
    inputs = {"b": Tensor.of(b, "s"), "c": Tensor.of(c, "s")}
    plain = custard.compile("x(i) = b(i) * c(i)").simulate(inputs)
    program = custard.compile("x(i) = b(i) * c(i)", schedule=["skip(b,i)"])
    run = program.simulate(inputs)
    assert run.output.to_numpy().tolist() == c.tolist()
    emitted = run.streams["scan_b_i.crd -> intersect_i.in_crd0"].tokens
    assert emitted == {"data": 3, "empty": 0, "stop": 1, "done": 1}
    assert plain.cycles - run.cycles == 7
    assert run.streams["intersect_i.skip0 -> scan_b_i.in_skip"].tokens["data"] == 2


def test_short_queues_skip_more():
    """b and c take turns with runs of 50. Tokens that one scanner emits while the other is dropped
    have to be dropped later: with room for all of them, ever more."""
    vectors = {name: np.arange(2000) // 50 % 2 == n for n, name in enumerate("bc")}
    inputs = {name: Tensor.of(1.0 * vector, "s") for name, vector in vectors.items()}
    program = custard.compile("x(i) = b(i) * c(i)", schedule=["skip(b,i)", "skip(c,i)"])
    short, long = (
        program.simulate(inputs, overrides={"queues.depth": depth}).cycles
        for depth in (2, "unbounded")
    )
    assert short < 40 * 4
    assert long > 1500


def test_a_fiber_is_left_when_the_other_ends():
    tensor = fibers([0, 3, 6], [1, 5, 8, 2, 3, 4])
    other = fibers([0, 1, 2], [1, 3])
    program = custard.compile(
        "X(i,j) = B(i,j) * C(i,j)", {"B": "ds", "C": "ds"}, ["skip(B,j)", "skip(C,j)"]
    )
    run = program.simulate({"B": tensor, "C": Tensor((2, 9), (0, 1), other.levels, other.values)})
    assert run.output.to_coo()[0].T.tolist() == [[0, 1], [1, 3]]
