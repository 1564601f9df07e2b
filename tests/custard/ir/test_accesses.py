"""The accesses of a program, and how they are stored."""

from custard.ir.accesses import accesses, storage_orders
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.formats import parse_format


def program(text):
    return concretize(notation.parse(text, ()))


def test_each_use_of_a_tensor_is_an_access():
    found = accesses(program("y(i) = A(i,j) * A(j,i) + 2"))
    assert [str(one) for one in found] == ["A(i,j)", "A(j,i)"]
    assert accesses(program("y = 2")) == []


def test_storage_orders_come_from_the_formats():
    formats = {"X": parse_format("ds:1,0", 2, "X"), "B": parse_format("CSR", 2, "B")}
    found = storage_orders(program("X(i,j) = B(i,j)"), formats)
    assert {str(access): order for access, order in found.items()} == {
        "B(i,j)": ("i", "j"),
        "X(i,j)": ("j", "i"),
    }
