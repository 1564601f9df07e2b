"""The formats that ``custard formats`` shows for a convolution give the right values."""

import numpy as np
import pytest

import custard
from custard.cli.listings import CONVOLUTION, CONVOLUTION_FORMATS
from custard.language.formats import parse_declaration
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

TARGETS = ["sam", pytest.param("c", marks=needs_compiler)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("declaration", CONVOLUTION_FORMATS)
def test_formats_of_a_convolution(declaration, target):
    rng = np.random.default_rng(1)
    x = rng.integers(1, 5, (2, 3, 5, 4)) * (rng.random((2, 3, 5, 4)) < 0.4) * 1.0
    f = rng.integers(1, 5, (2, 3, 2, 3)) * (rng.random((2, 3, 2, 3)) < 0.4) * 1.0
    name, form = parse_declaration(declaration)
    inputs = {"X": x, "F": f}
    inputs[name] = Tensor.of(inputs[name]).convert(form.levels, form.mode_order)
    program = custard.compile(CONVOLUTION, {name: str(form)}, target=target)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(2, 3))
    due = np.einsum("ncpqrs,ocrs->nopq", windows, f)
    np.testing.assert_array_equal(program.run(inputs).to_numpy(), due)
