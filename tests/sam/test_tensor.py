"""Tensors against numpy, scipy, and the SAM paper's Figure 1."""

from dataclasses import fields
from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sam.levels import LEVELS, Compressed, CompressedNonUnique, Dense, Offset, Range, Singleton
from sam.support.errors import UserError
from sam.tensor import Tensor

# The matrix of Figure 1: rows 0, 1 and 3 have the columns (1), (0, 2) and (1, 3).
ROWS, COLUMNS, VALUES = [0, 1, 1, 3, 3], [1, 0, 2, 1, 3], [1.0, 2.0, 3.0, 4.0, 5.0]
FIGURE = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]], float)

SCIPY_FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def small_arrays(values=None):
    shapes = st.one_of(st.just(()), array_shapes(max_dims=4, min_side=0, max_side=4))
    return arrays(np.int64, shapes, elements=values or st.sampled_from([0, 0, 0, 1, -2, 7]))


def formats(ndim, codes="ds"):
    return product(map("".join, product(codes, repeat=ndim)), permutations(range(ndim)))


@st.composite
def any_formats(draw, ndim):
    """Formats that hold any tensor: chains of c and q hang on a u or c."""
    codes = ""
    for _ in range(ndim):
        codes += draw(st.sampled_from("qqc" if codes[-1:] in ("u", "c") else "dsuuhb"))
    return codes, tuple(draw(st.permutations(range(ndim))))


def lists(tensor):
    """The levels' arrays as lists: ``[size]`` of a dense one, segments and coordinates."""
    return [list(vars(level.as_lists()).values()) for level in tensor.levels]


def refused(call, *arguments, **options):
    with pytest.raises(UserError) as error:
        call(*arguments, **options)
    return str(error.value)


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

    def test_what_it_tells(self):
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


class TestScipy:
    @pytest.mark.parametrize("format", SCIPY_FORMATS)
    @pytest.mark.parametrize("kind", ["array", "matrix"])
    def test_every_format(self, format, kind):
        matrix = getattr(scipy.sparse, f"{format}_{kind}")(FIGURE)
        for levels, order in formats(2):
            tensor = Tensor.from_scipy(matrix, levels, order)
            assert np.array_equal(tensor.to_numpy(), FIGURE)
            back = tensor.to_scipy(format)
            assert back.format == format
            assert np.array_equal(back.toarray(), FIGURE)

    @pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3)])
    def test_empty(self, shape):
        for format, (levels, order) in product(["csr", "csc", "coo"], formats(2)):
            empty = scipy.sparse.coo_array(shape).asformat(format)
            tensor = Tensor.from_scipy(empty, levels, order)
            tensor.validate()
            assert tensor.to_scipy(format).shape == shape
            assert tensor.to_numpy().shape == shape

    @pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
    def test_other_numbers_of_modes(self, shape):
        array = np.arange(np.prod(shape)).reshape(shape) % 3
        back = Tensor.from_scipy(scipy.sparse.coo_array(array)).to_scipy()
        assert back.format == "coo"
        assert np.array_equal(back.toarray(), array)

    def test_explicit_zeros_stay_and_duplicates_are_summed(self):
        matrix = scipy.sparse.coo_matrix(([0.0, 1.0, 2.0], ([0, 1, 1], [1, 1, 1])), (2, 3))
        tensor = Tensor.from_scipy(matrix)
        assert tensor.format == "ss:0,1"
        assert tensor.values.tolist() == [0, 3]
        assert tensor.to_scipy().nnz == 2

    @pytest.mark.parametrize(("format", "order"), [("csr", (0, 1)), ("csc", (1, 0))])
    def test_canonical_csr_and_csc_share_their_arrays(self, format, order):
        matrix = scipy.sparse.csr_array(FIGURE).asformat(format)
        tensor = Tensor.from_scipy(matrix, "ds", order)
        assert np.shares_memory(tensor.values, matrix.data)
        assert np.shares_memory(tensor.to_scipy(format).data, matrix.data)
        matrix.indptr, matrix.indices = (a.astype("int64") for a in (matrix.indptr, matrix.indices))
        segments, coordinates = vars(Tensor.from_scipy(matrix, "ds", order).levels[1]).values()
        assert np.shares_memory(segments, matrix.indptr)
        assert np.shares_memory(coordinates, matrix.indices)

    def test_unsorted_csr_with_duplicates(self):
        matrix = scipy.sparse.csr_array(([1, 2, 3], [2, 0, 2], [0, 3, 3]), shape=(2, 3))
        tensor = Tensor.from_scipy(matrix, "ds")
        tensor.validate()
        assert tensor.to_numpy().tolist() == [[2, 0, 4], [0, 0, 0]]
        assert matrix.indices.tolist() == [2, 0, 2]

    def test_refuses(self):
        tensor = Tensor.from_numpy(FIGURE)
        assert refused(tensor.to_scipy, "crs") == (
            '"crs" is not a scipy.sparse format\nhint: did you mean csr?'
        )
        assert refused(Tensor.of(1).to_scipy) == "scipy.sparse has no scalars\nhint: to_numpy()"
        broken = scipy.sparse.csr_array(FIGURE)
        broken.indices[0] = 9
        assert refused(Tensor.from_scipy, broken, "ds").startswith(
            "the scipy.sparse matrix is not valid: "
        )


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
            "(2,) is no block of 2 modes\nhint: an extent of at least 1 for each mode"
        )
        assert refused(vector.unblocked) == "1 mode are no blocks: they come in pairs"
        assert refused(vector.diagonals) == "a tensor of 1 mode is no matrix"
        assert refused(vector.ell) == "a tensor of 1 mode is no matrix"
        assert refused(matrix.summed, 2) == "2 is no mode of 2 modes"
        wide = Tensor.from_coo([[0, 1], [0, 2**33]], [1, 1], (2**33, 2**34))
        assert refused(wide.diagonals).startswith("a tensor of the shape (2, 8589934592, ")

    def test_levels_of_the_views(self):
        assert isinstance(Tensor.from_numpy(PAPER).diagonals().levels[1], Range)
        assert isinstance(Tensor.from_numpy(PAPER).diagonals().levels[2], Offset)


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

    def test_prunes_what_was_stored_without_entries(self):
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

    def test_keeps_what_lies_around(self):
        around = Tensor.from_numpy([[1.0, 2.0], [3.0, 4.0]], "ss", (1, 0))
        found = Tensor.from_numpy([0, 7], "s").spread(((0, 1),), around)
        assert found.to_numpy().tolist() == [[0, 2], [3, 7]]
        assert found.dtype == np.float64


