"""How many cycles a sparse convolution takes on SAM."""

import numpy as np
import pytest

import custard


@pytest.mark.parametrize(
    ("order", "filters", "result"),
    [
        *(("reorder(i,k)", "d", result) for result in "ds"),
        *(("reorder(k,i)", filters, result) for filters in "dsbhun" for result in "ds"),
    ],
)
@pytest.mark.parametrize(("density", "size", "kept"), [(0.2, 3, 3), (0.3, 9, 4), (0.05, 31, 6)])
def test_cycles_of_a_valid_convolution(order, filters, result, density, size, kept):
    """At most those of the entries in windows and of the windows, and 5 %; at least the useful
    multiplications. A sparse filter leads: merged with each window, it would be gone through for
    each."""
    rng = np.random.default_rng(6)
    x = (rng.random(500) < density) * 1.0
    f = np.zeros(size)
    f[rng.choice(size, kept, replace=False)] = 1.0
    formats = {"X": "s", "F": filters, "Y": result}
    program = custard.compile("Y(i) = X(i+k) * F(k)", formats, order)
    windows = np.lib.stride_tricks.sliding_window_view(x, size)
    run = program.simulate({"X": x, "F": f})
    np.testing.assert_array_equal(run.output.to_numpy(), windows @ f)
    assert (windows @ f).sum() <= run.cycles <= 1.05 * (windows.sum() + len(windows))
