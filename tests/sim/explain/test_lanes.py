"""Lanes that have different amounts of work."""

from dataclasses import replace

import numpy as np

import custard
from sim.explain.lanes import Imbalance, folded, imbalance
from sim.stats import BlockStats
from tests.support.runs import spmv


def block(kind, busy=0, **tokens):
    return BlockStats(kind, busy, busy, {}, {}, 0, 0, tokens)


def test_copies_of_a_block_in_all_lanes_are_one():
    blocks = {
        "split": block("parallelizer", crd0={}, crd1={}),
        "scan_B_0": block("level_scanner"),
        "scan_B_1": block("level_scanner"),
        "reduce_0.emitter": block("reducer"),
        "reduce_1.emitter": block("reducer"),
        "scan_C_1": block("level_scanner"),
        "write": block("value_writer"),
    }
    assert folded(blocks) == {
        "split": ["split"],
        "scan_B_0": ["scan_B_0", "scan_B_1"],
        "reduce_0.emitter": ["reduce_0.emitter", "reduce_1.emitter"],
        "scan_C_1": ["scan_C_1"],
        "write": ["write"],
    }


def test_numbers_of_blocks_are_no_lanes_without_a_parallelizer():
    blocks = {"array_1": block("array"), "array_2": block("array")}
    assert folded(blocks) == {"array_1": ["array_1"], "array_2": ["array_2"]}


def test_the_lane_with_the_most_work_is_told():
    run = spmv()
    blocks = {
        "split": block("parallelizer", crd0={}, crd1={}),
        "alu_0": block("alu", 10),
        "alu_1": block("alu", 30),
        "scan_0": block("level_scanner", 4),
        "scan_1": block("level_scanner", 4),
    }
    found = imbalance(replace(run, blocks=blocks))
    assert found == Imbalance("alu_1", 2, 30, 20.0)
    assert found.cycles == 10
    assert found.text == (
        "the 2 lanes are uneven: alu_1 is busy for 30 cycles, 1.5 times the mean of its lanes"
    )
    even = {**blocks, "alu_0": block("alu", 28)}
    assert imbalance(replace(run, blocks=even)) is None
    assert imbalance(run) is None


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
