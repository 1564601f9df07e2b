"""Tests mirror the packages file by file."""

from pathlib import Path

import pytest

from tests.support.imports import ROOT, modules

_TESTS = ROOT / "tests"


def _test_file(module: str) -> Path:
    """Where the tests of a module are."""
    *folders, name = module.split(".")
    return _TESTS.joinpath(*folders, f"test_{name}.py")


@pytest.mark.parametrize("package", ["sam", "custard", "sim"])
def test_every_module_has_a_test_file(package):
    lacking = [
        module
        for module, path in modules().items()
        if module.partition(".")[0] == package and path.name not in ("__init__.py", "__main__.py")
        if not _test_file(module).exists()
    ]
    assert lacking == []
