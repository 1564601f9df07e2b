"""Mistakes of a user: each gives one UserError, whose whole text is compared."""

import numpy as np
import pytest

from sam.support.errors import UserError
from sim.config.hardware import shipped

MATMUL = "X(i,j) = B(i,k) * C(k,j)"
MATVEC = "y(i) = A(i,j) * x(j)"
EXAMPLE = "hint: write, for example, X(i,j) = B(i,k) * C(k,j)"
LEVELS = (
    "d dense, s compressed, u compressed non-unique, q singleton, c singleton non-unique, "
    "h hashed, r range, o offset, b bitvector, l linked list, n run-length"
)
SHIPPED = f"shipped are {', '.join(shipped())}; or give a path to a YAML file"
HEADER = "%%MatrixMarket matrix coordinate real general\n"
SUFFIXES = "hint: one of .mtx, .ttx, .tns, .smtx, .npz, .npy"
TENSORS = "hint: a number, nested lists, a numpy array, scipy.sparse or sam.Tensor"
EYE, ONES = np.eye(4), np.ones(4)
INPUTS = {"A": EYE, "x": ONES}


def refused(call, *arguments, **options) -> str:
    with pytest.raises(UserError) as error:
        call(*arguments, **options)
    return str(error.value)


def text(*lines: str) -> str:
    return "\n".join(lines)
