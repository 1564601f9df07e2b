import pytest


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Every test in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
