"""Mistakes in inputs."""

import subprocess
import sys

import numpy as np
import pytest

import custard
from tests.support.mistakes import EYE, INPUTS, MATVEC, ONES, TENSORS, refused, text


@pytest.mark.parametrize(
    ("inputs", "lines"),
    [
        (None, ["no input is given for A, x"]),
        ({"A": EYE}, ["no input is given for x"]),
        ({**INPUTS, "xx": ONES}, ["the program has no input xx", "hint: did you mean x?"]),
        ({"A": ONES, "x": ONES}, ["A has 2 modes in the program, and its input has 1 mode"]),
        ({"A": EYE, "x": np.ones(5)}, [
            "the extent of j is 4 by mode 1 of A and 5 by mode 0 of x",
        ]),
        ({"A": EYE, "x": "x.mtx"}, [
            "x: str is not a tensor", f"{TENSORS}; sam.io.read reads a file",
        ]),
        ({"A": EYE, "x": None}, ["x: NoneType is not a tensor", TENSORS]),
        ({"A": EYE, "x": ["a", "b"]}, ["x: values of the type <U1 are not numbers"]),
        ({"A": EYE, "x": [1, 10**30]}, [
            "x: the value 1000000000000000000000000000000 does not fit in 64 bits",
        ]),
        (EYE, ["the inputs are ndarray, not a mapping from names", 'hint: as in {"B": B, "C": C}']),
    ],
)  # fmt: skip
def test_inputs(inputs, lines):
    assert refused(custard.compile(MATVEC).run, inputs) == text(*lines)


def test_modules_that_hints_name_are_there():
    """In a process that has imported no more than a user's program."""
    code = "import custard, sam, sim; sam.io.read, sam.dot.from_dot"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stderr == b""


def test_extents():
    assert refused(custard.compile("y(i,j) = x(i)").run, {"x": ONES}) == text(
        "no input fixes the extent of j", 'hint: give it in dims, as in dims={"j": 8}'
    )
    assert refused(custard.compile(MATVEC, dims={"j": 5}).run, INPUTS) == (
        "the extent of j is 5 by dims and 4 by mode 1 of A"
    )
    assert refused(custard.compile("x(i) = A(i,i)").run, {"A": np.ones((2, 3))}) == (
        "the extent of i is 2 by mode 0 of A and 3 by mode 1 of A"
    )


def test_an_input_that_its_format_cannot_hold():
    program = custard.compile(MATVEC, {"A": "dq"})
    assert refused(program.run, {"A": np.ones((2, 2)), "x": np.ones(2)}) == text(
        "A: the level cannot be stored as singleton: position 0 above it has 2 coordinates, not 1",
        "  dq",
        "   ^",
    )
