"""Fixtures of the tests of the command."""

import shutil
from pathlib import Path

import pytest

from tests.support.command import WEST


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An own folder, with west0067.mtx and two vectors in it."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(WEST, tmp_path)
    Path("x.tns").write_text("1 1\n2 2\n4 5\n")
    Path("z.tns").write_text("1 3\n2 4\n")
    return tmp_path
