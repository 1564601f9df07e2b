"""One word, one thing: no two classes have one name."""

import ast
from collections import defaultdict

from tests.support.imports import modules

# Modules that name the same things, each from its side, and are written with the module's name.
_SIDES = (
    # A level format: how it is stored, and how target c goes through it.
    {"sam.levels", "custard.to_c.levels"},
    # A part of an expression: as it was written, and in concrete index notation.
    {"custard.language.notation", "custard.ir.cin"},
)


def _side(module):
    """A module, or the package that holds it if the package is one of the sides."""
    package = module.rpartition(".")[0]
    return package if any(package in sides for sides in _SIDES) else module


def _classes():
    """The modules that have a class of each name; underscores before a name do not count."""
    found = defaultdict(list)
    for module, path in modules().items():
        if module.partition(".")[0] in ("sam", "custard", "sim"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found[node.name.lstrip("_")].append(module)
    return found


def test_no_two_classes_have_one_name():
    twice = {
        name: names
        for name, names in _classes().items()
        if len(names) > 1 and not any({*map(_side, names)} == sides for sides in _SIDES)
    }
    assert twice == {}


def test_listed_exceptions_still_share_a_name():
    shared = [{*map(_side, names)} for names in _classes().values() if len(names) > 1]
    assert all(sides in shared for sides in _SIDES)
