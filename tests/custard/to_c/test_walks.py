"""Walks through the loops of a kernel reach all parts."""

from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ONE,
    ZERO,
    Assign,
    Call,
    Declare,
    For,
    If,
    Load,
    Op,
    Type,
    Var,
    While,
    array,
)
from custard.to_c.walks import all_expressions, reads, rewritten, substituted, without_variable

i, j, n = Var("i"), Var("j"), Var("n")
flag = Var("flag", BOOL)
x = Var("x", Type("double"))
crd = Var("crd", array(INT32))


def test_substitution_goes_everywhere():
    before = Op("+", (Load(crd, i), Call("f", (i, j))), INT)
    assert substituted(before, i, n) == Op("+", (Load(crd, n), Call("f", (n, j))), INT)
    assert substituted(before, Load(crd, i), j) == Op("+", (j, Call("f", (i, j))), INT)


NESTED = [
    Declare(n, ZERO),
    For(i, ZERO, n, [If([(flag, [Assign(n, i)])], [While(i < j, [Assign(j, ONE, "+")])])]),
]


def test_variables_are_found_and_taken_out_at_any_depth():
    assert reads(NESTED, flag)
    assert reads(NESTED, j)
    assert not reads(NESTED, x)
    without = [For(i, ZERO, n, [If([(flag, [])], [While(i < j, [Assign(j, ONE, "+")])])])]
    assert without_variable(NESTED, n) == without
    assert Op("<", (i, j), BOOL) in set(all_expressions(NESTED))


def test_a_statement_is_replaced_by_several_at_any_depth():
    """What is put in its place is not looked at again."""

    def twice(one):
        return [one, one] if one == Assign(j, ONE, "+") else None

    inner = While(i < j, [Assign(j, ONE, "+")] * 2)
    assert rewritten(NESTED, twice) == [
        Declare(n, ZERO),
        For(i, ZERO, n, [If([(flag, [Assign(n, i)])], [inner])]),
    ]
