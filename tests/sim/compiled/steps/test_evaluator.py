"""Statements, expressions and calls of steps: text in, C out; and refusals."""

from textwrap import dedent

import pytest

from sam.support.errors import UserError
from tests.support.steps import general

PEEK = """\
WAIT for a token at 0
step0_kind = k0;
step0_value = v0;
"""


def c(body, state=None, **more):
    """The C of a step's firing for any tokens, without its end if that has moved nothing."""
    text = general(body, state, **more) + "\n"
    return text.removesuffix("LEAVE untouched; last: 0\n")


@pytest.mark.parametrize(
    ("body", "state", "due"),
    [
        ("pass", {}, ""),
        ("'a docstring'", {}, ""),
        ("s.n = 1", {"n": 0}, "s_n = 1;\n"),
        ("s.n = -1", {"n": 0}, "s_n = (-1);\n"),
        ("s.n = 1 << 40", {"n": 0}, "s_n = 1099511627776LL;\n"),
        ("s.n += 1", {"n": 0}, "s_n = (s_n + 1);\n"),
        ("n = 3\ns.n = n", {"n": 0}, "s_n = 3;\n"),
        (
            "n = s.n\nn = n + 2\ns.n = n",
            {"n": 0},
            "step0_n = s_n;\nstep0_n = (step0_n + 2);\ns_n = step0_n;\n",
        ),
        ("s.x, s.y = s.y, s.x", {"x": 0, "y": 1}, "t1 = s_y;\nt2 = s_x;\ns_x = t1;\ns_y = t2;\n"),
        ("s.x = s.a[0]\ns.a[1] = 5", {"x": 0, "a": [1, 2]}, "s_x = s_a_0;\ns_a_1 = 5;\n"),
        (
            "for n in range(1, 3):\n    s.n = s.n + n",
            {"n": 0},
            "s_n = (s_n + 1);\ns_n = (s_n + 2);\n",
        ),
        (
            "for n, x in enumerate((5, 7)):\n    s.n = s.n + n * x",
            {"n": 0},
            "s_n = (s_n + 0);\ns_n = (s_n + 7);\n",
        ),
        ("if 2 > 1:\n    s.n = 1\nelse:\n    s.n = 2", {"n": 0}, "s_n = 1;\n"),
    ],
)
def test_statements(body, state, due):
    assert c(body, state) == due


def test_a_loop_runs_in_c():
    assert c("while s.n < 10:\n    s.n = s.n * 2", {"n": 1}) == dedent("""\
        for (;;) {
            if (!((s_n < 10))) break;
            s_n = (s_n * 2);
        }
        """)


def test_a_firing_ends_in_each_branch():
    body = """
        kind, value = p.a.peek()
        if kind == 0:
            s.n = 1
        elif kind == 2:
            p.a.take()
            return True
        """
    assert c(dedent(body), {"n": 0}) == PEEK + dedent("""\
        if ((step0_kind == 0)) {
            s_n = 1;
            LEAVE untouched; last: 0
        } else {
            if ((step0_kind == 2)) {
                TAKE0
                LEAVE took 0; last: 1
            } else {
                LEAVE untouched; last: 0
            }
        }
        """)


def test_a_branch_that_only_takes_needs_no_jump():
    body = """
        kind, value = p.a.peek()
        if kind == 0:
            p.a.take()
        p.b.take()
        """
    assert c(dedent(body)) == PEEK + dedent("""\
        TAKE_IF0((step0_kind == 0))
        TAKE1
        LEAVE may have taken 0, took 1; last: 0
        """)


def test_a_function_of_one_expression_is_written_in_its_place():
    body = "def double(x):\n    return x + x\n===\ns.n = double(s.n + 1)"
    assert c(body, {"n": 1}) == "double1_x = (s_n + 1);\ns_n = (double1_x + double1_x);\n"


def test_a_function_that_returns_early_jumps_to_its_end():
    body = """
def clip(x, most=9):
    if x > most:
        return most
    return x
===
s.n = clip(s.n)
"""
    assert c(body, {"n": 1}) == dedent("""\
        clip1_x = s_n;
        if ((clip1_x > 9)) {
            clip1_result0 = 9;
            goto clip1_end1;
        }
        clip1_result0 = clip1_x;
        clip1_end1:;
        s_n = clip1_result0;
        """)


def test_a_firing_may_end_with_a_call():
    body = """
def finish(p, kind):
    p.crd.give(kind, 0)
    return kind == 3
===
kind, value = p.a.peek()
p.a.take()
return finish(p, kind)
"""
    assert c(body) == PEEK + dedent("""\
        TAKE0
        GIVE0(step0_kind, 0)
        WAIT for room at 0
        LEAVE took 0, gave 0; last: (step0_kind == 3)
        """)


