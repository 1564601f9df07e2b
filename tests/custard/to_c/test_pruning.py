"""Variables that nothing reads are left out."""

from custard.to_c.loop_ir import (
    BOOL,
    INT32,
    ZERO,
    Assign,
    Declare,
    For,
    If,
    Type,
    Var,
    While,
    array,
)
from custard.to_c.pruning import names_used, pruned

DOUBLE, FLOAT = Type("double"), Type("float")
a, b, c, n = (Var(name) for name in "abcn")
p, q, r = (Var(name, BOOL) for name in "pqr")
x, y = Var("x", DOUBLE), Var("y", DOUBLE)
values, crd = Var("values", array(DOUBLE)), Var("crd", array(INT32))


def test_variables_that_nothing_reads_are_left_out():
    used, unused = Declare(a, n), Declare(b, a + 1)
    assert pruned([used, unused, Assign(c, a)]) == [used, Assign(c, a)]
    # One that only an unused one reads goes with it.
    assert pruned([used, unused, Assign(c, n)]) == [Assign(c, n)]


def test_variables_are_kept_for_later_rounds_of_a_loop():
    step = Assign(a, a + 1)
    body_ = [Declare(a, ZERO), While(a < n, [Declare(b, a), Assign(c, b, "+"), step])]
    assert pruned(body_) == body_
    loop = [For(a, ZERO, n, [Declare(b, a + 1)], b)]
    assert pruned(loop) == loop


def test_a_variable_of_one_block_does_not_keep_that_of_another():
    first, second = [Declare(b, a)], [Declare(b, n), Assign(c, b)]
    found = pruned([If([(p, first)], second)])
    assert found == [If([(p, [])], second)]
    assert pruned([If([(p, first)])]) == []


def test_names_are_in_scope_of_the_loop_alone():
    inside = For(a, ZERO, n, [Assign(c, a)])
    assert pruned([Declare(b, a), inside]) == [inside]


def test_names_from_outside():
    assert names_used([Declare(a, n), Declare(b, c), Assign(x, values[a])]) == {"n", "values", "x"}
