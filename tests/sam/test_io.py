"""Files: texts written by hand, round trips, and the collections in ../shared."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

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

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FIGURE = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]], float)
_COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
GENERAL = "%%MatrixMarket matrix coordinate real general\n"


@pytest.fixture
def save(tmp_path):
    """Saves a text under a name, and gives the path."""

    def save(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return save


def refused(path, **options):
    """The error that reading raises, with the file's bare name in it."""
    with pytest.raises(UserError) as error:
        read(path, **options)
    return str(error.value).replace(str(path), path.name)


class TestMatrixMarket:
    @pytest.mark.parametrize(
        ("banner", "body", "array"),
        [
            ("matrix coordinate real general", "2 3 2\n1 3 -1.5\n2 1 4", [[0, 0, -1.5], [4, 0, 0]]),
            ("matrix coordinate real general", "2 2 0", [[0, 0], [0, 0]]),
            ("matrix coordinate real general", "1 1 2\n1 1 3\n1 1 4", [[7]]),
            ("matrix coordinate real general", "1 2 2\n1 1 inf\n1 2 -INF", [[np.inf, -np.inf]]),
            ("matrix coordinate integer symmetric", "2 2 2\n1 1 5\n2 1 6", [[5, 6], [6, 0]]),
            ("matrix coordinate real skew-symmetric", "2 2 1\n2 1 6", [[0, -6], [6, 0]]),
            ("matrix coordinate complex hermitian", "2 2 1\n2 1 6 1", [[0, 6 - 1j], [6 + 1j, 0]]),
            ("matrix coordinate pattern general", "2 2 1\n2 1", [[0, 0], [1, 0]]),
            ("matrix coordinate unsigned-integer general", "2 2 1\n1 2 5", [[0, 5], [0, 0]]),
            ("matrix coordinate real hermitian", "2 2 2\n1 1 1\n2 1 5", [[1, 5], [5, 0]]),
            ("matrix array integer hermitian", "2 2\n1\n2\n3", [[1, 2], [2, 3]]),
            ("matrix coordinate real general", "1 2 2\n1 1 3.0D+00\n1 2 1.5d-1", [[3, 0.15]]),
            ("matrix coordinate real general", "1 2 2\n1 1 +3.0D+00\n1 2 1.5d-1", [[3, 0.15]]),
            ("matrix coordinate real general", "1 1 1\n1 1 1e400", [[np.inf]]),
            ("matrix coordinate real general", "2 2 2\n1 2 3\n \t\n2 1 4 ", [[0, 3], [4, 0]]),
            ("MATRIX Array Integer general", "2 3\n1\n2\n3\n4\n5\n6", [[1, 3, 5], [2, 4, 6]]),
            ("matrix array real symmetric", "2 2\n1\n2\n3", [[1, 2], [2, 3]]),
            ("matrix array real skew-symmetric", "2 2\n2", [[0, -2], [2, 0]]),
            ("vector coordinate real general", "3 1\n2 5", [0, 5, 0]),
            ("tensor coordinate real general", "1 2 2 1\n1 2 1 5", [[[0, 0], [5, 0]]]),
            # The first mode is the fastest, as in TACO.
            ("tensor array real general", "2 1 2\n1\n2\n3\n4", [[[1, 3]], [[2, 4]]]),
        ],
    )
    def test_reads(self, save, banner, body, array):
        for name in ("a.mtx", "a.ttx"):
            path = save(name, f"%%MatrixMarket {banner}\n% a comment\n\n{body}\n")
            tensor = read(path)
            tensor.validate()
            assert tensor.to_numpy().tolist() == array
            assert {level.code for level in tensor.levels} == set("d" if "rray" in banner else "s")

    def test_keeps_explicit_zeros_and_large_integers(self, save):
        head = "%%MatrixMarket matrix coordinate integer general\n"
        tensor = read(save("a.mtx", head + "1 2 2\n1 1 0\n1 2 9007199254740993\n"))
        assert tensor.values.tolist() == [0, 9007199254740993]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "3 3\n1 1 1\n",
                "a.mtx does not begin with %%MatrixMarket\n"
                "hint: %%MatrixMarket matrix coordinate real general",
            ),
            (
                "%%MatrixMarket matrix coordinate reel general\n",
                'a.mtx, line 1: "reel" is not known here\n'
                "  %%MatrixMarket matrix coordinate reel general\n"
                "                                   ^^^^\n"
                "hint: did you mean real?",
            ),
            (GENERAL, "a.mtx ends before its line of sizes"),
            (GENERAL + "2 2\n", "a.mtx, line 2: expected 3 sizes, not 2\n  2 2\n  ^^^"),
            (GENERAL + "2 -2 1\n", 'a.mtx, line 2: "-2" is not a size\n  2 -2 1\n    ^^'),
            (
                GENERAL + "2 2 2\n1 1 1\n",
                "a.mtx, line 2: the sizes say 2 entries, and 1 entry is listed\n  2 2 2\n  ^^^^^",
            ),
            (
                GENERAL + "2 2 1\n1 1 1\n2 2 2\n",
                "a.mtx, line 2: the sizes say 1 entry, and 2 entries are listed\n  2 2 1\n  ^^^^^",
            ),
            (
                GENERAL + "2 2 1\n%\n1 1\n",
                "a.mtx, line 4: expected 3 numbers, not 2\n  1 1\n  ^^^",
            ),
            (
                GENERAL + "2 2 1\n1 1 1 1\n",
                "a.mtx, line 3: expected 3 numbers, not 4\n  1 1 1 1\n  ^^^^^^^",
            ),
            (
                GENERAL + "2 2 1\n1 x 1\n",
                'a.mtx, line 3: "x" is not a coordinate\n  1 x 1\n    ^',
            ),
            (
                GENERAL + "2 2 1\n1.5 1 1\n",
                'a.mtx, line 3: "1.5" is not a coordinate\n  1.5 1 1\n  ^^^',
            ),
            (
                GENERAL + "2 2 2\n1 1 1\n\n2 2 0x1\n",
                'a.mtx, line 5: "0x1" is not a value of the type float64\n  2 2 0x1\n      ^^^',
            ),
            (
                GENERAL + "2 2 1\n0 1 1\n",
                "a.mtx, line 3: the coordinate 0 is outside: coordinates count from 1\n"
                "  0 1 1\n  ^",
            ),
            (
                GENERAL + "2 2 1\n1 3 1\n",
                "a.mtx, line 3: the coordinate 3 is outside: mode 1 has the extent 2\n"
                "  1 3 1\n    ^",
            ),
            (
                "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
                "a.mtx, line 2: a symmetric matrix is square\n  2 3 0\n  ^^^^^",
            ),
            (
                "%%MatrixMarket matrix array real general\n2 2\n1\n",
                "a.mtx, line 2: the sizes say 4 entries, and 1 entry is listed\n  2 2\n  ^^^",
            ),
        ],
    )
    def test_refuses(self, save, text, message):
        assert refused(save("a.mtx", text)) == message

    # scipy's reader takes each of these, and takes it for another number or leaves out a word.
    @pytest.mark.parametrize(
        ("field", "line", "error"),
        [
            ("real", "1 1.5 3", '"1.5" is not a coordinate'),
            ("real", "1 1 0x10", '"0x10" is not a value of the type float64'),
            ("real", "1 1 1.2.3", '"1.2.3" is not a value of the type float64'),
            ("real", "1 1 1_0", '"1_0" is not a value of the type float64'),
            ("real", "1 1 3 4", "expected 3 numbers, not 4"),
            ("integer", "1 1 2.5", '"2.5" is not a value of the type int64'),
            ("integer", "1 1 9223372036854775808", "is not a value of the type int64"),
            ("unsigned-integer", "1 1 18446744073709551615", "is not a value of the type int64"),
            ("pattern", "1 1 1", "expected 2 numbers, not 3"),
        ],
    )
    def test_what_scipy_takes_wrongly_is_refused(self, save, field, line, error):
        banner = f"%%MatrixMarket matrix coordinate {field} general\n"
        assert error in refused(save("a.mtx", f"{banner}2 2 1\n{line}\n"))

    def test_nan_is_a_value(self, save):
        values = read(save("a.mtx", GENERAL + "1 2 2\n1 1 nan\n1 2 -NaN\n")).values
        assert np.isnan(values).all()

    def test_a_diagonal_that_contradicts_the_symmetry_is_told(self, save, caplog):
        head = "%%MatrixMarket matrix coordinate"
        skew = f"{head} real skew-symmetric\n2 2 3\n1 1 0\n2 2 5\n2 1 3\n"
        assert read(save("a.mtx", skew)).to_numpy().tolist() == [[0, -3], [3, 5]]
        hermitian = f"{head} complex hermitian\n2 2 2\n2 1 1 1\n2 2 5 1\n"
        read(save("b.mtx", hermitian))
        read(save("c.mtx", hermitian.replace("5 1", "5 0")))
        told = [record.getMessage() for record in caplog.records]
        assert [text.split("/")[-1] for text in told] == [
            "a.mtx, line 4: a skew-symmetric matrix has zeros on its diagonal, "
            "and this one has 5.0",
            "b.mtx, line 4: a hermitian matrix has real values on its diagonal, "
            "and this one has (5+1j)",
        ]

    def test_either_triangle_may_be_listed_but_not_an_entry_in_both(self, save):
        head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n3 1 7\n"
        array = read(save("a.mtx", head + "2 3 5\n")).to_numpy()
        assert array.tolist() == [[0, 0, 7], [0, 0, 5], [7, 5, 0]]
        assert refused(save("b.mtx", head + "1 3 8\n")) == (
            "b.mtx, line 3: the matrix is symmetric, and lists both entry (3, 1) and entry (1, 3)\n"
            "  3 1 7\n  ^^^^^\n"
            "hint: list one triangle, or name the matrix general"
        )

    def test_many_entries_are_written_and_read_back_as_they_were(self, tmp_path):
        random = np.random.default_rng(1)
        count = 150_000  # so many that scipy writes them
        for dtype in ("float64", "float32", "int64", "complex128", "bool"):
            for modes, name in ((2, "a.mtx"), (3, "a.ttx")):
                coordinates = random.integers(0, 10**6, (modes, count))
                values = (random.standard_normal(count) * 1000).astype(dtype)
                tensor = Tensor.from_coo(coordinates, values, (10**6,) * modes)
                tensor.values[:1] = -np.inf if tensor.dtype.kind == "f" else 1
                write(tmp_path / name, tensor)
                for found, due in zip(read(tmp_path / name).to_coo(), tensor.to_coo(), strict=True):
                    assert np.array_equal(found, due)

    def test_scipy_reads_what_it_writes(self, tmp_path):
        path = tmp_path / "a.mtx"
        for levels in ("ss", "dd"):
            write(path, Tensor.from_numpy(FIGURE, levels))
            matrix = scipy.io.mmread(path)
            assert scipy.sparse.issparse(matrix) == (levels == "ss")
            assert np.array_equal(Tensor.of(matrix).to_numpy(), FIGURE)

    def test_writes(self, tmp_path):
        path = tmp_path / "a.ttx"
        write(path, Tensor.from_coo([[1], [0], [2]], [0.5 - 1j], (2, 1, 3)))
        assert path.read_text() == (
            "%%MatrixMarket tensor coordinate complex general\n2 1 3 1\n2 1 3 0.5 -1.0\n"
        )

    def test_mtx_holds_matrices_only(self, tmp_path):
        with pytest.raises(UserError) as error:
            write(tmp_path / "a.mtx", Tensor.of([1, 2]))
        assert str(error.value) == (
            f"{tmp_path}/a.mtx: a .mtx file holds a matrix, and this tensor has 1 mode\n"
            "hint: write a .ttx, .tns or .npz file"
        )


