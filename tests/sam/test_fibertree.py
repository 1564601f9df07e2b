"""Fibertrees: what is in them, and that large ones stay small."""

import re

import numpy as np
import pytest

from sam.drawing import in_words
from sam.fibertree import fibertree_dot
from sam.levels import LEVELS
from sam.support.errors import UserError
from sam.tensor import Tensor

MATRIX = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]])


def coordinates(text):
    """The coordinates of each fiber, and the labels of the leaves, in the order of drawing."""
    fibers = [re.findall(r"<td port=\"p\d+\">(\d+)</td>", line) for line in text.splitlines()]
    leaves = re.findall(r'^  n\d+ \[label="(.*)"\];', text, re.MULTILINE)
    return [fiber for fiber in fibers if fiber], leaves


@pytest.mark.parametrize(
    ("levels", "fibers"),
    [
        ("ss", [["0", "2"], ["1"], ["0", "2"]]),
        ("ds", [["0", "1", "2"], ["1"], ["0", "2"]]),
        ("bb", [["0", "2"], ["1"], ["0", "2"]]),
        ("hs", [["0", "2"], ["1"], ["0", "2"]]),
    ],
)
def test_a_matrix(levels, fibers):
    text = fibertree_dot(Tensor.from_numpy(MATRIX, levels), "A")
    assert coordinates(text) == (fibers, ["1.5", "2", "3"])
    assert f"A: 3 x 3, stored as {levels}:0,1" in text
    assert f"mode 0: {LEVELS[levels[0]].name}" in text


def test_columns_first():
    text = fibertree_dot(Tensor.from_numpy(MATRIX, "ss", (1, 0)))
    assert coordinates(text)[0] == [["0", "1", "2"], ["2"], ["0"], ["2"]]


def test_a_number_and_an_empty_matrix():
    assert coordinates(fibertree_dot(Tensor.of(2.5))) == ([], ["2.5"])
    assert coordinates(fibertree_dot(Tensor.from_numpy(np.zeros((0, 3)), "ss"))) == ([], [])


def test_large_tensors_are_elided():
    text = fibertree_dot(Tensor.from_numpy(np.ones((1000, 1000)), "dd"))
    fibers, leaves = coordinates(text)
    assert all(len(fiber) == 8 for fiber in fibers)
    assert len(fibers) <= 13
    assert len(leaves) < 80
    assert text.count("…") > 8
    assert len(text) < 20_000


def test_as_many_coordinates_as_are_asked_for():
    tensor = Tensor.from_numpy(np.ones(10), "d")
    assert len(coordinates(fibertree_dot(tensor, most=10))[0][0]) == 10
    assert "…" not in fibertree_dot(tensor, most=10)
    assert len(coordinates(fibertree_dot(tensor, most=2))[0][0]) == 2
    with pytest.raises(UserError, match="0 coordinates of a fiber cannot be drawn; at least 1 can"):
        fibertree_dot(tensor, most=0)


def test_notebooks_show_pictures(monkeypatch):
    tensor = Tensor.from_numpy(MATRIX, "ss")
    assert tensor._repr_svg_().count('class="node"') > 5
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sam.drawing.find_spec", lambda name: None)
    assert tensor._repr_svg_() == in_words(
        "a tensor of shape (3, 3); no Graphviz is installed to draw with"
    )
