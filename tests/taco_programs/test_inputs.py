"""The inputs of the programs of a corpus."""

import numpy as np
import pytest

from experiments.taco_programs import entries, inputs
from sam.tensor import Tensor

SPMV = 'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0'


def _cases(line):
    entry = entries.read_line(line)
    return list(inputs.cases(entry, inputs.parsed(entry)))


def test_inputs_are_random_empty_and_full():
    cases = _cases(SPMV)
    assert [case.name for case in cases] == ["random", "random", "empty", "full"]
    for case in cases:
        assert case.inputs["A"].shape == (case.extents["i"], case.extents["j"])
        assert case.inputs["x"].shape == (case.extents["j"],)
        assert all(1 <= extent <= inputs.LARGEST_EXTENT for extent in case.extents.values())
    assert not cases[2].inputs["A"].any()
    assert cases[3].inputs["A"].all()


def test_inputs_depend_on_the_line_alone():
    for first, second in zip(_cases(SPMV), _cases(SPMV), strict=True):
        np.testing.assert_array_equal(first.inputs["A"], second.inputs["A"])


def test_modes_of_one_tensor_agree():
    for case in _cases('taco "y(i,j)=B(i,k)*B(k,j)" -f=y:dd:0,1 -f=B:ds:0,1'):
        assert case.extents["i"] == case.extents["k"] == case.extents["j"]
    for case in _cases('taco "y(i)+=y(j)*x(k)" -f=y:d:0 -f=x:d:0'):
        assert case.extents["i"] == case.extents["j"]


def test_many_variables_have_small_extents():
    variables = ",".join("abcdefghijklmnopqrstuv")
    for case in _cases(f'taco "y=A({variables})" -f=A:{"s" * 22}'):
        assert np.prod(list(case.extents.values())) <= inputs.MOST_POINTS


@pytest.mark.parametrize("levels", ["q", "cq", "dq", "sq", "ucq", "qd", "dqq"])
def test_inputs_fit_their_format(levels):
    variables = ",".join("ijk"[: len(levels)])
    cases = _cases(f'taco "y=A({variables})" -f=A:{levels}')
    for case in cases:
        Tensor.from_numpy(case.inputs["A"], levels)
    assert cases[0].inputs["A"].any()
