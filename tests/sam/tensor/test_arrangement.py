"""Storage in the order of a graph, and diagonals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam.levels import Compressed, Dense
from sam.tensor import Tensor
from tests.support.tensors import FIGURE, formats, lists, refused, small_arrays


class TestArrange:
    @settings(deadline=None)
    @given(small_arrays(), st.data())
    def test_any_format_in_any_order(self, array, data):
        every = list(formats(array.ndim))
        tensor = Tensor.from_numpy(array, *data.draw(st.sampled_from(every)))
        levels, order = data.draw(st.sampled_from(every))
        arranged = tensor.arrange(levels, tuple((mode,) for mode in order))
        arranged.validate()
        assert arranged.format.startswith(levels)
        assert arranged.mode_order == tuple(range(array.ndim))
        assert np.array_equal(arranged.to_numpy(), array.transpose(order))
        for above, level in zip(arranged.levels, arranged.levels[1:], strict=False):
            if isinstance(above, Compressed) and isinstance(level, Compressed):
                assert (np.diff(level.segments) > 0).all()

    def test_shares_arrays_where_nothing_changes(self):
        tensor = Tensor.from_numpy(FIGURE, "ss", (1, 0))
        arranged = tensor.arrange("ss", ((1,), (0,)))
        assert arranged.levels is tensor.levels
        assert arranged.values is tensor.values
        assert np.array_equal(arranged.to_numpy(), FIGURE.T)

    def test_empty_fibers_below_dense_go_and_explicit_zeros_stay(self):
        tensor = Tensor.from_coo([[0, 2], [1, 0]], [0.0, 5.0], (3, 2), "ds")
        arranged = tensor.arrange("ss", ((0,), (1,)))
        assert lists(arranged) == [[[0, 2], [0, 2]], [[0, 1, 2], [1, 0]]]
        assert arranged.values.tolist() == [0, 5]

    def test_prunes_coordinates_stored_without_entries(self):
        rows = Compressed(np.array([0, 3]), np.array([0, 1, 2]))
        columns = Compressed(np.array([0, 1, 1, 2]), np.array([1, 0]))
        tensor = Tensor((3, 2), (0, 1), (rows, columns), np.array([4.0, 5.0]))
        tensor.validate()
        arranged = tensor.arrange("ss", ((0,), (1,)))
        assert lists(arranged) == [[[0, 2], [0, 2]], [[0, 1, 2], [1, 0]]]

    def test_prunes_through_a_dense_level(self):
        rows = Compressed(np.array([0, 2]), np.array([0, 2]))
        depths = Compressed(np.array([0, 0, 1, 1, 1]), np.array([3]))
        tensor = Tensor((3, 2, 4), (0, 1, 2), (rows, Dense(2), depths), np.array([9]))
        arranged = tensor.arrange("sds", ((0,), (1,), (2,)))
        assert lists(arranged) == [[[0, 1], [0]], [2], [[0, 0, 1], [3]]]

    def test_takes_diagonals(self):
        array = np.arange(27).reshape(3, 3, 3)
        tensor = Tensor.from_numpy(array, "sds", (2, 0, 1))
        for levels in ("ss", "sd", "ds", "dd"):
            arranged = tensor.arrange(levels, ((1,), (0, 2)))
            assert np.array_equal(arranged.to_numpy(), np.einsum("iji->ji", array))
        whole = tensor.arrange("s", ((2, 0, 1),))
        assert whole.to_numpy().tolist() == [0, 13, 26]
        assert whole.nnz == 2

    def test_refuses(self):
        tensor = Tensor.from_numpy(np.ones((3, 4)))
        assert refused(tensor.arrange, "s", ((0, 1),)) == (
            "modes 0 and 1 have no diagonal: their extents are 3 and 4"
        )
        assert refused(tensor.arrange, "s", ((0,),)) == (
            "(0,) is not an order of 2 modes\nhint: each mode once, counted from 0"
        )


class TestSpread:
    def test_undoes_arrange(self):
        array = np.arange(6).reshape(1, 2, 3)
        tensor = Tensor.from_numpy(array, "sds", (2, 0, 1))
        arranged = tensor.arrange("sds", ((2,), (0,), (1,)))
        again = arranged.spread(((2,), (0,), (1,)))
        assert again.format == "sds:2,0,1"
        assert again.levels is arranged.levels
        assert np.array_equal(again.to_numpy(), array)

    @pytest.mark.parametrize("levels", ["dd", "sd", "hs", "uq"])
    def test_puts_entries_on_a_diagonal(self, levels):
        """From (j, i) to (i, j, i)."""
        array = np.array([[1, 0, 2], [0, 0, 3]])
        found = Tensor.from_numpy(array, levels).spread(((1,), (0, 2)))
        due = np.zeros((3, 2, 3), int)
        for j, i in np.argwhere(array):
            due[i, j, i] = array[j, i]
        assert np.array_equal(found.to_numpy(), due)

    def test_keeps_entries_off_the_diagonal(self):
        around = Tensor.from_numpy([[1.0, 2.0], [3.0, 4.0]], "ss", (1, 0))
        found = Tensor.from_numpy([0, 7], "s").spread(((0, 1),), around)
        assert found.to_numpy().tolist() == [[0, 2], [3, 7]]
        assert found.dtype == np.float64
