"""``custard draw``: graphs of expressions and files, and tensors."""

import shutil
from pathlib import Path

import pytest

from custard.cli.command import main

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "spmv.gv", tmp_path)
    shutil.copy(ROOT / "experiments" / "data" / "LFAT5.mtx", tmp_path)


@pytest.mark.parametrize(
    ("words", "picture", "inside"),
    [
        (["y(i) = A(i,j) * x(j)", "-f=A:CSR"], "graph.svg", ">scan_A_i<"),
        (["y(i) = A(i,j) * x(j)", "-o", "y.svg"], "y.svg", ">intersect_j<"),
        (["spmv.gv"], "spmv.svg", ">scan_B_i<"),
        (["spmv.gv", "-o=x.svg"], "x.svg", ">intersect_j<"),
        (["tensor", "LFAT5.mtx", "-f", "CSR"], "LFAT5.svg", "LFAT5: 14 x 14, stored as ds:0,1"),
        (["tensor", "LFAT5.mtx", "-f", "ss:1,0", "-o", "a.svg"], "a.svg", "mode 1: compressed"),
    ],
)
def test_pictures(words, picture, inside, capsys):
    assert main(["draw", *words]) == 0
    assert capsys.readouterr().out == f"the picture is in {picture}\n"
    assert inside in Path(picture).read_text()


def test_quiet(capsys):
    assert main(["draw", "y(i) = x(i)", "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("graph.svg").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["tensor", "LFAT5.mtx", "-o", "a.gif"],
            "cannot draw to a.gif: its suffix is not that of a picture",
        ),
        (["tensor", "no.mtx"], "cannot read no.mtx"),
        (["tensor", "LFAT5.mtx", "-f", "csx"], "'x' is not a level format"),
        (["spmv.gv", "more"], "more is one argument too many"),
        (["spmv.gv", "-o"], "-o is given nothing"),
    ],
)
def test_mistakes(words, error, capsys):
    assert main(["draw", *words]) == 2
    assert error in capsys.readouterr().err
