"""Which modules of the repository import which, read from their source."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("sam", "sim", "custard", "experiments", "benchmarks")


@cache
def modules() -> dict[str, Path]:
    """The files of all modules, by name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imported(name: str, later: bool = True) -> set[str]:
    """The modules that a module imports, those of other packages by their first name.

    ``later``  also modules that it imports in functions, or only for types
    """
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    statements = ast.walk(tree) if later else _at_once(tree)
    return {found for one in statements for found in _names(one)} - {name}


def _at_once(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is imported."""
    for node in ast.iter_child_nodes(tree):
        only_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not only_types and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from _at_once(node)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        while name not in modules() and "." in name:
            name = name.rpartition(".")[0]
        yield name
