"""Keys sorted by some of their bits, against numpy's own sorting."""

import numpy as np
import pytest

from sam.support.errors import UserError
from sam.tensor import radix_sort
from sam.tensor.radix_sort import sorted_by_bits
from tests.support.compiler import needs_compiler


def keys(count, width, seed=0):
    """Keys of some bits, each with its place in the bits below; and how many those are."""
    low = max(count - 1, 0).bit_length()
    upper = np.random.default_rng(seed).integers(0, 1 << width, count)
    return upper << low | np.arange(count), low


@needs_compiler
@pytest.mark.parametrize("width", [1, 9, 10, 11, 20, 34, 46])
@pytest.mark.parametrize("count", [0, 1, 2, 1000, 100_000])
def test_keys_are_sorted(count, width, monkeypatch):
    monkeypatch.setattr(radix_sort, "_LEAST", 0)
    given, low = keys(count, width)
    due = np.sort(given)
    np.testing.assert_array_equal(sorted_by_bits(given, low, low + width), due)


@needs_compiler
def test_keys_of_63_bits(monkeypatch):
    monkeypatch.setattr(radix_sort, "_LEAST", 0)
    given = np.array([2**63 - 1, 0, 2**62, 1], np.int64)
    assert sorted_by_bits(given, 0, 63).tolist() == [0, 1, 2**62, 2**63 - 1]


def test_without_a_compiler_numpy_sorts(monkeypatch):
    def none(sources):
        raise UserError("no compiler")

    monkeypatch.setattr(radix_sort.c_compiler, "build", none)
    radix_sort._function.cache_clear()
    given, low = keys(40_000, 20)
    due = np.sort(given)
    np.testing.assert_array_equal(sorted_by_bits(given, low, low + 20), due)
    radix_sort._function.cache_clear()
