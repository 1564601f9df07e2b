"""Which release this is."""

from importlib import metadata

from custard import version


def test_the_release_is_that_of_the_package(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: f"of {name}")
    assert version.release() == f"of {version.PACKAGE}"


def test_a_folder_that_is_not_installed(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert version.release() == "of a folder that is not installed"
