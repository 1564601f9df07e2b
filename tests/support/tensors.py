"""Tensors in any format: what the tests of their parts share."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sam.support.errors import UserError

# The matrix of Figure 1: rows 0, 1 and 3 have the columns (1), (0, 2) and (1, 3).
ROWS, COLUMNS, VALUES = [0, 1, 1, 3, 3], [1, 0, 2, 1, 3], [1.0, 2.0, 3.0, 4.0, 5.0]


FIGURE = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]], float)


SCIPY_FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def small_arrays(values=None):
    shapes = st.one_of(st.just(()), array_shapes(max_dims=4, min_side=0, max_side=4))
    return arrays(np.int64, shapes, elements=values or st.sampled_from([0, 0, 0, 1, -2, 7]))


def formats(ndim, codes="ds"):
    return product(map("".join, product(codes, repeat=ndim)), permutations(range(ndim)))


@st.composite
def any_formats(draw, ndim):
    """Formats that hold any tensor: chains of c and q hang on a u or c."""
    codes = ""
    for _ in range(ndim):
        codes += draw(st.sampled_from("qqc" if codes[-1:] in ("u", "c") else "dsuuhb"))
    return codes, tuple(draw(st.permutations(range(ndim))))


def lists(tensor):
    """The levels' arrays as lists: ``[size]`` of a dense one, segments and coordinates."""
    return [list(vars(level.as_lists()).values()) for level in tensor.levels]


def refused(call, *arguments, **options):
    with pytest.raises(UserError) as error:
        call(*arguments, **options)
    return str(error.value)
