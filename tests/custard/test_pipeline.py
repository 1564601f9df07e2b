"""The passes of the compiler, one by one."""

import pytest

import custard
from custard.cli.command import main
from custard.pipeline import PASSES, printed_after
from sam.support.errors import UserError

SPMM = "X(i,j) = B(i,k) * C(k,j)"


def after(name, expression=SPMM, **more):
    told = []
    with printed_after(name, told.append):
        custard.compile(expression, **more)
    (text,) = told
    return text


@pytest.mark.parametrize("target", ["sam", "c"])
def test_the_text_after_each_pass(target):
    more = {"target": target, "schedule": "split(i,i0,i1,4)"}
    assert after("notation", **more).startswith("Assignment(target=Access(tensor='X'")
    summed = "X(i,j) = sum(k, B(i,k) * C(k,j))"
    assert after("cin", **more) == f"forall(i) forall(j) forall(k) {summed}"
    assert after("order", **more) == f"forall(i) forall(k) forall(j) {summed}"
    assert after("schedule", **more) == (
        f"forall(i0) forall(i1) forall(k) forall(j) {summed}\n"
        "  Split(variable='i', outer='i0', inner='i1', size=4, counts=False)"
    )
    assert ("digraph" if target == "sam" else "int compute(") in after("lower", **more)


def test_each_statement_comes_after_the_schedule():
    text = after("schedule", schedule=["reorder(i,k,j)", "precompute(B(i,k)*C(k,j),k,kw,T)"])
    assert text.splitlines()[0] == "forall(i) forall(kw) forall(j) T(i,j,k) = B(i,k) * C(k,j)"
    assert text.splitlines()[-1] == "forall(i) forall(k) forall(j) X(i,j) = sum(k, T(i,j,k))"


def test_the_command_prints_the_program_and_ends(capsys):
    assert main([SPMM, "--print-after", "cin"]) == 0
    told = capsys.readouterr().out
    assert told == "forall(i) forall(j) forall(k) X(i,j) = sum(k, B(i,k) * C(k,j))\n"


def test_an_unknown_pass():
    with pytest.raises(UserError, match="there is no pass lwer\nhint: did you mean lower"):
        after("lwer")
    assert {after(name) for name in PASSES}
