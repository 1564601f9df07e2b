"""Harwell-Boeing files."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from sam.io import read, write
from sam.support.errors import UserError
from tests.support.tensor_files import FIGURE, refused

HARWELL_BOEING = """\
A title                                                                 KEY
             3             1             1             1             0
RUA                        3             3             4             0
(4I4)           (4I4)           (4E12.4)
   1   3   4   5
   1   3   2   3
  1.0000E+00  2.0000E+00 -3.5000E+00  4.0000D+00
"""


@pytest.mark.parametrize(
    ("code", "array"),
    [
        ("RUA", [[1, 0, 0], [0, -3.5, 0], [2, 0, 4]]),
        ("RSA", [[1, 0, 2], [0, -3.5, 0], [2, 0, 4]]),
        ("PUA", [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
    ],
)
def test_reads(save, code, array):
    text = HARWELL_BOEING.replace("RUA", code)
    for name in ("a.hb", f"a.{code.lower()}", "a.RB"):
        assert read(save(name, text)).to_numpy().tolist() == array


def test_reads_what_scipy_writes(tmp_path):
    path = tmp_path / "a.rb"
    scipy.io.hb_write(path, scipy.sparse.csc_array(FIGURE))
    assert np.array_equal(read(path).to_numpy(), FIGURE)


def test_reads_numbers_below_0_that_scipy_writes(tmp_path):
    """scipy separates numbers of 24 columns by nothing more, in a format of 25."""
    matrix = scipy.sparse.csc_array([[1.5, 0, 2], [0, -3, 0], [5, 0, -1e-30]])
    scipy.io.hb_write(tmp_path / "a.hb", matrix)
    assert np.array_equal(read(tmp_path / "a.hb").to_numpy(), matrix.toarray())


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
def test_refuses(save, old, new, error):
    assert error in refused(save("a.hb", HARWELL_BOEING.replace(old, new)))


def test_is_not_written(tmp_path):
    with pytest.raises(UserError, match=r"\.hb files are read, and not written"):
        write(tmp_path / "a.hb", FIGURE)
