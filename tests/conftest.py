"""Before any test is read: every run is validated, the width of the terminal is forgotten, Ctrl-C
is heeded, and hypothesis has its profile.

``pytest --update-golden`` writes golden files anew. Read the difference before it is committed.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.profiles import PROFILE

os.environ["SAM_VALIDATE"] = "1"
os.environ.pop("COLUMNS", None)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.load_profile(PROFILE)


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request):
    """Compares a text with that of a golden file, or writes the file anew."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), "pytest --update-golden writes it anew"

    return compare


@pytest.fixture
def save(tmp_path):
    """Saves a text under a name, and gives the path."""

    def save(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return save
