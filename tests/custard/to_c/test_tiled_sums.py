"""The loops of a sum of products of dense arrays, in tiles whose sums stay in registers."""

import numpy as np
import pytest

from custard.to_c.builder import namer
from custard.to_c.dense_sums import DenseSum
from custard.to_c.loop_ir import ONE, ZERO, Assign, Call, For, Type, Var, array
from custard.to_c.tiled_sums import Tile, TiledSum, stride
from tests.custard.to_c.test_register_tiles import PRODUCT, arrays, tiled_program
from tests.support.compiler import needs_compiler

DOUBLE = Type("double")
A, B, C, D = (Var(name, array(DOUBLE)) for name in "ABCD")
i, j, k, n = (Var(name) for name in "ijkn")


def tiled(right, left=A[i * n + k], minus=False):
    """The tiled sum with some factors that the rows share, and factors of the rows."""
    rows, columns, depth = (For(one, ZERO, n, []) for one in (i, j, k))
    add = Assign(C[i * n + j], left * right, "+")
    tile = Tile([], rows, columns, depth, left, right, minus)
    return TiledSum(DenseSum([rows, columns, depth], add), tile, namer([], ()))


@pytest.mark.parametrize(
    ("right", "apart", "goes_along_rows"),
    [
        (B[k * n + j], n, True),
        (B[k + j], ONE, True),
        (B[(k * n + i) * n + j], n * n, True),
        (B[j * n + k], None, False),
        (B[k % n * n + j], None, True),
        (B[k * k + j], None, True),
        (B[Call("least", (k, n)) + j], None, True),
        (B[k * n + j] * D[j], None, True),
    ],
)
def test_rows_of_shared_factors_are_read_in_place(right, apart, goes_along_rows):
    one = tiled(right)
    assert one.right_strides == (apart and [apart, ONE])
    assert one.goes_along_rows == goes_along_rows


@pytest.mark.parametrize(
    ("left", "minus", "apart"),
    [
        (A[i * n + k], False, [n, ONE]),
        (A[k * n + i], False, [ONE, n]),
        (A[i], False, [ONE, ZERO]),
        (A[i * n + k], True, None),
        (A[i * n + k] * D[i], False, None),
        (A[i * i + k], False, None),
    ],
)
def test_factors_of_rows_are_read_in_place(left, minus, apart):
    one = tiled(B[k * n + j], left, minus)
    assert one.left_strides == apart
    assert one.heap == [one.block, *([one.factors] if apart is None else [])]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (i, ONE),
        (j, ZERO),
        (i * n, n),
        (n * i, n),
        (n + (i - j) * n, n),
        ((i + i) * n + i, (ONE + ONE) * n + ONE),
        (i // 2, None),
        (i * i, None),
        (A[i], None),
    ],
)
def test_strides(index, expected):
    assert stride(index, i) == expected


@needs_compiler
def test_values_of_shared_factors_near_and_far():
    program = tiled_program(PRODUCT, dict.fromkeys("CAB", "dd"))
    assert "TILE_NEAR_BYTES = 1 << 18" in program.source  # 32,768 doubles
    for rows, depth, columns in ((25, 190, 191), (24, 300, 140), (25, 257, 300), (40, 9, 17)):
        A, B = arrays((rows, depth), (depth, columns))
        np.testing.assert_array_equal(program.run({"A": A, "B": B}).to_numpy(), A @ B)