def test_an_error_of_the_stream_ends_the_run():
    body = """
        kind, value = p.a.peek()
        if kind == 2:
            raise StreamError('no fiber', value)
        p.a.take()
        """
    assert c(dedent(body)) == PEEK + dedent("""\
        if ((step0_kind == 2)) {
            FAIL 0 of step0_value if reached
        }
        TAKE0
        LEAVE took 0; last: 0
        """)


STATE = {"n": 0, "m": 0, "on": False, "x": 0.0}


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("7 if s.n == 2 else s.m", "((s_n == 2) ? 7 : s_m)"),
        ("7 if s.n == 2 else 7", "7"),
        ("s.m if 1 else s.n", "s_m"),
        ("s.on and s.n > 2", "(s_on & (s_n > 2))"),
        ("s.on or 1 > 2", "(s_on)"),
        ("s.on and 1 > 2", "0"),
        ("not s.on", "!s_on"),
        ("not (s.on and s.n)", "!(s_on && s_n)"),
        ("s.n.bit_count()", "__builtin_popcountll(s_n)"),
        ("(s.n, s.m)[1]", "s_m"),
        ("SEVEN", "7"),
    ],
)
def test_expressions(expression, due):
    assert c(f"s.n = {expression}", STATE, SEVEN=7) == f"s_n = {due};\n"


def test_a_test_may_have_numbers_as_truths():
    due = (
        "if (((s_on & (s_n > 2)) || s_m)) {\n    s_n = 0;\n    LEAVE untouched; last: 0\n} else {\n"
    )
    assert c("if s.on and s.n > 2 or s.m:\n    s.n = 0", STATE).startswith(due)


def test_a_call_does_not_change_earlier_operands():
    body = "def next(s):\n    s.n = s.n + 1\n    return s.n\n===\ns.m = s.n + next(s)"
    assert c(body, STATE) == dedent("""\
        t1 = s_n;
        s_n = (s_n + 1);
        next1_result0 = s_n;
        s_m = (t1 + next1_result0);
        """)


FUNCTIONS = """
def two(x, y=2):
    z = x
    if x:
        z = 4
    return z
def rest(x, *y):
    return x
def deep():
    return deep()
===
"""


@pytest.mark.parametrize(
    ("body", "where", "what"),
    [
        ("with p:\n    pass", "with p:", "the statement With"),
        ("del s.n", "del s.n", "the statement Delete"),
        ("assert s.n", "assert s.n", "the statement Assert"),
        ("raise ValueError('x')", None, "the statement Raise"),
        ("raise StreamError(s.n)", None, "a message that is not known"),
        ("for n in s.n:\n    pass", "for n in s.n:", "a loop over an iterable that is not known"),
        (
            "for s.n in range(3):\n    pass",
            "for s.n in range(3):",
            "a loop variable that is not a name",
        ),
        ("s.list[s.n] = 1", None, "an assignment to s.list[s.n]"),
        ("p.a = 1", None, "an assignment to p.a"),
        ("s.n = lambda x: 0", None, "the expression lambda x: 0"),
        ("s.on = 0 < s.n < 3", None, "a chain of comparisons"),
        ("s.n = s.n and s.n", None, "s.n, neither True nor False, in and or or"),
        ("s.on = s.on and two(s.n)", None, "two(s.n) behind and or or"),
        (
            "s.n = 1 if s.on else two(s.n)",
            None,
            "two(s.n) in an arm of a conditional expression",
        ),
        ("s.n = unheard", None, "the name unheard, which is neither set before nor global,"),
        ("p.other.take()", None, "the port other, which the block does not have,"),
        ("s.n = s.other", None, "the state other, which the block does not start with,"),
        ("s.other = 1", None, "the state other, which the block does not start with,"),
        ("s.n = m.other", None, "other, which the memory of the block does not have,"),
        ("s.n = s.n.real", None, "the attribute real"),
        ("s.n = s.n[0]", None, "the item s.n[0]"),
        ("s.n = two(x=1)", None, "an argument by keyword"),
        ("s.n = abs(s.n)", None, "the call abs(s.n)"),
        ("s.n = s.n()", None, "the call s.n()"),
        ("s.n = two(1, 2, 3)", None, "a call of two that does not fill its parameters"),
        ("s.n = rest(1)", None, "a call of rest that does not fill its parameters"),
        ("s.n = MADE()", None, "a function whose source cannot be read"),
    ],
)
def test_refusals(body, where, what):
    made = eval("lambda: 3")
    state = {**STATE, "list": [0, 1]}
    with pytest.raises(UserError) as caught:
        general(FUNCTIONS + body, state, object(), StreamError=ValueError, MADE=made)
    assert str(caught.value) == (
        f"step, in `{where or body}`: {what} has no translation to C\nhint: use engine simpy"
    )


def test_a_function_that_calls_itself_is_refused():
    with pytest.raises(UserError) as caught:
        general(FUNCTIONS + "s.n = deep()", STATE)
    assert str(caught.value) == (
        "deep, in `return deep()`: recursion has no translation to C\nhint: use engine simpy"
    )
