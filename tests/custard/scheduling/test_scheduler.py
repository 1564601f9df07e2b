"""Commands that all targets follow, with the same loops and the same mistakes."""

import pytest

import custard
from custard import UserError

MATMUL = "X(i,j) = B(i,k) * C(k,j)"
DENSE = {"X": "dd", "B": "dd", "C": "dd"}


@pytest.mark.parametrize("target", ["sam", "c"])
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("reorder(i,l)", None),
        ("split(l,l0,l1,4)", "split names l, which is not a loop"),
        ("divide(l,l0,l1,4)", "divide names l, which is not a loop"),
        ("fuse(i,l,f)", "fuse names l, which is not a loop"),
        ("reorder(i,i)", "reorder names i twice"),
    ],
)
def test_mistakes_are_the_same_on_all_targets(target, command, what):
    if what is None:
        program = custard.compile(MATMUL, DENSE, [command], target)
        assert any("l" in note for note in program.notes)
        return
    with pytest.raises(UserError) as caught:
        custard.compile(MATMUL, DENSE, [command], target)
    assert caught.value.what == what


@pytest.mark.parametrize("target", ["sam", "c"])
def test_loops_are_the_same_on_all_targets(target):
    program = custard.compile(MATMUL, DENSE, ["reorder(k,i,j)"], target)
    assert program.statements[-1].loops == ("k", "i", "j")


@pytest.mark.parametrize("target", ["sam", "c"])
def test_under_strict_an_unknown_loop_is_a_mistake(target):
    with pytest.raises(UserError):
        custard.compile(MATMUL, DENSE, ["reorder(i,l)"], target, strict=True)


@pytest.mark.parametrize("target", ["sam", "c"])
@pytest.mark.parametrize(
    ("schedule", "hint"),
    [
        ("fuse(k,i,f)", "reorder(j,k,i) puts it there"),
        ("fuse(j,i,f)", "reorder(j,i,k) puts it there; or write fuse(i,j,f)"),
        ("reorder(i,i)", "name each loop once"),
        (
            "precompute(B(i,k)*C(k,k),j,j)",
            "write a factor, term or product as it stands, such as B(i,k) * C(k,j)",
        ),
    ],
)
def test_hints_name_a_schedule_that_works(target, schedule, hint):
    with pytest.raises(UserError) as caught:
        custard.compile(MATMUL, DENSE, [f"reorder(i,j,k);{schedule}"], target)
    assert caught.value.hint == hint


def test_loops_of_several_graphs_cannot_be_fused():
    with pytest.raises(UserError) as caught:
        custard.compile(
            "a = B(i,j) * C(i,j)", schedule="precompute(B(i,j)*C(i,j),j,jw);fuse(j,i,f)"
        )
    assert caught.value.hint == "fuse before precompute: j is not there"
