"""Measurements that are found again."""

import numpy as np
import pytest

from custard.autoscheduling.known import digest, keep, known
from sam.tensor import Tensor


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))


def test_a_number_is_found_by_all_parts_of_its_name():
    assert known("seconds", "a") is None
    keep(0.1 + 0.2, "seconds", "a")
    assert known("seconds", "a") == 0.1 + 0.2
    assert known("seconds", "b") is None
    assert known("seconds", "a", "b") is None


def test_inputs_are_told_apart_by_their_entries():
    dense = np.array([[0, 1.0], [2.0, 0]])
    one = digest({"A": Tensor.of(dense)})
    assert digest({"A": Tensor.of(dense).convert("ss")}) == one
    assert digest({"B": Tensor.of(dense)}) != one
    assert digest({"A": Tensor.of(dense.T.copy())}) != one
    assert digest({"A": Tensor.of(dense.astype("float32"))}) != one
