"""Mutants of files of each format are read, or refused with one error."""

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import sam.io
from sam.io import _KINDS, _Asked, _read
from sam.tensor import Tensor
from tests.support.mutants import mutate_bytes, mutate_zip, require_survival

MATRIX = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5.5]])
HARWELL_BOEING = """\
A symmetric matrix of 3 rows                                            KEY
             3             1             1             1             0
RSA                        3             3             4             0
(4I4)           (4I4)           (4E12.4)
   1   3   4   5
   1   3   2   3
  1.0000E+00  2.0000E+00 -3.5000E+00  4.0000D+00
"""


def _saved(save, *arrays, **named):
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def _market(body):
    return b"%%MatrixMarket " + body


def _npz():
    matrix = scipy.sparse.csr_array(MATRIX)
    sparse = [
        _saved(scipy.sparse.save_npz, matrix.asformat(f)) for f in ("csr", "csc", "coo", "dia")
    ]
    blocks = _saved(scipy.sparse.save_npz, matrix.tobsr((2, 2)))
    shape = np.array([2, 2, 4])
    gcxs = {
        "format": "gcxs",
        "shape": shape,
        "data": np.array([1.0, 2.0, 3.0]),
        "indices": np.array([0, 3, 1]),
        "indptr": np.array([0, 2, 2, 3, 3]),
        "compressed_axes": np.array([0, 1]),
        "fill_value": np.array(0.0),
    }
    coo = {
        "coords": np.array([[0, 1], [1, 0], [3, 2]]),
        "data": np.ones(2),
        "shape": shape,
        "fill_value": 0,
    }
    own = [
        _KINDS[".npz"].write("a.npz", Tensor.from_numpy(MATRIX, levels))
        for levels in ("ss", "ds", "bs", "uq", "rs", "dh")
    ]
    pydata = [_saved(np.savez_compressed, **arrays) for arrays in (gcxs, coo)]
    return [*sparse, blocks, *pydata, *own, _saved(np.savez, MATRIX)]


VALID = {
    ".mtx": [
        _market(b"matrix coordinate real general\n% a comment\n3 4 3\n1 2 1.5\n3 4 -2\n2 1 1e3\n"),
        _market(b"matrix coordinate integer symmetric\n3 3 3\n1 1 1\n3 1 -2\n3 2 7\n"),
        _market(b"matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 -2 1.5D+1\n"),
        _market(b"matrix coordinate pattern skew-symmetric\n").replace(
            b"skew-symmetric", b"general"
        )
        + b"2 2 1\n2 1\n",
        _market(b"matrix array real skew-symmetric\n3 3\n1.5\n2\nnan\n"),
        _market(b"matrix array unsigned-integer general\n2 3\n1\n2\n3\n4\n5\n6\n"),
    ],
    ".ttx": [
        _market(b"tensor coordinate real general\n2 3 4 2\n1 2 3 1.5\n2 3 4 inf\n"),
        _market(b"vector coordinate complex general\n3 2\n1 2 1.5\n2 3 4\n"),
        _market(b"tensor array integer general\n1 2 2\n1\n2\n3\n4\n"),
    ],
    ".tns": [
        b"# a comment\n1 2 3 1.5\n4 5 6 -2e3\n1 1 1 nan\n",
        b"# extended FROSTT format\n3 2\n4 5 6\n1 2 3 1.5\n4 5 6 -2e3\n",
        b"2\n4 5\n1 2 9\n",
        b"3 7\n1 2\n",
    ],
    ".smtx": [b"4, 4, 5\n0 1 3 3 5 \n1 0 2 3 1 \n", b"2, 3, 0\n0 0 0\n\n"],
    ".npy": [
        _saved(np.save, array)
        for array in (MATRIX, np.arange(3), np.ones((1, 2, 2), "c8", "F"), np.array([True]))
    ],
    ".npz": _npz(),
    ".mat": [
        _saved(scipy.io.savemat, {"A": array}, do_compression=packed, format=version)
        for array in (MATRIX, scipy.sparse.csc_array(MATRIX), MATRIX > 0)
        for packed, version in ((False, "5"), (True, "5"), (False, "4"))
    ]
    + [_saved(scipy.io.savemat, {"Problem": {"A": scipy.sparse.csc_array(MATRIX), "name": "x"}})],
    ".hb": [
        HARWELL_BOEING.encode(),
        HARWELL_BOEING.replace("RSA", "PUA").encode(),
    ],
}


@pytest.mark.parametrize("suffix", VALID)
def test_mutants(suffix):
    def use(data):
        tensor = _read(f"a{suffix}", data, _KINDS[suffix], None, _Asked(None, None, False, False))
        tensor.validate()

    zipped = suffix == ".npz"
    require_survival(use, VALID[suffix], mutate_zip if zipped else mutate_bytes)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_mutants_of_compressed_files(suffix):
    valid = [sam.io.compression.compress(data, suffix) for data in VALID[".tns"]]
    require_survival(lambda data: sam.io.read_bytes(data, "a"), valid)