class TestChecks:
    @pytest.mark.parametrize(
        ("parts", "text"),
        [
            (((2,), (0,), (), np.ones(1)), "1 mode cannot have 0 levels"),
            (
                ((2,), (0,), (Dense(2),), np.ones(3)),
                "the levels have 2 positions, the values have the shape (3,)",
            ),
            (
                ((), (), (), np.ones(0)),
                "the levels have 1 positions, the values have the shape (0,)",
            ),
            (
                ((2,), (1,), (Dense(2),), np.ones(2)),
                "(1,) is not an order of 1 mode\nhint: each mode once, counted from 0",
            ),
        ],
    )
    def test_the_constructor_counts(self, parts, text):
        assert refused(Tensor, *parts) == text

    @pytest.mark.parametrize(
        ("level", "text"),
        [
            (
                Compressed(np.array([0, 1, 1, 2]), np.array([0, 2])),
                "level 1 (compressed) is not valid: "
                "coordinate 2 at position 1 is outside the extent 2",
            ),
            (
                Singleton(np.array([1, 1])),
                "level 1 (singleton) is not valid: it has 2 coordinates for 3 parents",
            ),
        ],
    )
    def test_validate_names_the_level(self, level, text):
        tensor = Tensor((3, 2), (0, 1), (Dense(3), level), np.ones(2))
        assert refused(tensor.validate) == text


@pytest.mark.parametrize("below", ["s", "u", "d", "h", "b"])
def test_levels_below_a_hash_table_that_goes_round(below):
    """Of the coordinates 3 and 4 in a table of four buckets, 4 is in the first, 3 in the last."""
    dense = np.zeros((5, 2))
    dense[3, 1], dense[4, 1] = 4, 1
    tensor = Tensor.of(dense, f"h{below}")
    assert np.asarray(tensor.levels[0].coordinates).tolist() == [4, -1, -1, 3]
    tensor.validate()
    assert np.array_equal(tensor.to_numpy(), dense)


