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
        for name in _assigned(node):
            counts[name] = counts.get(name, 0) + times
        for child in ast.iter_child_nodes(node):
            count(child, 2 if isinstance(node, ast.For | ast.While) else times)

    count(tree, 1)
    return counts


@cache
def passing(tree: ast.FunctionDef) -> frozenset[str]:
    """The names that are read only behind an assignment in the same block, or in one inside of it
    that does not assign to them. So it is known where a value that is read was assigned."""
    others: set[str] = set()

    def visit(block: Sequence[ast.stmt], around: frozenset[str]) -> None:
        given = around
        for statement in block:
            others.update(_read(statement) - given)
            for inside in _blocks(statement):
                others.update(name for one in inside for name in _assigned_in(one) & given)
                visit(inside, given)
            given |= frozenset(_assigned(statement))

    visit(tree.body, frozenset())
    return _assigned_in(tree) - others


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks inside of a statement."""
    lists = [value for _, value in ast.iter_fields(statement) if isinstance(value, list)]
    return [one for one in lists if one and isinstance(one[0], ast.stmt)]


def _read(statement: ast.stmt) -> set[str]:
    """The names that a statement reads, but for those in blocks inside of it."""
    parts = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
    names = [name for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)]
    loads = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    return loads | {*_assigned(statement)} if isinstance(statement, ast.AugAssign) else loads


def _assigned_in(node: ast.AST) -> frozenset[str]:
    """The names that a statement assigns to, or one inside of it."""
    return frozenset(name for one in ast.walk(node) for name in _assigned(one))


def _assigned(node: ast.AST) -> list[str]:
    """The names that a statement assigns to, but for those inside of it; twice if it reads
    them."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target, node.target]
    names = (name for target in targets for name in ast.walk(target))
    return [
        name.id for name in names if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]


def reading(target: ast.expr) -> ast.expr:
    """The expression that reads what an assignment to a target writes."""
    return ast.parse(ast.unparse(target), mode="eval").body


def only_returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements are a single return."""
    return len(statements) == 1 and isinstance(statements[0], ast.Return)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or another constant without effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
