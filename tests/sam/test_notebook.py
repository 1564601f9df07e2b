"""Tensors as notebooks show them."""

import numpy as np

from sam.notebook import of_tensor
from sam.tensor import Tensor


def cells(html):
    """The texts of a table's cells, in order."""
    import re

    return re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", html)


def test_a_small_matrix_is_shown_by_coordinate():
    html = of_tensor(Tensor.from_numpy(np.array([[0, 1.5], [0.25, 0]]), "ds"))
    assert cells(html)[:8] == [
        "shape",
        "2 x 2",
        "format",
        "ds:0,1",
        "type",
        "float64",
        "stored",
        "2",
    ]
    assert cells(html)[8:] == ["", "0", "1", "0", "", "1.5", "1", "0.25", ""]


def test_a_vector_has_one_row():
    assert cells(of_tensor(Tensor.from_numpy(np.array([0, 7]), "s")))[8:] == [
        "",
        "0",
        "1",
        "",
        "",
        "7",
    ]


def test_a_large_tensor_shows_its_first_entries():
    html = of_tensor(Tensor.from_numpy(np.arange(1, 28).reshape(3, 3, 3), "sss"))
    assert "The first entries; 19 more" in html
    assert cells(html)[8:12] == ["coordinates", "value", "0, 0, 0", "1"]


def test_a_scalar():
    assert cells(of_tensor(Tensor.of(2.5)))[:4] == ["shape", "a scalar", "format", "-"]


def test_values_and_names_are_escaped():
    assert "<script>" not in of_tensor(Tensor.of([1 + 2j]))
