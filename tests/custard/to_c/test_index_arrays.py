"""Checks of index arrays, and the transposition of rows, beside scipy's."""

import numpy as np
import pytest
import scipy.sparse as sp

from custard.to_c import index_arrays
from custard.to_c.index_arrays import RowArrays, is_list, rows_of, turned
from sam.support.errors import UserError
from tests.support.compiler import needs_compiler

INDICES = [np.int32, np.int64]


def rows(segments, coordinates, extents=(3, 4), index=np.int32):
    arrays = np.array(segments, index), np.array(coordinates, index)
    return rows_of(*arrays, np.arange(1.0, len(coordinates) + 1), extents)


@needs_compiler
@pytest.mark.parametrize("index", INDICES)
def test_rows_are_taken_as_they_are(index):
    found = rows([0, 2, 2, 3], [0, 3, 1], index=index)
    assert [one.tolist() for one in found] == [[0, 2, 2, 3], [0, 3, 1], [1, 2, 3]]
    assert rows([0, 0, 0, 0], [], index=index).values.tolist() == []
    # The second row begins at a smaller coordinate, at the same one, and at a larger one.
    for last in range(4):
        assert rows([0, 1, 2, 2], [2, last], index=index) is not None


@needs_compiler
@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(
    ("segments", "coordinates"),
    [
        ([0, 2, 2, 3], [3, 0, 1]),  # not in order
        ([0, 2, 2, 3], [0, 0, 1]),  # twice
        ([0, 0, 1, 3], [1, 3, 3]),  # twice in the last row
        ([0, 2, 2, 3], [0, 4, 1]),  # beyond the extent
        ([0, 2, 2, 3], [-1, 3, 1]),
        ([0, 2, 2, 3], [0, 3, -1]),
        ([0, 2, 1, 3], [0, 3, 1]),  # segments that decrease
        ([1, 2, 2, 3], [0, 3, 1]),
        ([0, 2, 2, 4], [0, 3, 1]),  # too few coordinates
        ([0, 2, 2, -1], [0, 3, 1]),
        ([0, 2, 3], [0, 3, 1]),  # too few rows
    ],
)
def test_other_arrays_are_not_rows(segments, coordinates, index):
    assert rows(segments, coordinates, index=index) is None


@needs_compiler
def test_what_lies_behind_the_last_entry_is_left_out():
    found = rows([0, 1, 1, 2], [3, 1, 99, -5])
    assert (found.coordinates.tolist(), found.values.tolist()) == ([3, 1], [1, 2])


def test_arrays_of_other_kinds_are_not_rows():
    segments, coordinates, values = np.array([0, 1]), np.array([0]), np.ones(1)
    for other in (segments.astype(np.int32), segments.astype(np.uint64), [0, 1], segments[::-1]):
        assert rows_of(other, coordinates, values, (1, 1)) is None
    assert rows_of(segments, coordinates, np.ones(2), (1, 1)) is None
    assert rows_of(segments, coordinates[:, None], np.ones((1, 1)), (1, 1)) is None


@needs_compiler
def test_extents_beyond_32_bits_hold_all_coordinates_of_32():
    assert rows([0, 2], [0, 2**31 - 1], (1, 2**40)) is not None
    assert rows([0, 2], [-1, 2**31 - 1], (1, 2**40)) is None
    assert rows([0, 1], [2**40], (1, 2**40 + 1), np.int64) is not None
    assert rows([0, 1], [2**40], (1, 2**40), np.int64) is None


@needs_compiler
@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]
)
def test_columns_are_those_of_scipy(index, dtype):
    random = np.random.default_rng(3)
    dense = random.integers(-3, 4, (7, 5)) * (1 + 2j if dtype.startswith("c") else 1)
    dense[:, 2] = dense[3] = 0
    matrix = sp.csr_array(dense.astype(dtype))
    given = RowArrays(matrix.indptr.astype(index), matrix.indices.astype(index), matrix.data)
    found, due = turned(given, 5), matrix.tocsc()
    assert found.segments.dtype == found.coordinates.dtype == index
    for one, other in zip(found, (due.indptr, due.indices, due.data), strict=True):
        np.testing.assert_array_equal(one, other)
    empty = turned(RowArrays(np.zeros(4, index), np.zeros(0, index), np.zeros(0, dtype)), 2)
    assert [len(one) for one in empty] == [3, 0, 0]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(
    ("coordinates", "valid"),
    [
        (([0, 0, 1], [1, 2, 0]), True),
        (([], []), True),
        (([2], [3]), True),
        (([0, 0, 1], [2, 1, 0]), False),
        (([0, 0, 1], [1, 1, 0]), False),
        (([1, 0], [0, 1]), False),
        (([0, 3], [0, 0]), False),
        (([0, 0], [0, 4]), False),
        (([-1, 0], [0, 0]), False),
    ],
)
def test_lists_are_valid_and_in_order(coordinates, valid, index, monkeypatch):
    arrays = [np.array(one, index) for one in coordinates]
    assert is_list(arrays, (3, 4)) == valid
    monkeypatch.setattr(index_arrays, "_list_check", lambda index: None)  # no compiler
    assert is_list(arrays, (3, 4)) == valid


@needs_compiler
def test_lists_of_three_modes():
    arrays = [np.array(one) for one in ([0, 0, 0], [1, 1, 2], [4, 5, 0])]
    assert is_list(arrays, (1, 3, 6))
    assert not is_list(arrays, (1, 3, 5))
    assert not is_list(arrays[::-1], (6, 3, 1))


def test_without_a_compiler_nothing_is_known(monkeypatch):
    def none(sources):
        raise UserError("no compiler")

    monkeypatch.setattr(index_arrays.c_compiler, "build", none)
    cached = [index_arrays._library, index_arrays._row_check, index_arrays._turn]
    for one in cached:
        one.cache_clear()
    segments, coordinates = np.array([0, 1]), np.array([0])
    assert rows_of(segments, coordinates, np.ones(1), (1, 1)) is None
    assert turned(RowArrays(segments, coordinates, np.ones(1)), 1) is None
    for one in cached:
        one.cache_clear()
