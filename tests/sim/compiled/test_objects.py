"""The memories of blocks in C."""

import numpy as np
import pytest

import custard
from sam.support import c_compiler


@pytest.mark.skipif(not c_compiler.available(), reason="there is no C compiler")
def test_arrays_that_outgrow_a_large_page_are_given_back():
    x = np.arange(1.0, 300_001)
    run = custard.compile("y(i) = x(i)", {"x": "d", "y": "d"}).simulate({"x": x}, engine="compiled")
    np.testing.assert_array_equal(run.output.to_numpy(), x)
