"""Patterns of pruned networks."""

import numpy as np
import pytest

from sam.io import read, write
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.tensor_files import FIGURE, refused


def test_reads(save):
    path = save("a.smtx", "4, 4, 5\n0 1 3 3 5 \n1 0 2 3 1 \n")
    assert np.array_equal(read(path).to_numpy(), FIGURE != 0)
    assert read(path).dtype == np.float64
    assert read(save("b.smtx", "2, 3, 0\n0 0 0\n\n")).to_numpy().tolist() == [[0] * 3] * 2


def test_writes(tmp_path):
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
def test_refuses(save, text, message):
    assert refused(save("a.smtx", text)).split("\n")[0] == message
