"""The formats that ``custard formats`` shows: readable, and right for a convolution."""

import numpy as np
import pytest

import custard
from custard.cli.listings import CONVOLUTION, CONVOLUTION_FORMATS, formats
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


def test_formats_are_readable_at_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert formats([]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    [ell] = [line for line in lines if line.startswith("-f=A:ELL") and "ddq" in line]
    assert " ".join(ell.split()) == "-f=A:ELL rows of a matrix, all of one length ddq:0,1,2"
