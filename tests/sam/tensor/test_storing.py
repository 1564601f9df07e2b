"""Entries in levels of any format."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam.levels import LEVELS, Compressed, CompressedNonUnique, Dense, Singleton
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.tensors import (
    COLUMNS,
    FIGURE,
    ROWS,
    VALUES,
    any_formats,
    lists,
    refused,
    small_arrays,
)


class TestAllFormats:
    """Every format of levels against the dense array."""

    @settings(deadline=None)
    @given(small_arrays(), st.data())
    def test_from_any_to_any(self, array, data):
        before, after = data.draw(any_formats(array.ndim)), data.draw(any_formats(array.ndim))
        tensor = Tensor.from_numpy(array, *before)
        tensor.validate()
        assert np.array_equal(tensor.to_numpy(), array)
        assert tensor.to_coo()[0].T.tolist() == np.argwhere(array).tolist() or array.ndim == 0
        converted = tensor.convert(*after)
        converted.validate()
        assert (converted.format[: array.ndim], converted.mode_order) == after
        expected = Tensor.from_numpy(array, *after)
        assert lists(converted) == lists(expected)
        assert converted.values.tolist() == expected.values.tolist()
        assert converted.arrange(after[0], tuple((m,) for m in after[1])).levels is converted.levels

    @settings(deadline=None, max_examples=200)
    @given(small_arrays(), st.data())
    def test_codes_hold_the_tensor_or_say_that_they_cannot(self, array, data):
        codes = "".join(data.draw(st.permutations("dsuqchrobl"))[: array.ndim])
        try:
            tensor = Tensor.from_numpy(array, codes)
        except UserError:
            text = refused(Tensor.from_numpy, array, codes)
            names = [LEVELS[code].name for code in codes if code in "qco"]
            assert any(text.startswith(f"the level cannot be stored as {name}: ") for name in names)
            return
        tensor.validate()
        assert np.array_equal(tensor.to_numpy(), array)
        assert np.array_equal(tensor.convert("s" * array.ndim).to_numpy(), array)

    @settings(deadline=None)
    @given(small_arrays(), st.data())
    def test_arranged_and_scanned(self, array, data):
        tensor = Tensor.from_numpy(array, *data.draw(any_formats(array.ndim)))
        levels, order = data.draw(any_formats(array.ndim))
        arranged = tensor.arrange(levels, tuple((mode,) for mode in order))
        arranged.validate()
        scanned = [level.as_lists() for level in arranged.scanned_levels()]
        found = np.zeros(arranged.shape, array.dtype)

        def visit(n, parent, coordinates):
            """Whether something was found, in fibers whose coordinates increase."""
            if n == len(scanned):
                found[coordinates] += arranged.values[parent]
                return True
            previous = -1
            for step in range(*scanned[n].fiber(parent)):
                coordinate = scanned[n].coordinate(parent, step)
                if coordinate >= 0:
                    assert coordinate > previous
                    previous = coordinate
                    position = scanned[n].position(parent, step)
                    below = visit(n + 1, position, (*coordinates, coordinate))
                    assert below or arranged.levels[n].padded
            return previous >= 0

        visit(0, 0, ())
        assert np.array_equal(found, array.transpose(order))

    def test_coo_has_a_position_for_each_entry(self):
        tensor = Tensor.from_numpy(FIGURE, "uq")
        assert lists(tensor) == [[[0, 5], ROWS], [COLUMNS]]
        assert tensor.values.tolist() == VALUES

    def test_mode_generic_has_a_position_for_each_block(self):
        """Blocks of 2 x 2 with entries are at (0, 0), (0, 1), (1, 0) and (1, 1)."""
        tensor = Tensor.from_numpy(FIGURE).blocked((2, 2), "uqdd")
        assert lists(tensor) == [[[0, 4], [0, 0, 1, 1]], [[0, 1, 0, 1]], [2], [2]]
        assert tensor.values.tolist() == [0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 0, 0, 5]

    @pytest.mark.parametrize("levels", ["ucq", "uqq", "ucc"])
    def test_a_chain_takes_in_all_singleton_levels(self, levels):
        array = np.zeros((2, 3, 4))
        array[1, 2, [0, 3]] = 1
        assert lists(Tensor.from_numpy(array, levels)) == [[[0, 2], [1, 1]], [[2, 2]], [[0, 3]]]

    def test_a_singleton_below_empty_buckets(self):
        """Rows 0 and 2 have a column each; of 4 buckets, 1 and 3 are empty."""
        tensor = Tensor.from_coo([[0, 2], [3, 1]], [5, 6], (3, 4), "hq")
        assert lists(tensor) == [[4, [0, -1, 2, -1]], [[3, -1, 1, -1]]]
        assert tensor.values.tolist() == [5, 0, 6, 0]
        tensor.validate()
        assert tensor.to_coo()[1].tolist() == [5, 6]

    def test_explicit_zeros_stay_except_where_the_last_level_is_padded(self):
        tensor = Tensor.from_coo([[0, 1], [1, 0]], [0, 5], (2, 2))
        for codes in ("uq", "hh", "bb", "sh", "db", "rs"):
            assert tensor.convert(codes).to_coo()[1].tolist() == [0, 5]
        for codes in ("sd", "sr"):
            assert tensor.convert(codes).to_coo()[1].tolist() == [5]

    def test_a_hash_table_that_would_not_fit(self):
        assert refused(Tensor.from_coo, [[0], [0]], [1], (2**40, 4), "dh") == (
            'a tensor of the shape (1099511627776, 4) is too large for "dh"\n'
            "hint: compressed levels"
        )

    @pytest.mark.parametrize(
        ("levels", "text"),
        [
            (
                (CompressedNonUnique(np.array([0, 2]), np.array([1, 1])), Dense(1)),
                "duplicates cannot be joined above a dense level",
            ),
            (
                (
                    CompressedNonUnique(np.array([0, 2]), np.array([1, 1])),
                    Singleton(np.array([0, 0])),
                ),
                "its entries are not in order, or two have the same coordinates",
            ),
        ],
    )
    def test_validate_finds_duplicates(self, levels, text):
        assert refused(Tensor((2, 1), (0, 1), levels, np.ones(2)).validate) == text

    def test_two_duplicates_above_compressed_levels_are_chained(self):
        """Row 1 twice, with the columns (0, 2) and (3): a chain of all three."""
        rows = CompressedNonUnique(np.array([0, 2]), np.array([1, 1]))
        columns = Compressed(np.array([0, 2, 3]), np.array([0, 2, 3]))
        tensor = Tensor((2, 4), (0, 1), (rows, columns), np.ones(3))
        tensor.validate()
        assert tensor.scanned_levels()[1].fiber(0) == (0, 3)


@pytest.mark.parametrize("below", ["s", "u", "d", "h", "b"])
def test_levels_below_a_hash_table_that_goes_round(below):
    """Of the coordinates 3 and 4 in a table of four buckets, 4 is in the first, 3 in the last."""
    dense = np.zeros((5, 2))
    dense[3, 1], dense[4, 1] = 4, 1
    tensor = Tensor.of(dense, f"h{below}")
    assert np.asarray(tensor.levels[0].coordinates).tolist() == [4, -1, -1, 3]
    tensor.validate()
    assert np.array_equal(tensor.to_numpy(), dense)
