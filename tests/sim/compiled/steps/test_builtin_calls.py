"""Built-in functions that steps may call."""

import pytest

from sam.support.errors import UserError
from tests.support.steps import general

STATE = {"n": 0, "list": [4, 5], "on": False}


@pytest.mark.parametrize(
    ("body", "due"),
    [
        ("s.n = len(p.both)", "s_n = 2;"),
        ("s.n = len(s.list)", "s_n = 2;"),
        ("for n in range(2, 6, 3):\n    s.n = s.n + n", "s_n = (s_n + 2);\ns_n = (s_n + 5);"),
        (
            "for n, x in zip((1, 2), (7, 8), strict=True):\n    s.n = s.n + n * x",
            "s_n = (s_n + 7);\ns_n = (s_n + 16);",
        ),
        ("for n, x in enumerate((7,)):\n    s.n = x - n", "s_n = 7;"),
        ("s.on = tuple(s.list) == (1, 2)", "s_on = ((s_list_0 == 1) && (s_list_1 == 2));"),
        ("s.n = min(s.n, 3, 4)", "s_n = (4 < (3 < s_n ? 3 : s_n) ? 4 : (3 < s_n ? 3 : s_n));"),
        ("s.n = max(s.n, 3)", "s_n = (3 > s_n ? 3 : s_n);"),
    ],
)
def test_calls(body, due):
    text = general(body, STATE, ports=("a", "b", "both"))
    assert text.removesuffix("\nLEAVE untouched; last: 0") == due


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("s.n = len(s.n)", "s.n = len(s.n)", "len of anything but a list or a growing memory"),
        (
            "for n in range(s.n):\n    pass",
            "for n in range(s.n):",
            "a range whose ends are not known",
        ),
    ],
)
def test_refusals(body, line, what):
    with pytest.raises(UserError) as caught:
        general(body, STATE)
    assert str(caught.value) == (
        f"step, in `{line}`: {what} has no translation to C\nhint: use engine simpy"
    )
