"""Which release this is."""

from importlib import metadata

import custard
import sam
import sim
from sam.support import version


def test_the_release_is_that_of_the_package(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: f"of {name}")
    assert version.release() == f"of {version.PACKAGE}"


def test_a_folder_that_is_not_installed(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert version.release() == "of a folder that is not installed"


def test_each_package_has_a_version_and_the_names_that_it_lists():
    for package in (custard, sam, sim):
        assert package.__version__ == version.release()
        assert "__version__" in package.__all__
        assert "UserError" in package.__all__
        for name in package.__all__:
            assert getattr(package, name) is not None
