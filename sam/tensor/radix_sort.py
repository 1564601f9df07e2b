"""Many keys sorted by some of their bits, in C: three times as fast as numpy, which compares."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from sam.levels import Ints
from sam.support import c_compiler
from sam.support.errors import UserError

# Fewer keys are sorted by numpy before the function in C is loaded.
_LEAST = 1 << 15


def sorted_by_bits(keys: Ints, low: int, high: int) -> Ints:
    """The keys, none of which has a bit from ``high`` on, sorted by their bits from ``low`` on.

    Those below must increase from key to key: they only tell keys apart that are equal otherwise.
    ``keys`` may be overwritten.
    """
    sort = _function() if len(keys) >= _LEAST else None
    if sort is None:
        keys.sort()
        return keys
    other = np.empty_like(keys)
    return other if sort(keys.ctypes.data, other.ctypes.data, len(keys), low, high) else keys


@cache
def _function() -> Any:
    """The function of ``radix_sort.c``; None where no compiler makes it."""
    source = resources.files("sam.tensor").joinpath("radix_sort.c").read_text()
    try:
        (library,) = c_compiler.build([source])
    except UserError:
        return None
    sort = library.sam_radix_sort
    place, bits = ctypes.c_void_p, ctypes.c_int
    sort.argtypes, sort.restype = (place, place, ctypes.c_int64, bits, bits), bits
    return sort
