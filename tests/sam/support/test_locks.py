"""Locks on files."""

import os

from sam.support.locks import is_at, lock


def test_one_holds_a_lock_until_the_file_is_closed(tmp_path):
    first, second = (os.open(tmp_path / "a", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert lock(first)
    assert not lock(second, wait=False)
    os.close(first)
    assert lock(second, wait=False)
    os.close(second)


def test_an_open_file_may_have_lost_its_name(tmp_path):
    path = tmp_path / "a"
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    assert is_at(handle, path)
    path.unlink()
    assert not is_at(handle, path)
    path.write_text("another")
    assert not is_at(handle, path)
    os.close(handle)
