"""Variables: their values, and variables without one."""

import pytest

from custard.cli.sweeps.variables import VariableValues, names, split
from sam.support.errors import UserError

KNOWN = {
    "n": 8,
    "share": 0.25,
    "check": True,
    "matrix": "west",
    "set.queues.depth": 4,
    "path": "${matrix}/${n}",
    "again": "${path}!",
    "round": "${trip}",
    "trip": "a ${round}",
    "schedule": ["reorder(i)"],
    "formats": {"A": "CSR"},
    "none": None,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${n}", 8),
        ("${share}", 0.25),
        ("${check}", True),
        ("${none}", None),
        ("${n}${n}", "88"),
        ("@random(${share})", "@random(0.25)"),
        ("${matrix}.mtx", "west.mtx"),
        ("${set.queues.depth}", 4),
        ("${again}", "west/8!"),
        ("${check}!", "true!"),
        ("$${n} is ${n}", "${n} is 8"),
        ("$${n}", "${n}"),
        ("$n {n} $", "$n {n} $"),
        (["${n}", {"a": "${matrix}"}], [8, {"a": "west"}]),
        (7, 7),
    ],
)
def test_values(text, value):
    found = VariableValues(KNOWN).fill(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "${matrx}.mtx",
            '"${matrx}.mtx" has the variable matrx, and the point has no axis, label or key of '
            "that name\nhint: did you mean matrix?",
        ),
        ("${n", '"${n" has a variable without its closing bracket }'),
        ("${n.mtx", '"${n.mtx" has a variable without its closing bracket }'),
        ("${round}", "the variable round stands for itself"),
        (
            "${schedule}",
            '"${schedule}" has the variable schedule, which is a list\n'
            "hint: a variable is text, a number, true or false",
        ),
        (
            "a ${formats}",
            '"a ${formats}" has the variable formats, which is a section\n'
            "hint: a variable is text, a number, true or false",
        ),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(UserError) as refusal:
        VariableValues(KNOWN).fill(text)
    assert str(refusal.value) == message


def test_variables_that_multiply_are_bounded():
    laughs = {f"x{n}": f"${{x{n + 1}}}" * 10 for n in range(30)} | {"x30": "ha"}
    with pytest.raises(UserError) as refusal:
        VariableValues(laughs).fill("${x0}")
    assert str(refusal.value) == "variables make more than 65536 characters of a point"
    deep = {f"x{n}": f"${{x{n + 1}}}" for n in range(3000)} | {"x3000": 1}
    with pytest.raises(UserError, match="the variable x50 stands for itself"):
        VariableValues(deep).fill("${x0}")


def test_names_are_those_of_all_texts():
    assert [*names({"a": "${b} $${c}", "d": ["${e}", 3], "f": {"g": "${h}"}})] == ["b", "e", "h"]


def test_values_with_variables_are_split_from_those_without():
    data = {"seed": "${n}", "config": "ideal", "inputs": {"A": "${a}", "B": "b"}, "x": "${y}"}
    assert split(data, ("seed", "config", "inputs")) == (
        {"config": "ideal", "inputs": {"B": "b"}, "x": "${y}"},
        {"seed": "${n}", "inputs": {"A": "${a}"}},
    )
