"""The situations that a firing is written for."""

from textwrap import dedent

from sim.compiled.residual import Leave
from tests.support.steps import FORWARD, MERGE, REPEAT, translated, written


def test_a_step_without_inputs_has_one_firing():
    body = translated("p.crd.give(0, 1)\nreturn True").body
    assert written(body.first) == "GIVE0(0, 1)\nWAIT for room at 0\nLEAVE gave 0; last: 1"
    assert not body.general


def test_a_firing_for_data_and_one_for_any_tokens():
    body = translated(FORWARD, ports=("a", "crd")).body
    assert written(body.first) == dedent("""\
        WAIT for data at 0
        step0_value = v0;
        TAKE0
        GIVE0(0, step0_value)
        WAIT for room at 0
        LEAVE took 0, gave 0; last: 0""")
    assert written(body.general) == dedent("""\
        WAIT for a token at 0
        step0_kind = k0;
        step0_value = v0;
        TAKE0
        GIVE0(step0_kind, step0_value)
        WAIT for room at 0
        LEAVE took 0, gave 0; last: (step0_kind == 3)""")
    assert not body.following


def test_the_state_that_all_firings_for_data_leave_is_known_to_the_next():
    text = "kind, value = p.a.peek()\np.a.take()\nif not s.begun:\n    s.begun = True\n"
    text += "    p.crd.give(kind, value)\nreturn kind == 3"
    body = translated(text, {"begun": False}).body
    assert "if (!s_begun)" in written(body.first)
    assert "begun" not in written(body.steady)


def test_inputs_that_move_alone_may_be_followed():
    body = translated(MERGE, ports=("a", "b", "crd")).body
    assert body.taken == [0, 1]
    assert sorted(body.following) == sorted(body.several) == [0, 1]
    assert "WAIT for data at 0" in written(body.following[0])
    assert "WAIT for data at 1" not in written(body.following[0])
    assert [line.again for line in body.first if isinstance(line, Leave)] == [[0], [1], []]


def test_inputs_of_which_either_may_be_dropped_have_windows_of_data_and_ends():
    windows = translated(MERGE, ports=("a", "b", "crd")).body.windows
    assert [*windows] == [(0, 0), (0, 2), (2, 0)]
    for lines in windows.values():
        assert "WAIT for data" not in written(lines)
    assert "LEAVE took 0" in written(windows[0, 2])
    assert "LEAVE took 1" in written(windows[2, 0])
    counts = MERGE.replace("p.a.take()", "s.n = s.n + 1\n        p.a.take()", 1)
    assert not translated(counts, {"n": 0}, ports=("a", "b", "crd")).body.windows


def test_inputs_that_always_move_together_are_one_group():
    body = translated("p.a.peek()\np.b.peek()\np.a.take()\np.b.take()").body
    assert body.taken == [0, 0]
    assert not body.following


def test_outputs_with_tokens_of_one_kind_move_together():
    same = "kind, value = p.a.peek()\np.a.take()\np.crd.give(kind, 1)\np.val.give(kind, 1.5)"
    other = same.replace("val.give(kind", "val.give(2")
    assert translated(same).body.given == [0, 0]
    assert translated(other).body.given == [0, 1]


def test_a_firing_that_may_only_give():
    body = translated(REPEAT, {"left": 0}, ports=("a", "crd")).body
    assert body.giving == body.first
    assert not translated(FORWARD, ports=("a", "crd")).body.giving


def test_the_state_starts_with_its_values():
    body = translated("s.n = s.n + 1\ns.x = s.list[1] * 2", {"n": 3, "x": 0.5, "list": [1, 7]}).body
    assert body.state == {
        "s_n": ("int64_t", "3"),
        "s_list_1": ("int64_t", "7"),
        "s_x": ("double", "(0.5)"),
    }


def test_a_variable_has_the_widest_type_of_its_values():
    body = translated("s.x = 1\ns.x = 1.5\ns.n = s.x > 1", {"x": 0, "n": False}).body
    assert body.state["s_x"] == ("double", "0")
