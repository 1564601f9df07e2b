"""The source of steps as Python's syntax trees."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any


@cache
def syntax(function: Any) -> ast.FunctionDef:
    """The definition of a function. Raises OSError, TypeError, SyntaxError or AssertionError."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


@cache
def assignments(tree: ast.FunctionDef) -> dict[str, int]:
    """How often each name is assigned to; an assignment in a loop counts twice."""
    counts: dict[str, int] = {}

    def count(node: ast.AST, times: int) -> None:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target, node.target]
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    counts[name.id] = counts.get(name.id, 0) + times
        for child in ast.iter_child_nodes(node):
            count(child, 2 if isinstance(node, ast.For | ast.While) else times)

    count(tree, 1)
    return counts


def reading(target: ast.expr) -> ast.expr:
    """The expression that reads what an assignment to a target writes."""
    return ast.parse(ast.unparse(target), mode="eval").body


def only_returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements are a single return."""
    return len(statements) == 1 and isinstance(statements[0], ast.Return)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or another constant without effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
