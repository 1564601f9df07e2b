"""Matrices of scipy.sparse."""

import sys
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
import scipy.sparse

import custard
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.tensors import FIGURE, SCIPY_FORMATS, formats, refused


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

    @pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_array])
    @pytest.mark.parametrize("levels", ["ds", "ss", "uq"])
    def test_the_order_of_rows_is_looked_at_whatever_a_flag_says(self, make, levels):
        """By hand: rows, or columns, with 2 and 5 at coordinates 2 and 0, and 3 + 4 at 1."""
        matrix = make(([2, 5, 3, 4], [2, 0, 1, 1], [0, 2, 4, 4]), shape=(3, 3))
        matrix.has_canonical_format = True
        wide = matrix.copy()
        wide.indices, wide.has_canonical_format = wide.indices.astype(np.int64), True
        due = np.array([[5, 0, 2], [0, 7, 0], [0, 0, 0]])
        order = (0, 1) if matrix.format == "csr" else (1, 0)
        for one in (matrix, wide):
            tensor = Tensor.from_scipy(one, levels, order)
            tensor.validate()
            assert tensor.to_numpy().tolist() == (due if order == (0, 1) else due.T).tolist()
            assert one.indices.tolist() == [2, 0, 1, 1]
            assert one.data.tolist() == [2, 5, 3, 4]

    @pytest.mark.parametrize("index", ["int8", "uint16", "uint32", "uint64", ">i4"])
    @pytest.mark.parametrize("target", ["sam", "c"])
    def test_indices_of_any_type(self, index, target):
        formats = {"X": "CSR", "A": "CSR"}
        program = custard.compile("X(i,j) = 2 * A(i,j)", formats, target=target)
        for name, parts in product(["csr", "csc"], [["indices"], ["indices", "indptr"]]):
            given = scipy.sparse.csr_array(FIGURE).asformat(name)
            for part in parts:
                setattr(given, part, getattr(given, part).astype(index))
            np.testing.assert_array_equal(program.run({"A": given}).to_numpy(), 2 * FIGURE)

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


def _with(format, **parts):
    """A matrix of FIGURE with other parts than scipy has made."""
    matrix = scipy.sparse.csr_array(FIGURE).asformat(format)
    for name, part in parts.items():
        setattr(matrix, name, part)
    return matrix


def _rows(*rows):
    found = np.empty(len(rows), object)
    found[:] = rows
    return found


@pytest.mark.parametrize(
    "matrix",
    [
        _with("dia", offsets=np.array([0], np.int32)),
        _with("dia", offsets=np.zeros(len(_with("dia").offsets), np.int32)),
        _with("lil", rows=_rows([0, 77], *[[]] * (len(FIGURE) - 1))),
        _with("lil", data=_rows([1.0], *[[]] * (len(FIGURE) - 1))),
        _with("lil", rows=_rows([0])),
        _with("dok", _dict={(99, 0): 1.0}),
        _with("csr", indptr=np.zeros(len(FIGURE) + 1)),
        _with("csr", indices=None),
    ],
    ids=["diagonals", "repeated", "column", "values", "rows", "key", "floats", "none"],
)
@pytest.mark.filterwarnings("ignore:indptr array has non-integer")
def test_parts_of_all_formats_are_checked(matrix):
    """scipy itself would write out of bounds, or read a matrix that nobody has given."""
    for levels in "ds", "ss", "dd":
        with pytest.raises(UserError, match=r"A: the scipy.sparse matrix is not valid: "):
            custard.compile("Y(i,j) = A(i,j)", {"A": levels}).run({"A": matrix})
        with pytest.raises(UserError, match=r"A: the scipy.sparse matrix is not valid: "):
            custard.compile("Y(i,j) = A(i,j)", {"A": levels}, target="c").run({"A": matrix})


def test_rows_of_one_mode():
    vector = scipy.sparse.csr_array(scipy.sparse.coo_array(np.array([0, 2.5, 0, 1])))
    assert Tensor.of(vector).to_numpy().tolist() == [0, 2.5, 0, 1]
    vector.indices[0] = 4
    assert refused(Tensor.of, vector) == (
        "the scipy.sparse matrix is not valid: indices must be < 4"
    )


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


def test_few_entries_are_arranged_alike_whether_scipy_is_loaded_or_not(monkeypatch):
    random = np.random.default_rng(0)
    coordinates = np.argwhere(random.random((9, 7)) < 0.4).T
    values = random.integers(0, 3, coordinates.shape[1]) * 1.0
    kinds = [*product(("ds", "ss", "uq"), ((0, 1), (1, 0)))]
    for (levels, order), (asked, modes) in product(kinds, kinds):
        tensor = Tensor.from_coo(coordinates, values, (9, 7), levels, order)
        with_scipy = tensor.arrange(asked, tuple((mode,) for mode in modes))
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, "scipy.sparse")
            found = tensor.arrange(asked, tuple((mode,) for mode in modes))
        found.validate()
        assert repr(found.levels) == repr(with_scipy.levels)
        assert np.array_equal(found.values, with_scipy.values)
