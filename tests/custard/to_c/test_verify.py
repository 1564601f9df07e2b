"""What ``verify`` finds in a kernel."""

import pytest

from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ONE,
    TRUE,
    ZERO,
    Assign,
    Call,
    CallStatement,
    Comment,
    Const,
    Declare,
    Field,
    For,
    Function,
    If,
    Kernel,
    Load,
    Require,
    Struct,
    Type,
    Var,
    While,
    array,
    cast,
)
from custard.to_c.verify import verify

DOUBLE = Type("double")
i, j, n = Var("i"), Var("j"), Var("n")
flag, other = Var("flag", BOOL), Var("other", BOOL)
x = Var("x", DOUBLE)
crd = Var("crd", array(INT32))


def kernel(*body, functions=()):
    fields = (("size0", INT), ("crd", array(INT32)))
    struct = Struct("A", "A(i), s:0", fields)
    return Kernel("compute", [], [struct], [n], functions, [], list(body))


SIZE = Field("A", "size0")


@pytest.mark.parametrize(
    "body",
    [
        [],
        [Comment("nothing")],
        [Declare(i, SIZE), Assign(i, n, "+")],
        [For(i, ZERO, n, []), For(i, ZERO, n, [])],
        [If([(TRUE, [Declare(i, ZERO)])], [Declare(i, ONE)])],
        [Declare(i, ZERO), While(i < n, [Declare(j, i), Assign(i, j + 1)])],
        [For(i, ZERO, n, [Declare(j, i + 1)], j)],
        [Declare(crd, Field("A", "crd", array(INT32))), Declare(i, cast(crd[n], INT))],
        [Require(n < SIZE), CallStatement(Call("f", (n,)))],
    ],
)
def test_a_well_formed_kernel_is_verified(body):
    verify(kernel(*body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([Declare(i, j)], "j is not declared as int64_t"),
        ([Assign(i, ZERO)], "i is not declared as int64_t"),
        ([Declare(i, ZERO), Declare(i, ZERO)], "i is declared twice"),
        ([Declare(i, ZERO), For(i, ZERO, n, [])], "i is declared twice"),
        ([For(i, ZERO, n, [Declare(i, ZERO)])], "i is declared twice"),
        ([For(i, ZERO, n, [For(i, ZERO, n, [])])], "i is declared twice"),
        ([Declare(n, ZERO)], "n is declared twice"),
        ([If([(TRUE, [Declare(i, ZERO)])]), Assign(i, ZERO)], "i is not declared as int64_t"),
        ([For(i, ZERO, n, []), Declare(j, i)], "i is not declared as int64_t"),
        ([For(i, ZERO, i, [])], "i is not declared as int64_t"),
        ([For(i, ZERO, n, [], j)], "j is not declared as int64_t"),
        ([While(i < n, [])], "i is not declared as int64_t"),
        ([If([(flag, [])])], "flag is not declared as bool"),
        ([Require(flag)], "flag is not declared as bool"),
        ([CallStatement(Call("f", (i,)))], "i is not declared as int64_t"),
        ([Declare(x, ZERO)], "mixes types"),
        ([Declare(i, ZERO), Assign(i, Const(0.0, DOUBLE))], "mixes types"),
        ([Declare(i, Field("A", "width0"))], "A has no int64_t width0"),
        ([Declare(i, Field("B", "size0"))], "B has no int64_t size0"),
        ([Declare(x, Field("A", "size0", DOUBLE))], "A has no double size0"),
        ([Declare(i, Load(n, ZERO))], "is not an array"),
        (
            [Declare(crd, Field("A", "crd", array(INT32))), Assign(crd[Const(0.5, DOUBLE)], ZERO)],
            "is no index",
        ),
    ],
)
def test_a_fault_in_a_kernel_is_named(body, message):
    with pytest.raises(AssertionError, match=message):
        verify(kernel(*body))


def test_functions_are_verified_too():
    grow = Function("grow", "Grows.", "A", (), [Assign(SIZE, i)], TRUE)
    with pytest.raises(AssertionError, match="i is not declared"):
        verify(kernel(functions=(grow,)))
