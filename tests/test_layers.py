"""Who may import whom: the picture in docs/ARCHITECTURE.md."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.imports import imported, modules

ROOT = Path(__file__).parents[1]

# The modules that packages may not import, by the beginning of their names.
_BARRED = {
    "sam": ("sim", "custard", "experiments", "benchmarks", "tests"),
    "sim": ("custard", "experiments", "benchmarks", "tests"),
    "custard": ("experiments", "benchmarks", "tests"),
    "experiments": ("tests",),
    "benchmarks": ("tests",),
}


def _is_of(name, package):
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("package", _BARRED)
def test_packages_import_only_those_above(package):
    barred = [
        (name, other)
        for name in modules()
        if _is_of(name, package)
        for other in imported(name)
        if any(_is_of(other, one) for one in _BARRED[package])
    ]
    assert barred == []


def test_only_the_command_and_programs_that_simulate_know_the_simulators():
    knowing = {
        name
        for name in modules()
        if _is_of(name, "custard") and not _is_of(name, "custard.cli")
        if any(_is_of(other, "sim") for other in imported(name))
    }
    assert knowing == {"custard.to_sam.program"}


def test_no_modules_import_each_other():
    graph = {name: imported(name, later=False) & modules().keys() for name in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(f"a circle: {' -> '.join(circle.args[1])}")


def test_scripts_find_the_folder_that_they_are_in():
    """``python benchmarks/kernels.py`` has benchmarks/ on its path, not the folder around it."""
    for script in [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("experiments/[!_]*.py")]:
        text = script.read_text()
        found = text.find("sys.path.insert(0, str(Path(__file__).parents[1]))")
        first = re.search(r"^from (benchmarks|experiments)[. ]", text, re.MULTILINE)
        assert first is None or 0 <= found < first.start(), script
