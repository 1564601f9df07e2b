"""FROSTT files: coordinates, then the value."""

import numpy as np
import pytest

from sam.io import read
from tests.support.tensor_files import GENERAL, refused


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
def test_reads(save, text, shape, entries):
    tensor = read(save("a.tns", text))
    tensor.validate()
    assert tensor.shape == shape
    coordinates, values = tensor.to_coo()
    assert [[*c, v] for c, v in zip(coordinates.T.tolist(), values, strict=True)] == entries


def test_nan_and_infinity_are_values(save):
    values = read(save("a.tns", "1 nan\n2 -inf\n3 Infinity\n")).values
    np.testing.assert_array_equal(values, [np.nan, -np.inf, np.inf])


def test_a_header_or_a_vector(save):
    path = save("a.tns", "2 0\n2 3\n")
    assert "is a vector of two entries, or the header of an empty matrix" in refused(path)
    assert read(path, modes=2).shape == (2, 3)
    assert read(path, modes=1).to_numpy().tolist() == [0, 3]


def test_without_values(save):
    path = save("a.tns", "1 2\n3 1\n")
    assert refused(path, modes=2) == (
        "a.tns, line 1: a tensor of 2 modes has 3 numbers on a line, not 2: its values are "
        "missing\n  1 2\n  ^^^\n"
        "hint: sam.io.read(path, pattern=True), or -i A=a.tns:pattern, gives each entry the "
        "value 1"
    )
    assert read(path, pattern=True).to_numpy().tolist() == [[0, 1], [0, 0], [1, 0]]


def test_a_header_with_values_and_an_option_that_says_there_are_none(save):
    path = save("a.tns", "# extended FROSTT format\n2 1\n4 3\n1 1 1.5\n")
    assert refused(path, pattern=True) == (
        "a.tns, line 4: expected 2 numbers, not 3\n  1 1 1.5\n  ^^^^^^^"
    )


def test_coordinates_may_count_from_0(save):
    path = save("a.tns", "0 2 1.5\n1 0 2\n")
    assert read(path, zero_based=True).to_numpy().tolist() == [[0, 0, 1.5], [2, 0, 0]]
    assert refused(path, zero_based=True, shape=(2, 2)).startswith(
        "a.tns, line 1: the coordinate 2 is outside: mode 1 has the extent 2"
    )
    pattern = save("b.tns", "0 2\n1 0\n")
    read_back = read(pattern, zero_based=True, pattern=True)
    assert read_back.to_numpy().tolist() == [[0, 0, 1], [1, 0, 0]]


def test_options_are_for_tns_files(save):
    path = save("a.mtx", GENERAL + "1 1 0\n")
    assert "pattern and 0-based are options of .tns files" in refused(path, pattern=True)


def test_shape(save):
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
            "a.tns, line 1: the coordinate 4 is outside: mode 1 has the extent 3\n  1 4 5\n    ^",
        ),
        (
            "2 2\n4 4\n1 2 9\n",
            None,
            "a.tns, line 1: the sizes say 2 entries, and 1 entry is listed\n  2 2\n  ^^^",
        ),
        ("2\n4 5\n1 2 9\n", (4, 4), "a.tns has the shape (4, 5), not (4, 4)"),
    ],
)
def test_refuses(save, text, shape, message):
    assert refused(save("a.tns", text), shape=shape) == message
