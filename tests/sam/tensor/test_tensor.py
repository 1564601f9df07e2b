"""Tensors against numpy, scipy, and the SAM paper's Figure 1."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sam.levels import Compressed, Dense
from sam.tensor import Tensor, made
from tests.support.tensors import (
    COLUMNS,
    FIGURE,
    ROWS,
    VALUES,
    formats,
    lists,
    refused,
    small_arrays,
)


class TestFigure1:
    @pytest.mark.parametrize(
        ("levels", "order", "stored", "values"),
        [
            ("ss", (0, 1), [[[0, 3], [0, 1, 3]], [[0, 1, 3, 5], [1, 0, 2, 1, 3]]], VALUES),
            ("ds", (0, 1), [[4], [[0, 1, 3, 3, 5], [1, 0, 2, 1, 3]]], VALUES),
            ("ds", (1, 0), [[4], [[0, 1, 3, 4, 5], [1, 0, 3, 1, 3]]], [2, 1, 4, 3, 5]),
            ("sd", (0, 1), [[[0, 3], [0, 1, 3]], [4]], [0, 1, 0, 0, 2, 0, 3, 0, 0, 4, 0, 5]),
            ("dd", (1, 0), [[4], [4]], FIGURE.T.ravel().tolist()),
        ],
    )
    def test_storage(self, levels, order, stored, values):
        for tensor in (
            Tensor.from_coo([ROWS, COLUMNS], VALUES, (4, 4), levels, order),
            Tensor.from_numpy(FIGURE, levels, order),
            Tensor.from_scipy(scipy.sparse.csr_array(FIGURE), levels, order),
        ):
            assert lists(tensor) == stored
            assert tensor.values.tolist() == values
            assert np.array_equal(tensor.to_numpy(), FIGURE)
            tensor.validate()

    def test_properties_of_a_tensor(self):
        tensor = Tensor.from_coo([ROWS, COLUMNS], VALUES, (4, 4), "ds", (1, 0))
        assert (tensor.ndim, tensor.nnz, tensor.dtype) == (2, 5, np.float64)
        assert tensor.format == "ds:1,0"
        assert repr(tensor) == "Tensor(shape=(4, 4), format='ds:1,0', dtype=float64, nnz=5)"

    def test_entries_are_sorted_by_mode(self):
        coordinates, values = Tensor.from_numpy(FIGURE, "ss", (1, 0)).to_coo()
        assert coordinates.tolist() == [ROWS, COLUMNS]
        assert values.tolist() == VALUES

    def test_singleton(self):
        matrix = np.array([[0, 7, 0], [8, 0, 0]])
        tensor = Tensor.from_numpy(matrix, "dq")
        assert lists(tensor) == [[2], [[1, 0]]]
        assert np.array_equal(tensor.to_numpy(), matrix)
        assert refused(Tensor.from_numpy, FIGURE, "sq") == (
            "the level cannot be stored as singleton: "
            "position 1 above it has 2 coordinates, not 1\n  sq\n   ^"
        )


class TestFromCoo:
    def test_sorts_and_sums(self):
        tensor = Tensor.from_coo([[2, 0, 2, 1], [1, 0, 1, 0]], [1, 2, 3, 0], (3, 2))
        coordinates, values = tensor.to_coo()
        assert coordinates.tolist() == [[0, 1, 2], [0, 0, 1]]
        assert values.tolist() == [2, 0, 4]

    def test_a_sum_of_zero_stays(self):
        assert Tensor.from_coo([[1, 1]], [5.0, -5.0], (3,)).nnz == 1

    def test_booleans_are_joined(self):
        tensor = Tensor.from_coo([[1, 1]], [True, True], (3,))
        assert tensor.to_numpy().tolist() == [False, True, False]
        assert tensor.dtype == bool

    def test_scalars(self):
        assert Tensor.from_coo([], [], ()).to_numpy() == 0
        assert Tensor.from_coo([], [3], ()).to_numpy() == 3
        assert Tensor.from_coo(np.zeros((0, 2), int), [3, 4], ()).to_numpy() == 7

    def test_extents_beyond_64_bits_in_product(self):
        tensor = Tensor.from_coo([[2**40, 1], [5, 2**40]], [1, 2], (2**41, 2**41))
        assert tensor.to_coo()[0].tolist() == [[1, 2**40], [2**40, 5]]

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (
                ([[0, 3], [0, 1]], [1, 1], (3, 2)),
                "entry 1 at (3, 1) is outside the shape (3, 2): mode 0 has the extent 3",
            ),
            (
                ([[0], [-1]], [1], (3, 2)),
                "entry 0 at (0, -1) is outside the shape (3, 2): mode 1 has the extent 2",
            ),
            (
                ([[0, 1]], [1, 1], (3, 2)),
                "the coordinates must be integers of the shape (2, 2), "
                "not int64 of the shape (1, 2)",
            ),
            (
                ([[0.5]], [1], (3,)),
                "the coordinates must be integers of the shape (1, 1), "
                "not float64 of the shape (1, 1)",
            ),
            (([[0]], ["a"], (3,)), "values of the type <U1 are not numbers"),
            (([[0]], [[1]], (3,)), "the values must have one dimension, not the shape (1, 1)"),
            (([[0]], [1], (-3,)), "(-3,) is not a shape: extents are at least 0"),
            (([[0]], [1], (2.5,)), "(2.5,) is not a shape: extents are whole numbers"),
            (
                ([[0], [0]], [1], (3, 2), "sx"),
                '"x" is not a level format\n  sx\n   ^\n'
                "hint: one of d (dense), s (compressed), u (compressed non-unique), q (singleton), "
                "c (singleton non-unique), h (hashed), r (range), o (offset), b (bitvector), "
                "l (linked list), n (run-length)",
            ),
            (
                ([[0], [0]], [1], (3, 2), "s"),
                'the format "s" has 1 level, the tensor has 2 modes',
            ),
            (
                ([[0], [0]], [1], (3, 2), "ss", (1, 1)),
                "(1, 1) is not an order of 2 modes\nhint: each mode once, counted from 0",
            ),
            (
                ([[0], [0]], [1], (2**40, 2**40), "dd"),
                "a tensor of the shape (1099511627776, 1099511627776) is too large for "
                '"dd"\nhint: compressed levels',
            ),
        ],
    )
    def test_refuses(self, arguments, text):
        assert refused(Tensor.from_coo, *arguments) == text


class TestNumpy:
    @settings(deadline=None, max_examples=50)
    @given(small_arrays(), st.randoms(use_true_random=False))
    def test_round_trip_in_every_format(self, array, random):
        every = list(formats(array.ndim))
        for levels, order in random.sample(every, min(50, len(every))):
            tensor = Tensor.from_numpy(array, levels, order)
            tensor.validate()
            assert (tensor.mode_order, len(tensor.levels)) == (order, array.ndim)
            assert np.array_equal(tensor.to_numpy(), array)
            coordinates, values = tensor.to_coo()
            if array.ndim:
                assert coordinates.T.tolist() == np.argwhere(array).tolist()
                assert values.tolist() == array[array != 0].tolist()

    def test_dense_shares_the_array(self):
        assert np.shares_memory(Tensor.from_numpy(FIGURE).values, FIGURE)
        assert np.shares_memory(Tensor.from_numpy(FIGURE).to_numpy(), FIGURE)
        assert np.shares_memory(Tensor.from_numpy(FIGURE.T, "dd", (1, 0)).values, FIGURE)

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("bool", "bool"),
            ("int8", "int32"),
            ("uint16", "int32"),
            ("uint32", "int64"),
            ("uint64", "int64"),
            (">i8", "int64"),
            ("float16", "float32"),
            ("float32", "float32"),
            ("longdouble", "float64"),
            ("complex64", "complex64"),
            ("clongdouble", "complex128"),
        ],
    )
    def test_types(self, given, kept):
        tensor = Tensor.from_numpy(np.array([[0, 1]], given), "ss")
        assert tensor.dtype == np.dtype(kept)
        assert tensor.to_numpy().tolist() == [[0, 1]]

    def test_refuses_unsigned_beyond_64_bits(self):
        assert refused(Tensor.from_numpy, np.array([2**63], "uint64")) == (
            "the value 9223372036854775808 does not fit in 64 bits with a sign"
        )

    def test_nan_and_infinity_are_entries(self):
        assert Tensor.from_numpy(np.array([0, np.nan, np.inf]), "s").nnz == 2


class TestOf:
    def test_default_levels(self):
        assert Tensor.of(3.5).format == ""
        assert Tensor.of([[1, 2], [3, 4]]).format == "dd:0,1"
        assert Tensor.of(np.zeros((2, 0))).format == "dd:0,1"
        assert Tensor.of(scipy.sparse.csr_matrix(FIGURE)).format == "ss:0,1"
        stored = Tensor.from_numpy(FIGURE, "sd", (1, 0))
        assert Tensor.of(stored) is stored
        assert Tensor.of(stored, "ds").format == "ds:1,0"

    @pytest.mark.parametrize("number", [True, 3, -2.5, 1j, np.float32(2), np.int64(7)])
    def test_scalars(self, number):
        tensor = Tensor.of(number)
        assert tensor.shape == ()
        assert tensor.values.tolist() == [number]
        assert tensor.to_numpy() == number
        assert tensor.to_numpy().shape == ()

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (
                "abc",
                "str is not a tensor\n"
                "hint: a number, nested lists, a numpy array, scipy.sparse or sam.Tensor; "
                "sam.io.read reads a file",
            ),
            (
                None,
                "NoneType is not a tensor\n"
                "hint: a number, nested lists, a numpy array, scipy.sparse or sam.Tensor",
            ),
            (["a"], "values of the type <U1 are not numbers"),
            ([None], "values of the type object are not numbers"),
            (np.array([{}]), "values of the type object are not numbers"),
            (
                np.ma.masked_equal([1, 2], 2),
                "some values are masked\nhint: array.filled(0) has zeros there",
            ),
            (np.array(["2020"], "datetime64"), "values of the type datetime64[Y] are not numbers"),
        ],
    )
    def test_refuses(self, data, text):
        assert refused(Tensor.of, data) == text

    def test_refuses_ragged_lists(self):
        assert refused(Tensor.of, [[1], [1, 2]]).startswith("the nested lists are not a tensor: ")


class TestConvert:
    @settings(deadline=None)
    @given(small_arrays(), st.data())
    def test_any_format_to_any_other(self, array, data):
        every = list(formats(array.ndim))
        before, after = data.draw(st.sampled_from(every)), data.draw(st.sampled_from(every))
        tensor = Tensor.from_numpy(array, *before).convert(*after)
        tensor.validate()
        expected = Tensor.from_numpy(array, *after)
        assert lists(tensor) == lists(expected)
        assert tensor.values.tolist() == expected.values.tolist()

    def test_the_same_format_is_the_same_tensor(self):
        tensor = Tensor.from_numpy(FIGURE, "ds")
        assert tensor.convert() is tensor
        assert tensor.convert("ds", (0, 1)) is tensor

    def test_explicit_zeros_stay_but_a_dense_last_level_has_none(self):
        sparse = Tensor.from_coo([[0, 1], [0, 1]], [0, 5], (2, 2), "ds")
        assert sparse.convert("ss").values.tolist() == [0, 5]
        assert sparse.convert("sd").values.tolist() == [0, 0, 0, 5]
        assert sparse.convert("sd").convert("ss").values.tolist() == [5]


def test_indices_of_32_bits_are_widened_when_levels_are_asked_for():
    segments, coordinates = np.array([0, 2, 3], np.int32), np.array([0, 2, 1], np.int32)
    levels = Dense(2), Compressed(segments, coordinates)
    narrow = made((2, 3), (0, 1), levels, np.array([1.0, 2, 3]), narrow=True)
    copied = pickle.loads(pickle.dumps(narrow))
    assert (narrow.format, narrow.nnz) == ("ds:0,1", 3)
    matrix = narrow.to_scipy()
    assert np.shares_memory(matrix.indices, coordinates)
    for one in (narrow, copied):
        assert one.levels[1].coordinates.dtype == one.levels[1].segments.dtype == np.int64
        assert one.levels is one.levels
        assert one.to_numpy().tolist() == [[1, 0, 2], [0, 3, 0]]
        one.validate()
    assert matrix.toarray().tolist() == [[1, 0, 2], [0, 3, 0]]
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'level'"):
        narrow.level  # noqa: B018


def test_kernels_read_indices_of_32_bits_where_they_fit():
    tensor = Tensor.from_numpy(FIGURE, "ds")
    _, rows = tensor.narrow_levels
    assert rows.coordinates.dtype == rows.segments.dtype == np.int32
    assert rows.coordinates.tolist() == tensor.levels[1].coordinates.tolist()
    assert tensor.levels[1].coordinates.dtype == np.int64
    assert "narrow_levels" not in vars(pickle.loads(pickle.dumps(tensor)))
    far = Tensor.from_coo([[5], [2**31]], [1.0], (6, 2**31 + 1), "ds")
    assert far.narrow_levels is not far.levels
    assert far.narrow_levels[1] is far.levels[1]
    assert Tensor.from_numpy(np.array(2.0)).narrow_levels == ()


def test_that_every_coordinate_has_an_entry_is_found_out_once(monkeypatch):
    levels = (
        Compressed(np.array([0, 1]), np.array([1])),
        Compressed(np.array([0, 1]), np.array([0])),
    )
    tensor = Tensor((2, 3), (0, 1), levels, np.array([1.0]))
    assert tensor.is_arranged("ss", (0, 1))
    monkeypatch.setattr("sam.tensor.tensor.are_pruned", None)
    assert tensor.is_arranged("ss", (0, 1))
    assert not tensor.is_arranged("ss", (1, 0))
    assert not tensor.is_arranged("ds", (0, 1))
