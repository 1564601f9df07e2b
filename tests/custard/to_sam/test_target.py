"""Target sam as the compiler calls it."""

import pytest

import custard
from custard import UserError


def test_loops_are_in_the_order_of_the_storage():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "ds:1,0"})
    assert program.statements[-1].loops == ("j", "i")
    assert "the loop order is j, i: the tensors are stored so" in program.notes


@pytest.mark.parametrize("command", ["reorder(i,j)", "locate(x,j)", "skip(x,j)"])
def test_commands_that_name_loops_keep_the_order_of_the_text(command):
    formats = {"A": "ds:0,1", "x": "h" if command.startswith("locate") else "s"}
    program = custard.compile("y(i) = A(i,j) * x(j)", formats, [command])
    assert program.statements[-1].loops == ("i", "j")


def test_a_transposition_is_refused_under_strict():
    with pytest.raises(UserError) as caught:
        custard.compile("y(i) = A(j,i)", {"A": "ds:0,1"}, ["reorder(i,j)"], strict=True)
    assert (
        caught.value.hint == "write the format A:ds:1,0, or drop strict to let the compiler do it"
    )


def test_only_operands_skip():
    with pytest.raises(UserError) as caught:
        custard.compile("y(i) = a(i) * b(i)", schedule=["skip(y,i)"])
    assert caught.value.what == "y is the result, and only operands skip"


def test_notes_of_all_passes_are_told_once():
    notes = custard.compile("y(i) = A(i,i) * A(i,i)").notes
    assert len(notes) == len({*notes})
