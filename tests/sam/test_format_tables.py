"""The level formats: a file for each in sam/levels, in to_c/levels and, if it can be written, among
the writers; and the tables that list them agree."""

from pathlib import Path

import pytest

import custard.to_c.levels as in_c
import sam.blocks.writers as writers
from custard.language.formats import LEVEL_FORMATS
from sam.blocks import KINDS
from sam.blocks.base import Role
from sam.blocks.writers import CHAINED, WRITING
from sam.levels import LEVELS

ROOT = Path(__file__).parents[2]
# Files of several formats, by the codes of those: one is another with a property less.
FAMILIES = {"compressed": "su", "singleton": "qc"}


def file_of(code: str) -> str:
    """The name of the file of a format."""
    family = [name for name, codes in FAMILIES.items() if code in codes]
    return family[0] if family else LEVELS[code].name.replace(" ", "_").replace("-", "_")


def test_codes_are_those_of_the_classes():
    assert all(level.code == code for code, level in LEVELS.items())
    assert {*LEVEL_FORMATS} == {*LEVELS}


@pytest.mark.parametrize("code", LEVELS)
def test_a_format_is_one_file(code):
    module = LEVELS[code].__module__.rpartition(".")[2]
    assert module == {"linked_list": "linked"}.get(file_of(code), file_of(code))


@pytest.mark.parametrize("code", WRITING)
def test_a_writable_format_has_a_file_in_writers(code):
    """A singleton level outside of a chain is written as a compressed one."""
    step = WRITING[code].step
    expected = "compressed" if code in "qc" else LEVELS[code].__module__.rpartition(".")[2]
    assert step.__module__ == f"sam.blocks.writers.{expected}"
    folder = Path(writers.__file__).parent
    assert (folder / f"{expected}.py").is_file()


def test_formats_that_append_or_insert_have_writers():
    able = {code for code, level in LEVELS.items() if level.appends or level.inserts}
    assert able == {*WRITING}
    assert {*CHAINED} <= {*WRITING}
    assert {*WRITING} <= {*LEVELS}


def test_a_format_of_target_c_is_one_of_sam_levels():
    folder = Path(in_c.__file__).parent
    shared = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "base",
        "iterators",
        "looked_up",
        "place",
    }
    ours = {LEVELS[code].__module__.rpartition(".")[2] for code in LEVELS}
    assert shared <= ours


def test_no_kind_is_compared_by_name_outside_of_the_blocks():
    """A kind declares all facts that others need: a role, ports, the type of values, a drawing."""
    names = {f'"{name}"' for name in KINDS}
    of_machines = ("binding", "machine", "notebook", "stream_checker", "tiling", "value_types")
    paths = [path for path in (ROOT / "sam").rglob("*.py") if "blocks" not in path.parts]
    for path in [*paths, *(ROOT / "sim" / f"{name}.py" for name in of_machines)]:
        for line in path.read_text().splitlines():
            compared = "kind ==" in line or "kind in" in line or "kind !=" in line
            assert not (compared and any(name in line for name in names)), f"{path}: {line}"


def test_roles():
    roles = {name: kind.role for name, kind in KINDS.items()}
    assert roles["level_writer"] is Role.LEVEL_WRITER
    assert roles["value_writer"] is Role.VALUE_WRITER
    assert {name for name, role in roles.items() if role is Role.SCANNER} == {
        "level_scanner",
        "bitvector_scanner",
        "window_scanner",
        "subsection_scanner",
    }
    assert {name for name, role in roles.items() if role.reads and role is not Role.SCANNER} == {
        "affine_unit",
        "array",
        "locator",
        "searcher",
        "tile_loader",
    }
