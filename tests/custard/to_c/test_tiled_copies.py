"""Copies of arrays into another order, in tiles."""

import numpy as np
import pytest

from custard.to_c.builder import namer
from custard.to_c.loop_ir import Assign, Const, For, Type, Var, array
from custard.to_c.tiled_copies import with_tiled_copies
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled

X, A = (Var(name, array(Type("double"))) for name in "XA")
i, j, m, n = (Var(name) for name in "ijmn")
ZERO = Const(0)


def copy(to=X[i * n + j], value=A[j * m + i], end=n, sign=""):
    """Loops over i and j around an assignment."""
    return [For(i, ZERO, m, [For(j, ZERO, end, [Assign(to, value, sign)])])]


def tiled(body):
    return with_tiled_copies(body, namer(body, {"j_tile"}))


def test_a_transposition_goes_through_tiles_of_some_width():
    width, rows = tiled(copy())
    assert width.var.name == "j_width"
    assert rows.step == Const(64)
    _, columns = rows.body
    assert (columns.var.name, columns.step) == ("j_tile_2", width.var)
    _, tile = columns.body
    (line,) = tile.body
    assert (tile.begin, line.begin) == (rows.var, columns.var)
    assert line.body == copy()[0].body[0].body


@pytest.mark.parametrize(
    "body",
    [
        copy(value=A[i * n + j]),  # in the order of both
        copy(value=A[j * m + i] + A[i * n + j]),
        copy(to=X[i + j]),  # two rounds write to one place
        copy(to=X[j]),
        copy(value=X[j * m + i]),
        copy(sign="+"),
        copy(end=i),
    ],
)
def test_other_loops_stay(body):
    assert tiled(body) == body


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool", "complex128"])
@pytest.mark.parametrize(
    "shape",
    [(64, 64), (128, 65), (67, 128), (63, 9), (1, 300), (300, 1), (0, 5), (5, 0), (5000, 9)],
)
def test_all_elements_are_copied(shape, dtype):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    program = compiled("X(i,j) = A(j,i)", {"X": "dd", "A": "dd"})
    np.testing.assert_array_equal(program.run({"A": a}).to_numpy(), a.T)


@needs_compiler
def test_two_modes_of_three_are_copied_in_tiles():
    a = np.random.default_rng(0).random((3, 70, 128))
    program = compiled("X(i,j,k) = A(i,k,j)", {"X": "ddd", "A": "ddd"})
    assert "k_width" in program.source
    np.testing.assert_array_equal(program.run({"A": a}).to_numpy(), a.transpose(0, 2, 1))
