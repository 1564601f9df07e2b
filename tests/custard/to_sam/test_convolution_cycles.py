"""How many cycles a sparse convolution takes on SAM."""

import numpy as np
import pytest

import custard
from tests.support.compiler import needs_compiler

CODES = "dsbhuln"
SIZES = [(0.2, 3, 3), (0.3, 9, 4), (0.05, 31, 6)]


def _cycles(order, formats, density, size, kept, length=500):
    """The cycles of a valid convolution, the useful multiplications, and the bound: a cycle for
    each entry in windows and for each window."""
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
    """At most a cycle for each entry in windows and for each window, and 5 %; at least the useful
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


@needs_compiler
@pytest.mark.parametrize("formats", ["ss ss", "bb bb", "nn hh", "dn uq"])
def test_both_engines_read_equally_much_memory(formats):
    """Searches and windows read words and runs once, on both engines."""
    rng = np.random.default_rng(1)
    x = rng.random((4, 70)) * (rng.random((4, 70)) < 0.1)
    f = rng.random((2, 3)) * (rng.random((2, 3)) < 0.6)
    program = custard.compile(
        "Y(p,q) = X(p+r,q+s) * F(r,s)", dict(zip("XF", formats.split(), strict=True))
    )
    runs = [
        program.simulate({"X": x, "F": f}, "line_buffer", engine=engine)
        for engine in ("simpy", "compiled")
    ]
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3))
    np.testing.assert_allclose(runs[0].output.to_numpy(), np.einsum("pqrs,rs->pq", windows, f))
    assert (runs[0].cycles, runs[0].memory) == (runs[1].cycles, runs[1].memory)
