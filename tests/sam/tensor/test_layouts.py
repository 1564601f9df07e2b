"""Blocks, diagonals and slots."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sam.levels import Offset, Range
from sam.tensor import Tensor
from tests.support.tensors import any_formats, lists, refused, small_arrays

# Figure 2e of the formats paper, a matrix of 4 x 6.
PAPER = np.array([[5, 1, 0, 0, 0, 0], [7, 3, 0, 0, 0, 0], [0] * 6, [8, 0, 0, 4, 9, 0]])


class TestViews:
    def test_diagonals(self):
        """Figure 2j: the offsets -3, -1, 0 and 1, a place for each row and diagonal."""
        tensor = Tensor.from_numpy(PAPER, "ds").diagonals()
        tensor.validate()
        assert tensor.format == "dro:0,1,2"
        assert lists(tensor) == [[4], [4, [3, 1, 0, 0], [4, 4, 4, 4]], [6, 4, [-3, -1, 0, 1]]]
        rows = [[0, 0, 0, 8], [0, 7, 0, 0], [5, 3, 0, 4], [1, 0, 0, 9]]
        assert tensor.values.tolist() == [value for row in rows for value in row]
        assert np.array_equal(tensor.summed(0).to_numpy(), PAPER)
        assert np.array_equal(tensor.convert("sss").to_numpy(), tensor.to_numpy())

    def test_ell(self):
        """Figure 2i: three slots of a row each, the first of them first."""
        tensor = Tensor.from_numpy(PAPER, "ds").ell()
        tensor.validate()
        assert tensor.format == "ddq:0,1,2"
        assert lists(tensor) == [[3], [4], [[0, 0, 0, 0, 1, 1, 0, 3, 1, 1, 0, 4]]]
        assert tensor.values.tolist() == [5, 7, 0, 8, 1, 3, 0, 4, 0, 0, 0, 9]
        assert np.array_equal(tensor.summed(0).to_numpy(), PAPER)

    @settings(deadline=None)
    @given(
        arrays(
            np.int64,
            array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5),
            elements=st.sampled_from([0, 0, 1, -2]),
        ),
        st.sampled_from(["ss", "hd", "uq"]),
    )
    def test_any_matrix_has_both(self, array, levels):
        tensor = Tensor.from_numpy(array, levels)
        for view in (tensor.diagonals(), tensor.ell()):
            view.validate()
            assert np.array_equal(view.summed(0).to_numpy(), array)
            assert np.array_equal(view.to_numpy().sum(axis=0, dtype=int), array)
        rebuilt = tensor.diagonals().convert("sss").convert("dro")
        assert np.array_equal(rebuilt.to_numpy(), tensor.diagonals().to_numpy())

    @settings(deadline=None)
    @given(small_arrays(), st.data())
    def test_blocks(self, array, data):
        sizes = [data.draw(st.integers(1, 3)) for _ in array.shape]
        levels = data.draw(any_formats(2 * array.ndim))[0]
        tensor = Tensor.from_numpy(array).blocked(sizes, levels)
        tensor.validate()
        assert tensor.shape[array.ndim :] == tuple(sizes)
        assert np.array_equal(tensor.unblocked(array.shape).to_numpy(), array)
        for place in np.argwhere(array):
            split = (*(place // sizes), *(place % sizes))
            assert tensor.to_numpy()[split] == array[tuple(place)]

    def test_refuses(self):
        matrix, vector = Tensor.from_numpy(PAPER), Tensor.from_numpy(np.ones(3))
        assert refused(matrix.blocked, (2,)) == (
            "(2,) is not a block of 2 modes\nhint: an extent of at least 1 for each mode"
        )
        assert refused(vector.unblocked) == "1 mode are no blocks: they come in pairs"
        assert refused(vector.diagonals) == "a tensor of 1 mode is not a matrix"
        assert refused(vector.ell) == "a tensor of 1 mode is not a matrix"
        assert refused(matrix.summed, 2) == "2 is not a mode of 2 modes"
        wide = Tensor.from_coo([[0, 1], [0, 2**33]], [1, 1], (2**33, 2**34))
        assert refused(wide.diagonals).startswith("a tensor of the shape (2, 8589934592, ")

    def test_levels_of_the_views(self):
        assert isinstance(Tensor.from_numpy(PAPER).diagonals().levels[1], Range)
        assert isinstance(Tensor.from_numpy(PAPER).diagonals().levels[2], Offset)