def test_parts_that_are_not_of_the_types_that_they_should_be():
    levels = (Dense(1), Compressed(np.array([0, 1]), np.array([0])))
    with pytest.raises(UserError, match="its values are of the type float16\nhint: the types of"):
        Tensor((1, 1), (0, 1), levels, np.ones(1, "float16")).validate()
    levels = (Dense(1), Compressed(np.array([0, 1.0]), np.array([0])))
    with pytest.raises(
        UserError, match="the segments of a compressed level are of the type float64, not int64"
    ):
        Tensor((1, 1), (0, 1), levels, np.ones(1)).validate()


@pytest.mark.parametrize("levels", ["ds", "ss", "dd"])
@pytest.mark.parametrize(
    ("data", "indices", "indptr", "why"),
    [
        ([1.0, 2], [0, 9], [0, 1, 2], "indices must be < 3"),
        ([1.0, 2], [0, -1], [0, 1, 2], "indices must be >= 0"),
        ([1.0, 2], [0, 1], [0, 10**9, 2], "indptr must be a non-decreasing sequence"),
        ([1.0, 2], [0, 1], [0, 1, 10**9], "Last value of index pointer should be less"),
        ([1.0, 2], [0, 1], [0, 2], "index pointer size 2 should be 3"),
        ([1.0], [0, 1], [0, 1, 2], "indices and data should have the same size"),
    ],
)
def test_scipy_matrices_that_are_not_valid(levels, data, indices, indptr, why):
    """scipy itself would read out of bounds."""
    matrix = scipy.sparse.csr_array((2, 3))
    matrix.data, matrix.indices = np.array(data), np.array(indices, np.int32)
    matrix.indptr = np.array(indptr, np.int32)
    with pytest.raises(UserError, match=f"the scipy.sparse matrix is not valid: {why}"):
        Tensor.of(matrix, levels)


@pytest.mark.parametrize("before", ["ds:0,1", "ds:1,0", "ss:0,1", "ss:1,0", "uq:0,1", "uq:1,0"])
@pytest.mark.parametrize("after", ["ds:0,1", "ds:1,0", "ss:0,1", "ss:1,0", "uq:0,1", "uq:1,0"])
def test_matrices_by_rows_are_converted_as_all_others(before, after):
    dense = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4], [0, 0, 0, 0], [5, 6, 7, 0]])

    def stored(form):
        codes, _, order = form.partition(":")
        return Tensor.from_numpy(dense, codes, [int(mode) for mode in order.split(",")])

    due = stored(after)
    found = stored(before).convert(after[:2], due.mode_order).validated()
    scipys = Tensor.from_scipy(scipy.sparse.csr_array(dense), after[:2], due.mode_order)
    for tensor in (found, scipys):
        tensor.validate()
        assert tensor.format == due.format
        for one, other in zip(tensor.levels, due.levels, strict=True):
            for part in fields(one):
                np.testing.assert_array_equal(getattr(one, part.name), getattr(other, part.name))
        np.testing.assert_array_equal(tensor.values, due.values)


def test_tensors_answer_numpy_and_scipy():
    dense = np.array([[0.0, 2.0], [3.0, 0.0]])
    tensor = Tensor.from_numpy(dense, "ds")
    np.testing.assert_array_equal(np.asarray(tensor), dense)
    assert np.asarray(tensor, "float32").dtype == np.float32
    np.testing.assert_array_equal(tensor.toarray(), dense)
    assert (tensor == dense).all()
    assert not (tensor != scipy.sparse.csr_array(dense)).any()
    assert (tensor == Tensor.from_numpy(dense)).all()
    for found, due in (
        (tensor + tensor, 2 * dense),
        (tensor - scipy.sparse.csr_array(dense), 0 * dense),
        (2 * tensor, 2 * dense),
        (tensor @ np.array([1.0, 1.0]), dense @ np.ones(2)),
        (dense @ tensor, dense @ dense),
        (dense - tensor, 0 * dense),
        (-tensor, -dense),
        (tensor / 2, dense / 2),
    ):
        np.testing.assert_array_equal(found.toarray() if hasattr(found, "toarray") else found, due)
    assert len(tensor) == 2
    vector = Tensor.from_numpy(np.array([1, 0, 2]), "s")
    np.testing.assert_array_equal(vector + np.array([1, 1, 1]), [2, 1, 3])