class TestFrostt:
    @pytest.mark.parametrize(
        ("text", "shape", "entries"),
        [
            ("# a comment\n2 1 3 1.5\n1 1 1 2\n", (2, 1, 3), [[0, 0, 0, 2.0], [1, 0, 2, 1.5]]),
            ("3 7\n1 2\n", (3,), [[0, 2.0], [2, 7.0]]),
            ("2.5\n", (), [[2.5]]),
            # ParTI: the number of modes, the shape.
            ("2\n4 5\n1 2 9\n", (4, 5), [[0, 1, 9.0]]),
            ("2\n4 5\n", (4, 5), []),
            # Extended FROSTT, as in MLIR: the number of modes and of entries, the shape.
            ("2 1\n4 4\n1 2 9\n", (4, 4), [[0, 1, 9.0]]),
            ("1 2\n4\n1 2\n2 3\n", (4,), [[0, 2.0], [1, 3.0]]),
            ("3 0\n4 4 4\n", (4, 4, 4), []),
            ("# extended FROSTT format\n2 0\n2 3\n", (2, 3), []),
            ("# extended FROSTT format\n2 1\n2 3\n1 3 9\n", (2, 3), [[0, 2, 9.0]]),
            # Two entries of a vector.
            ("2 3\n1 2\n", (2,), [[0, 2.0], [1, 3.0]]),
        ],
    )
    def test_reads(self, save, text, shape, entries):
        tensor = read(save("a.tns", text))
        tensor.validate()
        assert tensor.shape == shape
        coordinates, values = tensor.to_coo()
        assert [[*c, v] for c, v in zip(coordinates.T.tolist(), values, strict=True)] == entries

    def test_nan_and_infinity_are_values(self, save):
        values = read(save("a.tns", "1 nan\n2 -inf\n3 Infinity\n")).values
        np.testing.assert_array_equal(values, [np.nan, -np.inf, np.inf])

    def test_a_header_or_a_vector(self, save):
        path = save("a.tns", "2 0\n2 3\n")
        assert "is a vector of two entries, or the header of an empty matrix" in refused(path)
        assert read(path, modes=2).shape == (2, 3)
        assert read(path, modes=1).to_numpy().tolist() == [0, 3]

    def test_without_values(self, save):
        path = save("a.tns", "1 2\n3 1\n")
        assert refused(path, modes=2) == (
            "a.tns, line 1: a tensor of 2 modes has 3 numbers on a line, not 2: its values are "
            "missing\n  1 2\n  ^^^\n"
            "hint: sam.io.read(path, pattern=True), or -i A=a.tns:pattern, gives each entry the "
            "value 1"
        )
        assert read(path, pattern=True).to_numpy().tolist() == [[0, 1], [0, 0], [1, 0]]

    def test_from_0(self, save):
        path = save("a.tns", "0 2 1.5\n1 0 2\n")
        assert read(path, zero_based=True).to_numpy().tolist() == [[0, 0, 1.5], [2, 0, 0]]
        assert refused(path, zero_based=True, shape=(2, 2)).startswith(
            "a.tns, line 1: the coordinate 2 is outside: mode 1 has the extent 2"
        )
        pattern = save("b.tns", "0 2\n1 0\n")
        read_back = read(pattern, zero_based=True, pattern=True)
        assert read_back.to_numpy().tolist() == [[0, 0, 1], [1, 0, 0]]

    def test_options_are_for_tns_files(self, save):
        path = save("a.mtx", GENERAL + "1 1 0\n")
        assert "pattern and 0-based are for .tns files" in refused(path, pattern=True)

    def test_shape(self, save):
        path = save("a.tns", "2 1 5\n")
        assert read(path).shape == (2, 1)
        assert read(path, shape=[4, 3]).shape == (4, 3)
        assert read(save("b.tns", "# nothing\n"), shape=(3, 2)).nnz == 0

    @pytest.mark.parametrize(
        ("text", "shape", "message"),
        [
            (
                "",
                None,
                "a.tns has no entries, so its shape is not known\n"
                "hint: give it: sam.io.read(path, shape=(3, 4)), or --dims i=3,j=4",
            ),
            ("1 1 5\n1 5\n", None, "a.tns, line 2: expected 3 numbers, not 2\n  1 5\n  ^^^"),
            (
                "1 1 5\n0 1 5\n",
                None,
                "a.tns, line 2: the coordinate 0 is outside: coordinates count from 1\n"
                "  0 1 5\n  ^\n"
                "hint: sam.io.read(path, zero_based=True), or -i A=a.tns:0-based, counts from 0",
            ),
            (
                "1 4 5\n",
                (2, 3),
                "a.tns, line 1: the coordinate 4 is outside: mode 1 has the extent 3\n"
                "  1 4 5\n    ^",
            ),
            (
                "2 2\n4 4\n1 2 9\n",
                None,
                "a.tns, line 1: the sizes say 2 entries, and 1 entry is listed\n  2 2\n  ^^^",
            ),
            ("2\n4 5\n1 2 9\n", (4, 4), "a.tns has the shape (4, 5), not (4, 4)"),
        ],
    )
    def test_refuses(self, save, text, shape, message):
        assert refused(save("a.tns", text), shape=shape) == message


