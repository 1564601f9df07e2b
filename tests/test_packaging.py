"""A wheel has all files that the commands of README.md and docs read."""

import pytest

from tests.support.imports import ROOT

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
SHARE = "share/sparse-abstract-machine/"


@pytest.mark.parametrize("package", ["sam", "custard", "sim", "hw_configs"])
def test_each_file_of_a_package_that_is_no_module(package):
    shipped = {
        path
        for name, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for path in (ROOT / name.replace(".", "/")).glob(pattern)
    }
    files = {path for path in (ROOT / package).rglob("*.*") if path.is_file()}
    lacking = {path for path in files - shipped if path.suffix not in (".py", ".pyc", ".md")}
    assert lacking == set()


@pytest.mark.parametrize("package", ["sam", "custard", "sim"])
def test_type_checkers_are_told_to_read_the_hints_of_a_package(package):
    """PEP 561: a file py.typed, which is in the wheel."""
    assert (ROOT / package / "py.typed").is_file()
    assert "py.typed" in SETUPTOOLS["package-data"][package]


def test_examples_and_their_data_are_at_the_places_that_pages_name():
    patterns = SETUPTOOLS["data-files"]
    for folder in ("examples", "experiments/data"):
        assert patterns[SHARE + folder] == [f"{folder}/*"]
