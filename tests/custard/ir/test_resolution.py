"""Computed subscripts, each resolved by the variable that the loops bind last."""

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.ir.resolution import resolved
from custard.language import notation


def accesses(text, order=None):
    """The loops of a resolved program, and its accesses by tensor."""
    program = concretize(notation.parse(text))
    program = resolved(program if order is None else cin.reordered(program, order))
    found = {one.tensor: one for one in cin.walk(program.value) if isinstance(one, cin.Access)}
    return program, found


def test_the_last_variable_resolves():
    _, found = accesses("y(i) = X(i+k) * F(k)", "ik")
    assert found["X"].variables == ("k",)
    _, found = accesses("y(i) = X(i+k) * F(k)", "ki")
    assert found["X"].variables == ("i",)
    assert found["F"].variables == ("k",)


def test_a_second_subscript_of_a_variable_gets_a_new_variable():
    """i is a subscript of A itself, so a variable of extent 1 stands for i+1."""
    program, found = accesses("y(i) = A(i,i+1)")
    assert program.loops == ("i", "A1")
    assert program.fixed == (("A1", 1),)
    assert found["A"].variables == ("i", "A1")
    assert str(program.value) == "sum(A1, A(i,i+A1+1))"


def test_a_program_without_forms_stays():
    program = concretize(notation.parse("y(i) = A(i,j) * x(j)"))
    assert resolved(program) is program