class TestSmtx:
    def test_reads(self, save):
        path = save("a.smtx", "4, 4, 5\n0 1 3 3 5 \n1 0 2 3 1 \n")
        assert np.array_equal(read(path).to_numpy(), FIGURE != 0)
        assert read(path).dtype == np.float64
        assert read(save("b.smtx", "2, 3, 0\n0 0 0\n\n")).to_numpy().tolist() == [[0] * 3] * 2

    def test_writes(self, tmp_path):
        path = tmp_path / "a.smtx"
        write(path, Tensor.from_numpy(FIGURE != 0, "ss"))
        assert path.read_text() == "4, 4, 5\n0 1 3 3 5\n1 0 2 1 3\n"
        with pytest.raises(UserError, match=r"holds the pattern of a matrix: every value is 1"):
            write(path, Tensor.from_numpy(FIGURE))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("4, 4, 5\n", "a.smtx ends before its row offsets"),
            ("1, 1\n0\n", "a.smtx, line 1: expected rows, columns and entries, not 2 numbers"),
            ("2, 2, 1\n0 1\n0\n", "a.smtx, line 2: 2 row offsets are listed for 2 rows"),
            ("2, 2, 1\n0 2 1\n0\n", "a.smtx, line 2: the row offsets do not rise from 0 to 1"),
            (
                "2, 2, 2\n0 1 2\n0\n",
                "a.smtx, line 1: the sizes say 2 entries, and 1 entry is listed",
            ),
            ("2, 2, 1\n0 1 1\n2\n", "a.smtx, line 3: column 2 is outside the extent 2"),
            ("2, 2, 2\n0 2 2\n1 1\n", "a.smtx, line 3: a row lists a column twice"),
            ("2, 2, 1\n0 1 1\nx\n", 'a.smtx, line 3: "x" is not a column'),
        ],
    )
    def test_refuses(self, save, text, message):
        assert refused(save("a.smtx", text)).split("\n")[0] == message


