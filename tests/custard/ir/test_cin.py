"""Concrete index notation: programs as text, and loop orders."""

import pytest

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation


def concretized(text: str) -> cin.LoopProgram:
    return concretize(notation.parse(text))


def test_a_program_reads_as_a_loop_nest():
    assert str(concretized("y(i)=A(i,j)*x(j)")) == (
        "forall(i) forall(j) y(i) = sum(j, A(i,j) * x(j))"
    )


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ([("i", "k"), ("k", "j"), ("i", "j")], "ikj"),
        ([("i", "k"), ("j", "k"), ("i", "j")], "ijk"),
        ([("k", "i"), ("k", "j"), ("j", "i")], "kji"),
        ([("k", "i"), ("i", "k"), ("i", "j")], "kij"),
        ([], "ijk"),
    ],
)
def test_the_loop_order_agrees_with_the_storage_orders(orders, expected):
    program = concretized("X(i,j)=B(i,k)*C(k,j)")
    assert "".join(cin.concordant_order(program, orders)) == expected


def test_chains_are_flat():
    """A first term that is a sum goes on; a later one was in brackets, and stays."""
    a, b, c = (cin.Access(name, ()) for name in "abc")
    assert cin.added([cin.Add((a, b)), c]) == cin.Add((a, b, c))
    assert cin.added([a, cin.Add((b, c))]) == cin.Add((a, cin.Add((b, c))))
    assert cin.multiplied([a]) == a
    assert str(cin.multiplied([cin.Add((a, b)), c])) == "(a + b) * c"
