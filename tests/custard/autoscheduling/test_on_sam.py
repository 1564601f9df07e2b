"""Target sam: the candidates, and estimates of their cycles."""

import numpy as np
import pytest

import custard
from custard.autoscheduling.autoscheduler import autoscheduler
from custard.autoscheduling.candidates import orders
from custard.autoscheduling.fibers import InputFibers
from custard.targets import TARGETS
from sam.tensor import Tensor
from tests.support.problems import problem, schedules

MATVEC = "y(i) = A(i,j) * x(j)"
SAM = autoscheduler(TARGETS["sam"])


def test_lanes_may_share_any_loop_and_entries():
    found = schedules(MATVEC, "sam", parts=4, given={"A": "ss", "x": "d", "y": "d"}, extents=63)
    assert (
        found
        == [
            "reorder(i,j)",
            "reorder(i,j);parallelize(i,Lanes,4)",
            "reorder(i,j);parallelize(j,Lanes,4)",
            "reorder(i,j);fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,4);parallelize(p0,Lanes,4)",
        ][:4]
    )


def test_tiles_are_outermost_or_where_the_loop_was():
    found = schedules(MATVEC, "sam", given={"A": "ss", "x": "d", "y": "d"}, extents=64)
    assert found == [
        "reorder(i,j)",
        "reorder(i,j);split(i,i0,i1,32)",
        "reorder(i,j);split(j,j0,j1,32)",
        "reorder(i,j);split(j,j0,j1,32);reorder(j0,i,j1)",
    ]


def estimates(text, inputs, parts=1, given=None):
    """The estimate of each schedule, all operands compressed but for vectors."""
    extent = max(max(one.shape) for one in inputs.values())
    given = {name: "s" * one.ndim if one.ndim > 1 else "d" for name, one in inputs.items()}
    found = problem(text, "sam", extent, parts, given)
    fibers = InputFibers({name: Tensor.of(one) for name, one in inputs.items()}, found.extents)
    plain = next(orders(found))
    return {
        ";".join(one.schedule).removeprefix("reorder(i,j)").removeprefix(";"): SAM.estimate(
            one, found, fibers
        )
        for one in (plain, *SAM.partitions(found, plain))
    }


# One row in ten has entries, which are all there.
MATRIX = np.zeros((40, 40))
MATRIX[::10] = 1.0


def test_cycles_are_about_those_of_the_scan():
    """The scanner of the four rows gives 160 coordinates, and each of four rows ends."""
    (found,) = estimates(MATVEC, {"A": MATRIX, "x": np.ones(40)}).values()
    assert 164 <= found <= 2 * 164


def test_the_lane_with_most_entries_counts():
    """Dealt by rows, one of two lanes has the full row; equal shares have half of it each."""
    uneven = np.eye(40)
    uneven[0] = 1.0
    found = estimates(MATVEC, {"A": uneven, "x": np.ones(40)}, parts=2)
    dealt = found["parallelize(i,Lanes,2)"]
    shares = found["fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,2);parallelize(p0,Lanes,2)"]
    # 20 rows of one entry and the full row end in one lane: 40 + 19 of 79 entries.
    assert dealt == pytest.approx(found[""] * 59 / 79, rel=0.25)
    assert shares < dealt


def test_tiles_that_do_not_meet_are_skipped():
    """The operands have entries in rows of their own, half a matrix apart."""
    one, other = np.zeros((2, 64)), np.zeros((2, 64))
    one[:, :32], other[:, 32:] = 1.0, 1.0
    inputs = {"A": Tensor.of(one).to_numpy(), "B": other}
    found = estimates("X(i,j) = A(i,j) * B(i,j)", inputs)
    # Two rows of 64 coordinates are merged, or two tiles of each row that have none in common.
    assert found[""] >= 128
    assert found["split(j,j0,j1,32)"] < 64


def test_the_first_choice_deals_entries_where_a_row_is_long(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))
    uneven = np.eye(200)
    uneven[0] = 1.0
    inputs = {"A": uneven, "x": np.ones(200)}
    formats = {"A": "ss", "y": "d", "x": "d"}
    found = custard.autoschedule(MATVEC, inputs, formats, lanes=4)
    assert any("pos" in command for command in found[0].schedule)
    run = found[0].program.simulate(inputs, engine="simpy")
    assert run.cycles < 0.75 * custard.compile(MATVEC, formats).simulate(inputs).cycles
    np.testing.assert_array_equal(run.output.to_numpy(), uneven @ np.ones(200))
