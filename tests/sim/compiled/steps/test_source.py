"""The source of steps."""

import ast

import pytest

from sim.compiled.steps.source import assignments, only_returns, passing, reading, syntax
from tests.support.steps import step


def test_an_assignment_in_a_loop_counts_twice():
    function = step("""
        def step(p, s, m):
            a, b = 1, 2
            a = 3
            c += 1
            while s:
                d = 1
            s.x = e[0] = 5
        """)
    assert assignments(syntax(function)) == {"a": 2, "b": 1, "c": 2, "d": 2}


def test_names_that_are_read_where_they_are_assigned():
    function = step("""
        def step(p, s, m):
            a, again = s.x, 1
            for one in p.all:
                b = one + a
                c = b
                if c:
                    s.x = b
                    later = again = c
            while s:
                d = e = c0
                d += 1
                f += 1
            return later, again
        """)
    # ``a`` is not assigned to inside of the loop, ``again`` is.
    assert passing(syntax(function)) == {"a", "b", "c", "d", "e"}


def test_a_lambda_or_builtin_has_no_syntax():
    with pytest.raises((OSError, TypeError, SyntaxError, AssertionError)):
        syntax(eval("lambda: 3"))
    with pytest.raises(TypeError):
        syntax(len)


def test_a_target_is_read():
    target = ast.parse("s.x[1] = 0").body[0].targets[0]
    assert isinstance(reading(target).ctx, ast.Load)


def test_a_single_return():
    assert only_returns(ast.parse("return 1").body)
    assert not only_returns(ast.parse("x = 1\nreturn x").body)
    assert not only_returns([])
