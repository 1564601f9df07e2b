"""MATLAB's files."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from sam.io import read
from sam.tensor import Tensor
from tests.support.tensor_files import FIGURE, refused


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("packed", [False, True])
def test_reads_what_scipy_writes(tmp_path, version, packed):
    path = tmp_path / "a.mat"
    sparse = scipy.sparse.csc_array(FIGURE)
    arrays = [
        FIGURE,
        FIGURE * 1j,
        FIGURE.astype("f4"),
        FIGURE.astype("i4"),
        sparse,
        sparse * 1j,
    ]
    for array in arrays:
        scipy.io.savemat(path, {"A": array}, format=version, do_compression=packed)
        tensor = read(path)
        assert tensor.format == ("ss:0,1" if scipy.sparse.issparse(array) else "dd:0,1")
        assert np.array_equal(tensor.to_numpy(), Tensor.of(array).to_numpy())
        assert tensor.dtype == array.dtype


def test_more_modes_truths_and_integers(tmp_path):
    path = tmp_path / "a.mat"
    for array in (np.arange(24.0).reshape(2, 3, 4), FIGURE > 0, FIGURE.astype("u1")):
        scipy.io.savemat(path, {"A": array})
        assert np.array_equal(read(path).to_numpy(), array)
    scipy.io.savemat(path, {"A": FIGURE > 0})
    assert read(path).dtype == bool


def test_the_matrix_of_suitesparse(tmp_path):
    path = tmp_path / "a.mat"
    problem = {"name": "a/b", "A": scipy.sparse.csc_array(FIGURE), "b": FIGURE[:, :1]}
    scipy.io.savemat(path, {"Problem": problem})
    assert np.array_equal(read(path).to_numpy(), FIGURE)


def test_refuses(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"A": FIGURE, "B": FIGURE, "text": "x"})
    assert refused(path) == (
        "a.mat has 2 arrays of numbers, not 1: A, B\n"
        "hint: save('x.mat', 'A', '-v7') in MATLAB saves one"
    )
    scipy.io.savemat(path, {"text": "x"})
    assert refused(path) == "a.mat has no array of numbers"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n")
    assert "is a MATLAB file of version 7.3, which is not read" in refused(path)
    path.write_bytes(b"no matrix at all, and long enough")
    assert refused(path) == ("a.mat is not a MATLAB file: its header is not of version 4 or 5")
