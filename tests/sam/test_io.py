"""Files: texts written by hand, round trips, and the collections in ../shared."""

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sam.io import read, read_bytes, require_writable, write, write_bytes
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.tensor_files import FIGURE, GENERAL, SHARED, refused


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]),
    st.data(),
)
def test_npz_keeps_everything(tmp_path_factory, dtype, data):
    shape = data.draw(st.one_of(st.just(()), array_shapes(max_dims=4, min_side=0, max_side=4)))
    array = data.draw(arrays(dtype, shape))
    levels = data.draw(st.text("dsl", min_size=array.ndim, max_size=array.ndim))
    order = data.draw(st.permutations(range(array.ndim)))
    tensor = Tensor.from_numpy(array, levels, order)
    path = tmp_path_factory.getbasetemp() / "a.npz"
    write(path, tensor)
    back = read(path)
    assert (back.shape, back.format, back.dtype) == (tensor.shape, tensor.format, tensor.dtype)
    assert back.values.tobytes() == tensor.values.tobytes()
    for level, other in zip(back.levels, tensor.levels, strict=True):
        assert vars(level.as_lists()) == vars(other.as_lists())


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["a.ttx", "a.ttx.gz", "a.mtx", "a.mtx.gz", "a.tns", "a.npy"]), st.data())
def test_other_files_keep_the_values(tmp_path_factory, name, data):
    shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    if ".mtx" in name:
        shapes = array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4)
    values = st.floats() | st.just(0.0)
    array = data.draw(arrays(float, shapes, elements=values))
    levels = data.draw(st.text("ds", min_size=array.ndim, max_size=array.ndim))
    path = tmp_path_factory.getbasetemp() / name
    write(path, Tensor.from_numpy(array, levels))
    back = read(path, shape=array.shape)
    assert np.array_equal(back.to_numpy(), array, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "text"), [("x.mtx", GENERAL + "1 1 1\n1 1 2\n"), ("x.tns", "1 1 2\n")]
)
def test_a_byte_order_mark_is_passed_over(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert read(tmp_path / name).to_numpy().tolist() == [[2]]


def test_a_file_is_recognised_by_its_first_bytes(tmp_path):
    tensor = Tensor.from_numpy(FIGURE, "ss")
    for name in ("a.mtx", "a.ttx.gz", "a.tns", "a.tns.xz", "a.npy", "a.npz"):
        write(tmp_path / name, tensor)
        back = read_bytes((tmp_path / name).read_bytes(), "standard input", modes=2)
        assert np.array_equal(back.to_numpy(), FIGURE), name
    assert np.array_equal(read_bytes(write_bytes(tensor), "x").to_numpy(), FIGURE)


def test_unknown_suffixes(tmp_path):
    assert refused(tmp_path / "a.mxt") == (
        'cannot tell the format of a.mxt: ".mxt" is not a known suffix\nhint: did you mean .mtx?'
    )
    assert refused(tmp_path / "a.npz.gz") == (
        "a.npz.gz is compressed, and .npz files are not\nhint: decompress it to a.npz"
    )
    with pytest.raises(UserError, match=r"hint: write a\.npz$"):
        require_writable(tmp_path / "a.npz.gz", 2)


def test_missing_files(tmp_path):
    assert refused(tmp_path / "a.mtx") == "cannot read a.mtx: No such file or directory"
    with pytest.raises(UserError, match=r"cannot write .*: there is no folder .*no"):
        write(tmp_path / "no" / "a.mtx", Tensor.from_numpy(FIGURE))


def test_a_file_name_tells_early_which_tensors_it_can_hold(tmp_path):
    for name in ("a.ttx", "a.tns.gz", "a.npz", "a.npy"):
        for modes in range(4):
            require_writable(tmp_path / name, modes)
    for name in ("a.mtx", "a.mtx.gz", "a.smtx"):
        require_writable(tmp_path / name, 2)
        with pytest.raises(UserError, match=r"file holds a matrix, and this tensor has 3 mod"):
            require_writable(tmp_path / name, 3)


def test_anything_like_a_tensor_is_written(tmp_path):
    write(tmp_path / "a.mtx", scipy.sparse.csr_array(FIGURE))
    assert np.array_equal(read(tmp_path / "a.mtx").to_numpy(), FIGURE)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.tns"
    write(path, Tensor.of([1.0]))
    with pytest.raises(UserError, match=r"a \.tns file has no complex values"):
        write(path, Tensor.of([1j]))
    assert path.read_text() == "1 1.0\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
class TestShared:
    def test_parser_cases(self):
        wrong = []
        cases = [case for case in listed() if "expect" in case]
        for case in cases:
            try:
                tensor = read(SHARED / case["file"])
            except UserError:
                found = "reject"
            else:
                tensor.validate()
                found = "accept"
            if case["expect"] not in (found, "either"):
                wrong.append((case["file"], found))
        assert len(cases) > 80
        assert wrong == []

    def test_matrices_are_what_scipy_reads(self):
        matrices = [
            case["file"]
            for case in listed()
            if case["file"].endswith((".mtx", ".mtx.gz"))
            and case.get("parse", "").startswith("ok (scipy.io.mmread)")
            and case["bytes"] < 100_000
            and case.get("expect") in (None, "accept")
        ]
        assert len(matrices) > 100
        for name in matrices:
            expected = Tensor.of(scipy.io.mmread(SHARED / name), "ss")
            tensor = read(SHARED / name)
            assert tensor.shape == expected.shape, name
            for found, due in zip(tensor.to_coo(), expected.to_coo(), strict=True):
                assert np.array_equal(found, due), name

    @pytest.mark.parametrize(
        ("name", "shape", "nnz"),
        [
            ("taco/3tensor.tns", (1073, 1, 7), 3),
            ("parti/3d_8.tns", (4, 4, 3), 8),
            ("parti/3d_dense.tns", (4, 4, 3), 48),
            ("kg/nations.tns", (14, 55, 14), 1992),
            ("splatt/med4.tns.gz", (60114, 83826, 23034, 1132), 100000),
            ("taco/theta.ttx", (25, 25), 625),
            ("taco/z.ttx", (25,), 25),
        ],
    )
    def test_tensors(self, name, shape, nnz):
        tensor = read(SHARED / "tensors" / name)
        assert (tensor.shape, tensor.nnz) == (shape, nnz)

    @pytest.mark.parametrize("name", ["pyttb/matrix.tns", "sttid/Rnd1.tns", "taco/d432.ttx"])
    def test_refuses_malformed_files(self, name):
        with pytest.raises(UserError):
            read(SHARED / "tensors" / name)

    def test_pruned_networks(self):
        patterns = [case for case in listed() if case["file"].startswith("dlmc/rn50")]
        assert len(patterns) > 20
        for case in patterns:
            tensor = read(SHARED / case["file"])
            assert (tensor.shape, tensor.nnz) == (tuple(case["dims"]), case["nnz"])


def listed():
    return json.loads((SHARED / "MANIFEST.json").read_text())["files"]
