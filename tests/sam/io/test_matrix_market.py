"""MatrixMarket files, and their extension to any number of modes."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from sam.io import read, write
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.tensor_files import FIGURE, GENERAL, refused


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
def test_reads(save, banner, body, array):
    for name in ("a.mtx", "a.ttx"):
        path = save(name, f"%%MatrixMarket {banner}\n% a comment\n\n{body}\n")
        tensor = read(path)
        tensor.validate()
        assert tensor.to_numpy().tolist() == array
        assert {level.code for level in tensor.levels} == set("d" if "rray" in banner else "s")


def test_keeps_explicit_zeros_and_large_integers(save):
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
            "a.mtx, line 3: the coordinate 0 is outside: coordinates count from 1\n  0 1 1\n  ^",
        ),
        (
            GENERAL + "2 2 1\n1 3 1\n",
            "a.mtx, line 3: the coordinate 3 is outside: mode 1 has the extent 2\n  1 3 1\n    ^",
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
def test_refuses(save, text, message):
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
def test_files_that_scipy_misreads_are_refused(save, field, line, error):
    banner = f"%%MatrixMarket matrix coordinate {field} general\n"
    assert error in refused(save("a.mtx", f"{banner}2 2 1\n{line}\n"))


def test_nan_is_a_value(save):
    values = read(save("a.mtx", GENERAL + "1 2 2\n1 1 nan\n1 2 -NaN\n")).values
    assert np.isnan(values).all()


def test_a_diagonal_that_contradicts_the_symmetry_is_told(save, caplog):
    head = "%%MatrixMarket matrix coordinate"
    skew = f"{head} real skew-symmetric\n2 2 3\n1 1 0\n2 2 5\n2 1 3\n"
    assert read(save("a.mtx", skew)).to_numpy().tolist() == [[0, -3], [3, 5]]
    hermitian = f"{head} complex hermitian\n2 2 2\n2 1 1 1\n2 2 5 1\n"
    read(save("b.mtx", hermitian))
    read(save("c.mtx", hermitian.replace("5 1", "5 0")))
    told = [record.getMessage() for record in caplog.records]
    assert [text.split("/")[-1] for text in told] == [
        "a.mtx, line 4: a skew-symmetric matrix has zeros on its diagonal, and this one has 5.0",
        "b.mtx, line 4: a hermitian matrix has real values on its diagonal, "
        "and this one has (5+1j)",
    ]


def test_either_triangle_may_be_listed_but_not_an_entry_in_both(save):
    head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n3 1 7\n"
    array = read(save("a.mtx", head + "2 3 5\n")).to_numpy()
    assert array.tolist() == [[0, 0, 7], [0, 0, 5], [7, 5, 0]]
    assert refused(save("b.mtx", head + "1 3 8\n")) == (
        "b.mtx, line 3: the matrix is symmetric, and lists both entry (3, 1) and entry (1, 3)\n"
        "  3 1 7\n  ^^^^^\n"
        "hint: list one triangle, or name the matrix general"
    )


def test_many_entries_are_written_and_read_back_as_they_were(tmp_path):
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


def test_scipy_reads_what_it_writes(tmp_path):
    path = tmp_path / "a.mtx"
    for levels in ("ss", "dd"):
        write(path, Tensor.from_numpy(FIGURE, levels))
        matrix = scipy.io.mmread(path)
        assert scipy.sparse.issparse(matrix) == (levels == "ss")
        assert np.array_equal(Tensor.of(matrix).to_numpy(), FIGURE)


def test_writes(tmp_path):
    path = tmp_path / "a.ttx"
    write(path, Tensor.from_coo([[1], [0], [2]], [0.5 - 1j], (2, 1, 3)))
    assert path.read_text() == (
        "%%MatrixMarket tensor coordinate complex general\n2 1 3 1\n2 1 3 0.5 -1.0\n"
    )


def test_mtx_holds_matrices_only(tmp_path):
    with pytest.raises(UserError) as error:
        write(tmp_path / "a.mtx", Tensor.of([1, 2]))
    assert str(error.value) == (
        f"{tmp_path}/a.mtx: a .mtx file holds a matrix, and this tensor has 1 mode\n"
        "hint: write a .ttx, .tns or .npz file"
    )
