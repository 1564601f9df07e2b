"""How many cycles a sparse convolution takes on SAM."""

import numpy as np
import pytest

import custard

CODES = "dsbhuln"
SIZES = [(0.2, 3, 3), (0.3, 9, 4), (0.05, 31, 6)]


def _cycles(order, formats, density, size, kept, length=500):
    """The cycles of a valid convolution, the useful multiplications, and what is allowed: a cycle
    for each entry in windows and for each window."""
    rng = np.random.default_rng(6)
    x = (rng.random(length) < density) * 1.0
    f = np.zeros(size)
    f[rng.choice(size, kept, replace=False)] = 1.0
    program = custard.compile("Y(i) = X(i+k) * F(k)", formats, order)
    windows = np.lib.stride_tricks.sliding_window_view(x, size)
    run = program.simulate({"X": x, "F": f})
    np.testing.assert_array_equal(run.output.to_numpy(), windows @ f)
    entries = windows.size if formats["X"] == "d" else windows.sum()
    return run.cycles, (windows @ f).sum(), entries + len(windows)


@pytest.mark.parametrize("order", [(), "reorder(i,k)", "reorder(k,i)"])
@pytest.mark.parametrize("result", "ds")
@pytest.mark.parametrize("filters", CODES)
def test_cycles_of_a_valid_convolution(order, filters, result):
    """At most those of the entries in windows and of the windows, and 5 %; at least the useful
    multiplications: each format of the filter with a compressed image."""
    formats = {"X": "s", "F": filters, "Y": result}
    for density, size, kept in SIZES:
        cycles, useful, allowed = _cycles(order, formats, density, size, kept)
        assert useful <= cycles <= 1.05 * allowed


@pytest.mark.parametrize("image", CODES)
def test_cycles_of_images_of_any_format(image):
    """The loops of the expression, with filters that are gone through in different ways."""
    for filters, result in ("dd", "sd", "hs"):
        formats = {"X": image, "F": filters, "Y": result}
        for density, size, kept in SIZES:
            cycles, useful, allowed = _cycles((), formats, density, size, kept, 200)
            assert useful <= cycles <= 1.05 * allowed + 10  # of 600 or so; latencies do not shrink


def test_a_filter_is_searched_and_the_schedule_may_have_it_scanned():
    formats = {"X": "s", "F": "s"}
    found = custard.compile("Y(i) = X(i+k) * F(k)", formats)
    assert "F is searched at k" in found.notes
    assert "searcher" in {node.kind for node in found.graph.nodes}
    scanned = custard.compile("Y(i) = X(i+k) * F(k)", formats, "coiterate(F,k)")
    assert {"intersecter"} <= {node.kind for node in scanned.graph.nodes}
    assert "searcher" not in {node.kind for node in scanned.graph.nodes}
