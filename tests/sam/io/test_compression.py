"""Compressed text files."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from sam.io import read, write
from sam.tensor import Tensor
from tests.support.tensor_files import FIGURE, refused

_COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed(tmp_path, suffix):
    path = tmp_path / f"a.tns{suffix}"
    write(path, Tensor.from_numpy(FIGURE, "ss"))
    opener = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[suffix]
    assert opener(path).read().startswith(b"1 2 1.0\n2 1 2.0\n")
    assert np.array_equal(read(path).to_numpy(), FIGURE)
    # Two compressed parts, one after the other, are one file.
    path.write_bytes(b"".join(map(_COMPRESS[suffix], (b"1 2 1\n", b"2 1 1\n"))))
    assert read(path).to_numpy().tolist() == [[0, 1], [1, 0]]
    path.write_bytes(path.read_bytes()[:-9])
    assert refused(path).startswith(f"cannot read a.tns{suffix}: ")
    path.write_bytes(_COMPRESS[suffix](b"1" * 10**7))
    if suffix != ".gz":  # which cannot shrink so far
        assert refused(path).endswith("it expands to more than 1100 times its size")


@pytest.mark.parametrize("name", ["a.npy.gz", "a.npz.bz2", "a.mat.xz"])
def test_files_that_are_not_texts_are_not_decompressed(tmp_path, name):
    assert refused(tmp_path / name) == (
        f"{name} is compressed, and {name[1:5]} files are not\nhint: decompress it to {name[:5]}"
    )


def test_gzip(tmp_path):
    path = tmp_path / "a.tns.gz"
    write(path, Tensor.from_numpy(FIGURE, "ss"))
    assert gzip.decompress(path.read_bytes()).startswith(b"1 2 1.0\n2 1 2.0\n")
    path.write_bytes(path.read_bytes()[:-9])
    assert refused(path).startswith("cannot read a.tns.gz: ")
