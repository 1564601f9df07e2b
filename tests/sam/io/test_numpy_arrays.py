"""numpy's files, and archives of them."""

import tracemalloc

import numpy as np
import pytest

from sam.io import read, write
from sam.tensor import Tensor
from tests.support.tensor_files import FIGURE, refused


def test_dense_files(tmp_path):
    np.savez(tmp_path / "a.npz", anything=FIGURE)
    np.save(tmp_path / "a.npy", FIGURE)
    for name in ("a.npz", "a.npy"):
        assert read(tmp_path / name).format == "dd:0,1"
        assert np.array_equal(read(tmp_path / name).to_numpy(), FIGURE)


def test_refuses(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, b=FIGURE, a=FIGURE)
    assert refused(path) == (
        "a.npz has 2 arrays, and a tensor is one: a, b\n"
        "hint: numpy.save keeps one array in a .npy file"
    )
    np.savez(path)
    assert refused(path) == "a.npz has no arrays"
    np.savez(path, a=np.array([{}], object))
    assert refused(path) == "a.npz, a is not a numpy file of numbers: it has Python objects"
    path.write_bytes(b"PK\3\4 and no more")
    assert refused(path) == "a.npz is damaged or cut off: File is not a zip file"


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", None),
        ("{'shape': (2,2), 'descr': '>f4', 'fortran_order': True}", None),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (2000000000,), }", "16000000000 b"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (9**9**9,), }", "its header is"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", "Python objects"),
        ("{'descr': '<f8', 'shape': (4,), }", "its header is"),
        ("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (4,), }", "records"),
        ("((((((((((((((((", "its header is"),
        ("{'descr': 'zz', 'fortran_order': False, 'shape': (4,), }", "not a numpy file"),
    ],
)
def test_headers_are_matched_and_not_evaluated(tmp_path, header, error):
    text = header.encode() + b"\n"
    values = np.arange(4.0, dtype=">f4" if ">f4" in header else "<f8").tobytes()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + values)
    if error is None:
        assert sorted(read(path).values.tolist()) == [0, 1, 2, 3]
    else:
        assert error in refused(path)


@pytest.mark.parametrize("dtype", ["<f8", ">f8"])
def test_a_large_array_is_in_memory_once(tmp_path, dtype):
    """Only one of the other byte order is copied."""
    array = np.zeros(2**21, dtype)
    np.savez_compressed(tmp_path / "a.npz", a=array)
    np.save(tmp_path / "a.npy", array)
    for name in ("a.npz", "a.npy"):
        tracemalloc.start()
        tensor = read(tmp_path / name)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < array.nbytes * (1 + (dtype == ">f8")) + 2**22
        tensor.values[0] = 1  # it can be written to


def test_a_small_archive_takes_little_memory(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(10**6))
    assert read(path).shape == (10**6,)
    data = bytearray(path.read_bytes())
    for place in (data.index(b"PK\1\2") + 24,):  # the uncompressed size, in the directory
        data[place : place + 4] = (2**31).to_bytes(4, "little")
    path.write_bytes(data)
    assert refused(path) == "a.npz says that it has more bytes than it can hold"


def test_checks_a_tensor_in_full(tmp_path):
    path = tmp_path / "a.npz"
    write(path, Tensor.from_numpy(FIGURE, "ss"))
    stored = dict(np.load(path))
    np.savez(path, **{**stored, "level1_coordinates": np.array([1, 0, 2, 1, 9])})
    assert refused(path) == (
        "a.npz is not valid: level 1 (compressed) is not valid: "
        "coordinate 9 at position 4 is outside the extent 4"
    )
    del stored["level1_segments"]
    np.savez(path, **stored)
    assert refused(path) == "a.npz has no array 'level1_segments'"
