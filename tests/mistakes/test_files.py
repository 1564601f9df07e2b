"""Mistakes in files that are read and written."""

import numpy as np
import pytest

import custard
from sam import io
from sam.drawing import draw
from tests.support.mistakes import EYE, HEADER, ONES, SUFFIXES, TENSORS, refused, text


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("no.mtx", None, ["cannot read no.mtx: No such file or directory"]),
        ("folder.mtx", "folder", ["cannot read folder.mtx: Is a directory"]),
        ("a.mxt", "", [
            'cannot tell the format of a.mxt: ".mxt" is not a known suffix',
            "hint: did you mean .mtx?",
        ]),
        ("a", "", ["cannot tell the format of a: it has no suffix", SUFFIXES + ", .mat, .hb"]),
        ("a.mtx", "hello\n", [
            "a.mtx does not begin with %%MatrixMarket",
            "hint: %%MatrixMarket matrix coordinate real general",
        ]),
        ("a.mtx", HEADER + "2 2 1\n1 1 one\n", [
            'a.mtx, line 3: "one" is not a value of the type float64', "  1 1 one", "      ^^^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n-1 1 1\n", [
            "a.mtx, line 3: the coordinate -1 is outside: coordinates count from 1",
            "  -1 1 1",
            "  ^^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n3 1 1\n", [
            "a.mtx, line 3: the coordinate 3 is outside: mode 0 has the extent 2",
            "  3 1 1",
            "  ^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n1 x 1\n", [
            'a.mtx, line 3: "x" is not a coordinate', "  1 x 1", "    ^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n1 1\n", [
            "a.mtx, line 3: expected 3 numbers, not 2", "  1 1", "  ^^^",
        ]),
        ("a.mtx", HEADER + "2 2 2\n1 1 1\n", [
            "a.mtx, line 2: the sizes say 2 entries, and 1 entry is listed", "  2 2 2", "  ^^^^^",
        ]),
        ("a.tns", "1 1 2\n1 2\n", [
            "a.tns, line 2: expected 3 numbers, not 2", "  1 2", "  ^^^",
        ]),
        ("a.tns", "", [
            "a.tns has no entries, so its shape is not known",
            "hint: give it: sam.io.read(path, shape=(3, 4)), or --dims i=3,j=4",
        ]),
        ("a.npz", "zzz", ["a.npz is not a numpy file"]),
        ("a.npy", "zzz", ["a.npy is not a numpy file"]),
        ("a.npy", np.array(["a"]), ["a.npy: values of the type <U1 are not numbers"]),
    ],
)  # fmt: skip
def test_files_that_are_read(tmp_path, name, content, lines):
    if isinstance(content, np.ndarray):
        np.save(name, content)
    elif content == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    assert refused(io.read, name) == text(*lines)


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("y.txt", ONES, [
            'cannot tell the format of y.txt: ".txt" is not a known suffix',
            "hint: did you mean .ttx?",
        ]),
        ("y.mtx", ONES, [
            "y.mtx: a .mtx file holds a matrix, and this tensor has 1 mode",
            "hint: write a .ttx, .tns or .npz file",
        ]),
        ("y.smtx", EYE * 2, [
            "y.smtx: a .smtx file holds the pattern of a matrix: every value is 1",
            "hint: write a .mtx file",
        ]),
        ("y.tns", ONES * 1j, [
            "y.tns: a .tns file has no complex values", "hint: write a .ttx file",
        ]),
        ("no/y.tns", ONES, ["cannot write no/y.tns: there is no folder no"]),
        ("y.tns", "ones", ["str is not a tensor", f"{TENSORS}; sam.io.read reads a file"]),
    ],
)  # fmt: skip
def test_files_that_are_written(tmp_path, name, data, lines):
    assert refused(io.write, name, data) == text(*lines)
    assert not list(tmp_path.iterdir())


def test_pictures(tmp_path):
    graph = custard.compile("y(i) = x(i)").graph
    assert refused(draw, graph, "g.jpg") == text(
        "cannot draw to g.jpg: its suffix is not that of a picture", "hint: one of .svg, .png, .pdf"
    )
    assert refused(draw, graph, "no/g.svg") == "cannot write no/g.svg: there is no folder no"
    assert not list(tmp_path.iterdir())
