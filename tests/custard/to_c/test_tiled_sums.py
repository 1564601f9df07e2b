"""The loops of a sum of products of dense arrays, in tiles whose sums stay in registers."""

import numpy as np
import pytest

from custard.to_c.builder import namer
from custard.to_c.dense_sums import DenseSum
from custard.to_c.loop_ir import ZERO, Assign, Call, For, Type, Var, array
from custard.to_c.tiled_sums import Tile, TiledSum
from tests.custard.to_c.test_register_tiles import PRODUCT, arrays, tiled_program
from tests.support.compiler import needs_compiler

DOUBLE = Type("double")
A, B, C, D = (Var(name, array(DOUBLE)) for name in "ABCD")
i, j, k, n = (Var(name) for name in "ijkn")


def tiled(right):
    """The tiled sum with some factors that the rows share."""
    rows, columns, depth = (For(one, ZERO, n, []) for one in (i, j, k))
    add = Assign(C[i * n + j], A[i * n + k] * right, "+")
    tile = Tile([], rows, columns, depth, A[i * n + k], right, False)
    return TiledSum(DenseSum([rows, columns, depth], add), tile, namer([], ()))


@pytest.mark.parametrize(
    ("right", "is_affine", "goes_along_rows"),
    [
        (B[k * n + j], True, True),
        (B[k + j], True, True),
        (B[j * n + k], False, False),
        (B[k % n * n + j], False, True),
        (B[k * k + j], False, True),
        (B[Call("least", (k, n)) + j], False, True),
        (B[k * n + j] * D[j], False, True),
    ],
)
def test_rows_of_shared_factors_are_read_in_place(right, is_affine, goes_along_rows):
    one = tiled(right)
    assert (one.is_affine, one.goes_along_rows) == (is_affine, goes_along_rows)


@needs_compiler
def test_values_of_shared_factors_near_and_far():
    program = tiled_program(PRODUCT, dict.fromkeys("CAB", "dd"))
    for rows, depth, columns in ((33, 70, 48), (32, 300, 40), (33, 257, 300), (40, 9, 17)):
        A, B = arrays((rows, depth), (depth, columns))
        np.testing.assert_array_equal(program.run({"A": A, "B": B}).to_numpy(), A @ B)
