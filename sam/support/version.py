"""Which release this is."""

PACKAGE = "sparse-abstract-machine"


def release() -> str:
    """The version of the package."""
    from importlib.metadata import PackageNotFoundError, version  # here, as it imports much

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "of a folder that is not installed"
