"""The check by mutants fails where it should."""

import os
import time

import pytest

from sam.support.errors import UserError
from tests.support import mutants


def _refuse(data: bytes) -> None:
    if data != b"valid":
        raise UserError("refused")


def test_a_refused_mutant_survives() -> None:
    mutants.require_survival(_refuse, [b"valid"], count=200)


@pytest.mark.parametrize(
    ("fail", "told"),
    [
        (lambda: [][0], "IndexError"),
        (os.abort, "SIGABRT"),
        (lambda: bytearray(3 << 30), "MemoryError"),
        (lambda: time.sleep(10), "out of time"),
    ],
)
def test_failures_are_told(fail, told, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(mutants, "_SECONDS", 1)
    monkeypatch.setattr(mutants, "_MOST_FAILURES", 1)
    monkeypatch.setattr(mutants, "_KEPT", tmp_path)
    with pytest.raises(AssertionError, match=told):
        mutants.require_survival(lambda data: data == b"valid" or fail(), [b"valid"], count=20)
    assert len(list(tmp_path.iterdir())) == 1


def test_mutants_are_the_same_in_each_run_and_differ() -> None:
    valid = [b"1 2 3.0\n4 5 6.0\n"]
    first, again = (
        [mutants._nth(n, valid, mutants.mutate_bytes) for n in range(100)] for _ in "ab"
    )
    assert first == again
    assert len(set(first)) > 80