class TestNumpyFiles:
    def test_scipy_files(self, tmp_path):
        path = tmp_path / "a.npz"
        for format in ("csr", "csc", "coo", "bsr", "dia"):
            scipy.sparse.save_npz(path, scipy.sparse.csr_array(FIGURE).asformat(format))
            tensor = read(path)
            assert tensor.format == "ss:0,1"
            assert np.array_equal(tensor.to_numpy(), FIGURE)

    def test_dense_files(self, tmp_path):
        np.savez(tmp_path / "a.npz", anything=FIGURE)
        np.save(tmp_path / "a.npy", FIGURE)
        for name in ("a.npz", "a.npy"):
            assert read(tmp_path / name).format == "dd:0,1"
            assert np.array_equal(read(tmp_path / name).to_numpy(), FIGURE)

    def test_refuses(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez(path, b=FIGURE, a=FIGURE)
        assert refused(path) == "a.npz has 2 arrays, not 1: a, b"
        np.savez(path, a=np.array([{}], object))
        assert refused(path) == "a.npz, a is not a numpy file of numbers: it has Python objects"
        path.write_bytes(b"PK\3\4 and no more")
        assert refused(path).startswith("a.npz is not a numpy file: ")

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
    def test_headers_are_matched_and_not_evaluated(self, tmp_path, header, error):
        text = header.encode() + b"\n"
        values = np.arange(4.0, dtype=">f4" if ">f4" in header else "<f8").tobytes()
        path = tmp_path / "a.npy"
        path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + values)
        if error is None:
            assert sorted(read(path).values.tolist()) == [0, 1, 2, 3]
        else:
            assert error in refused(path)

    def test_a_small_archive_takes_little_memory(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez_compressed(path, a=np.zeros(10**6))
        assert read(path).shape == (10**6,)
        data = bytearray(path.read_bytes())
        for place in (data.index(b"PK\1\2") + 24,):  # the uncompressed size, in the directory
            data[place : place + 4] = (2**31).to_bytes(4, "little")
        path.write_bytes(data)
        assert refused(path) == "a.npz says that it has more bytes than it can hold"

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
    def test_scipy_files_are_checked_before_scipy_sees_them(self, tmp_path, changed, error):
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

    def test_pydata_sparse(self, tmp_path):
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

    def test_checks_a_tensor_in_full(self, tmp_path):
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


HARWELL_BOEING = """\
A title                                                                 KEY
             3             1             1             1             0
RUA                        3             3             4             0
(4I4)           (4I4)           (4E12.4)
   1   3   4   5
   1   3   2   3
  1.0000E+00  2.0000E+00 -3.5000E+00  4.0000D+00
"""


class TestHarwellBoeing:
    @pytest.mark.parametrize(
        ("code", "array"),
        [
            ("RUA", [[1, 0, 0], [0, -3.5, 0], [2, 0, 4]]),
            ("RSA", [[1, 0, 2], [0, -3.5, 0], [2, 0, 4]]),
            ("PUA", [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
        ],
    )
    def test_reads(self, save, code, array):
        text = HARWELL_BOEING.replace("RUA", code)
        for name in ("a.hb", f"a.{code.lower()}", "a.RB"):
            assert read(save(name, text)).to_numpy().tolist() == array

    def test_reads_what_scipy_writes(self, tmp_path):
        path = tmp_path / "a.rb"
        scipy.io.hb_write(path, scipy.sparse.csc_array(FIGURE))
        assert np.array_equal(read(path).to_numpy(), FIGURE)

    @pytest.mark.parametrize(
        ("old", "new", "error"),
        [
            (
                "   1   3   4   5",
                "   1   3   2   5",
                "line 5: the column pointers that begin here do not rise from 1 to 5",
            ),
            (
                "   1   3   2   3",
                "   1   3   2   4",
                "line 6: row index 4 of entry 4 is not in 1 to 3",
            ),
            ("RUA", "RUE", "line 3: the matrix is in elemental form"),
            ("-3.5000E+00", "-3.5000X+00", 'line 7: "-3.5000X+00" is not a number'),
            ("(4E12.4)", "(4A12)", 'line 4: "(4A12)" is not a format for these numbers'),
        ],
    )
    def test_refuses(self, save, old, new, error):
        assert error in refused(save("a.hb", HARWELL_BOEING.replace(old, new)))

    def test_is_not_written(self, tmp_path):
        with pytest.raises(UserError, match=r"\.hb files are read, and not written"):
            write(tmp_path / "a.hb", FIGURE)


class TestMatlab:
    @pytest.mark.parametrize("version", ["4", "5"])
    @pytest.mark.parametrize("packed", [False, True])
    def test_reads_what_scipy_writes(self, tmp_path, version, packed):
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

    def test_more_modes_truths_and_integers(self, tmp_path):
        path = tmp_path / "a.mat"
        for array in (np.arange(24.0).reshape(2, 3, 4), FIGURE > 0, FIGURE.astype("u1")):
            scipy.io.savemat(path, {"A": array})
            assert np.array_equal(read(path).to_numpy(), array)
        scipy.io.savemat(path, {"A": FIGURE > 0})
        assert read(path).dtype == bool

    def test_the_matrix_of_suitesparse(self, tmp_path):
        path = tmp_path / "a.mat"
        problem = {"name": "a/b", "A": scipy.sparse.csc_array(FIGURE), "b": FIGURE[:, :1]}
        scipy.io.savemat(path, {"Problem": problem})
        assert np.array_equal(read(path).to_numpy(), FIGURE)

    def test_refuses(self, tmp_path):
        path = tmp_path / "a.mat"
        scipy.io.savemat(path, {"A": FIGURE, "B": FIGURE, "text": "x"})
        assert refused(path) == "a.mat has 2 arrays of numbers, not 1: A, B"
        scipy.io.savemat(path, {"text": "x"})
        assert refused(path) == "a.mat has no array of numbers"
        path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n")
        assert "is a MATLAB file of version 7.3, which is not read" in refused(path)
        path.write_bytes(b"no matrix at all, and long enough")
        assert refused(path) == (
            "a.mat is not a MATLAB file: its header is no header of version 4 or 5"
        )


class TestRoundTrips:
    @settings(deadline=None, max_examples=60)
    @given(
        st.sampled_from(
            ["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]
        ),
        st.data(),
    )
    def test_npz_keeps_everything(self, tmp_path_factory, dtype, data):
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
    def test_other_files_keep_the_values(self, tmp_path_factory, name, data):
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


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "text"), [("x.mtx", GENERAL + "1 1 1\n1 1 2\n"), ("x.tns", "1 1 2\n")]
    )
    def test_a_byte_order_mark_is_passed_over(self, tmp_path, name, text):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert read(tmp_path / name).to_numpy().tolist() == [[2]]

    @pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
    def test_compressed(self, tmp_path, suffix):
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

    def test_by_its_first_bytes(self, tmp_path):
        tensor = Tensor.from_numpy(FIGURE, "ss")
        for name in ("a.mtx", "a.ttx.gz", "a.tns", "a.tns.xz", "a.npy", "a.npz"):
            write(tmp_path / name, tensor)
            back = read_bytes((tmp_path / name).read_bytes(), "standard input", modes=2)
            assert np.array_equal(back.to_numpy(), FIGURE), name
        assert np.array_equal(read_bytes(write_bytes(tensor), "x").to_numpy(), FIGURE)

    def test_gzip(self, tmp_path):
        path = tmp_path / "a.tns.gz"
        write(path, Tensor.from_numpy(FIGURE, "ss"))
        assert gzip.decompress(path.read_bytes()).startswith(b"1 2 1.0\n2 1 2.0\n")
        path.write_bytes(path.read_bytes()[:-9])
        assert refused(path).startswith("cannot read a.tns.gz: ")

    def test_unknown_suffixes(self, tmp_path):
        assert refused(tmp_path / "a.mxt") == (
            'cannot tell the format of a.mxt: ".mxt" is not a known suffix\n'
            "hint: did you mean .mtx?"
        )
        assert refused(tmp_path / "a.npz.gz") == (
            'cannot tell the format of a.npz.gz: ".npz.gz" is not a known suffix\n'
            "hint: did you mean .npz?"
        )

    def test_missing_files(self, tmp_path):
        assert refused(tmp_path / "a.mtx") == "cannot read a.mtx: No such file or directory"
        with pytest.raises(UserError, match=r"cannot write .*: there is no folder .*no"):
            write(tmp_path / "no" / "a.mtx", Tensor.from_numpy(FIGURE))

    def test_what_a_name_can_hold_is_known_before_the_tensor(self, tmp_path):
        for name in ("a.ttx", "a.tns.gz", "a.npz", "a.npy"):
            for modes in range(4):
                require_writable(tmp_path / name, modes)
        for name in ("a.mtx", "a.mtx.gz", "a.smtx"):
            require_writable(tmp_path / name, 2)
            with pytest.raises(UserError, match=r"file holds a matrix, and this tensor has 3 mod"):
                require_writable(tmp_path / name, 3)

    def test_anything_like_a_tensor_is_written(self, tmp_path):
        write(tmp_path / "a.mtx", scipy.sparse.csr_array(FIGURE))
        assert np.array_equal(read(tmp_path / "a.mtx").to_numpy(), FIGURE)

    def test_a_failed_write_leaves_the_old_file(self, tmp_path):
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
    def test_refuses_what_is_not_the_format(self, name):
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
