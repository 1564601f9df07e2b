"""Free memory, and arrays that are refused where there is too little."""

import subprocess
import sys

import pytest

from sam.support import free_memory
from sam.support.errors import UserError


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (3758096384, "3.5 GiB"),
        (2**70, "1.02e+03 EiB"),
    ],
)
def test_sizes_in_words(size, words):
    assert free_memory.in_words(size) == words.replace("1.02e+03", "1.02e+03")


def test_arrays_larger_than_free_memory_are_refused(monkeypatch):
    monkeypatch.setattr(free_memory, "available", lambda: 2**20)
    free_memory.require(2**20, "the array")
    with pytest.raises(UserError) as caught:
        free_memory.require(2**21, "the array")
    assert caught.value.what == "the array would take 2 MiB; 1 MiB of memory are free"


def test_a_quarter_is_kept_and_small_arrays_are_not_asked_about(monkeypatch):
    monkeypatch.setattr(free_memory, "available", lambda: 2**32)
    assert not free_memory.lacks(3 * 2**30)
    assert free_memory.lacks(3 * 2**30 + 4)
    monkeypatch.setattr(free_memory, "available", lambda: 0)
    assert not free_memory.lacks(2**28)


def test_the_tightest_limit_is_told_in_words():
    code = (
        "import resource; from sam.support import free_memory as f; "
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)); print(f.tightest().words)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "the address space is limited to 2 GiB (ulimit -v)\n"


def test_some_memory_is_free():
    assert free_memory.available() > 0
