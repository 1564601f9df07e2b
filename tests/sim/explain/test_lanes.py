"""Lanes that have different amounts of work."""

from dataclasses import replace

import numpy as np

import custard
from sim.explain.lanes import Imbalance, folded, imbalance
from tests.support.runs import spmv


def test_copies_of_a_block_in_all_lanes_are_one():
    blocks = ["split", "scan", "scan_2", "reduce.emitter", "reduce_2.emitter", "write"]
    assert folded(blocks, [["scan", "scan_2"], ["reduce", "reduce_2"]]) == {
        "split": ["split"],
        "scan": ["scan", "scan_2"],
        "reduce.emitter": ["reduce.emitter", "reduce_2.emitter"],
        "write": ["write"],
    }


def test_the_lane_with_the_most_work_is_told():
    program = custard.compile("y(i) = A(i,j) * x(j)", {}, ["parallelize(i,Lanes,2)"])
    run = program.simulate({"A": np.eye(4), "x": np.ones(4)})

    def busy(**cycles):
        blocks = {name: replace(block, busy=4) for name, block in run.blocks.items()}
        blocks |= {name: replace(blocks[name], busy=n) for name, n in cycles.items()}
        return imbalance(replace(run, blocks=blocks))

    found = busy(multiply=10, multiply_2=30)
    assert found == Imbalance("multiply_2", 2, 30, 20.0)
    assert found.cycles == 10
    assert found.text == (
        "the 2 lanes are uneven: multiply_2 is busy for 30 cycles, 1.5 times the mean of its lanes"
    )
    assert busy(multiply=28, multiply_2=30) is None
    assert imbalance(spmv()) is None


def test_a_program_one_lane_of_which_has_all_the_work():
    """Rows are dealt in turn, and every other row is empty."""
    matrix = np.zeros((8, 60))
    matrix[::2] = 1
    program = custard.compile(
        "y(i) = A(i,j) * x(j)",
        {"A": "ds", "x": "s", "y": "s"},
        ["parallelize(i, Lanes, 2)"],
    )
    found = imbalance(program.simulate({"A": matrix, "x": np.ones(60)}))
    assert found.lanes == 2
    assert not found.block.endswith("_1")
    assert found.most > 1.9 * found.mean
