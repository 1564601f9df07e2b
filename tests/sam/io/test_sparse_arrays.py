"""Sparse arrays that scipy and pydata/sparse have saved."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from sam.io import read
from tests.support.tensor_files import FIGURE, refused


def test_scipy_files(tmp_path):
    path = tmp_path / "a.npz"
    for format in ("csr", "csc", "coo", "bsr", "dia"):
        scipy.sparse.save_npz(path, scipy.sparse.csr_array(FIGURE).asformat(format))
        tensor = read(path)
        assert tensor.format == "ss:0,1"
        assert np.array_equal(tensor.to_numpy(), FIGURE)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({}, None),
        ({"indices": [1, 0, 2, 1, 4]}, "indices has 4 at place 4, outside the extent 4"),
        ({"indices": [1, 0, -2, 1, 3]}, "indices has -2 at place 2, outside the extent 4"),
        ({"indptr": [0, 1, 3, 2, 5]}, "indptr does not rise from 0 to at most 5"),
        ({"indptr": [0, 1, 3, 3, 6]}, "indptr does not rise from 0 to at most 5"),
        ({"indptr": [0, 1, 3]}, "indptr has 3 offsets for 4 rows"),
        ({"data": list("abcde")}, "values of the type <U1 are not numbers"),
        ({"format": 3}, "its format is 3, and not one of csr, csc, coo, bsr, dia"),
        ({"shape": [4, -4]}, "its shape is (4, -4)"),
    ],
)
def test_scipy_files_are_checked_before_scipy_sees_them(tmp_path, changed, error):
    matrix = scipy.sparse.csr_array(FIGURE)
    parts = {
        "format": "csr",
        "shape": matrix.shape,
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
    }
    np.savez(tmp_path / "a.npz", **{**parts, **changed})
    if error is None:
        assert np.array_equal(read(tmp_path / "a.npz").to_numpy(), FIGURE)
    else:
        assert refused(tmp_path / "a.npz").endswith(error)


def test_pydata_sparse(tmp_path):
    path = tmp_path / "a.npz"
    array = np.zeros((2, 3, 4))
    array[0, 1, 3], array[1, 2, 0] = 5, 7
    shape, data = np.array(array.shape), np.array([5.0, 7.0])
    coordinates = np.array([[0, 1], [1, 2], [3, 0]])
    np.savez(path, coords=coordinates, data=data, shape=shape, fill_value=np.array(0.0))
    assert np.array_equal(read(path).to_numpy(), array)
    np.savez(path, coords=coordinates, data=data, shape=shape, fill_value=np.array(1.5))
    assert refused(path).startswith("a.npz has the fill value 1.5")
    # Rows are the coordinates of mode 1; columns those of modes 0 and 2 taken together.
    gcxs = {
        "data": data,
        "indices": np.array([3, 4]),
        "indptr": np.array([0, 0, 1, 2]),
        "compressed_axes": np.array([1]),
        "shape": shape,
        "fill_value": np.array(0.0),
    }
    np.savez(path, **gcxs)
    assert np.array_equal(read(path).to_numpy(), array)
    np.savez(path, **{**gcxs, "indices": np.array([3, 8])})
    assert refused(path).endswith("indices has 8 at place 1, outside the extent 8")
    np.savez(path, **{**gcxs, "indptr": np.array([0, 2, 1, 2])})
    assert refused(path).endswith("indptr does not rise from 0 to at most 2")
